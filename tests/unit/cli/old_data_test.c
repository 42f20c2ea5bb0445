/* SPDX-License-Identifier: Apache-2.0 */
/* The warning that a console has had no answer from the brokers for a while. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

#define WARNING "the console has had no answer from the brokers for "

TestSuite(cli_old_data, .init = cli_kit_console_open, .fini = cli_kit_console_close);

static const char *orders_json(const char *more)
{
    static char text[2][512];
    static int turn;
    turn = 1 - turn;
    snprintf(text[turn], sizeof(text[turn]),
             "{\"orders\": [{\"order_id\": \"o-1\", \"state\": \"Error\", \"updated_at\": "
             "\"1970-01-01T00:00:00.001Z\"}], %s}",
             more);
    return text[turn];
}

static void list_orders(void)
{
    int code = CLI_KIT_RUN(&cli_orders, "orders", "list", "--limit", "0");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "o-1");
}

Test(cli_old_data, is_silent_while_the_brokers_answer)
{
    cli_kit_answer(200, orders_json("\"next\": null, \"data_age_ms\": 5000"));
    list_orders();
    cr_assert_str_empty(cli_kit_err);
    cli_kit_answer(200, orders_json("\"next\": null"));
    list_orders();
    cr_assert_str_empty(cli_kit_err);
}

Test(cli_old_data, warns_with_the_age)
{
    cli_kit_answer(200, orders_json("\"next\": null, \"data_age_ms\": 73900"));
    list_orders();
    cr_assert_str_eq(cli_kit_err,
                     "reeve: warning: " WARNING "73 s: what it shows may be that old\n");
}

Test(cli_old_data, warns_once_for_all_pages)
{
    cli_kit_answer(200, orders_json("\"next\": \"p2\", \"data_age_ms\": 61000"));
    cli_kit_answer(200, orders_json("\"next\": null, \"data_age_ms\": 62000"));
    list_orders();
    cr_assert_eq(cli_kit_request_count(), 2);
    cli_kit_expect_text(cli_kit_err, WARNING "61 s");
    cr_assert(strstr(cli_kit_err, "62 s") == NULL, "%s", cli_kit_err);
}

Test(cli_old_data, warns_programs_in_json)
{
    cli_kit_answer(200, "{\"agents\": [], \"pauses\": [], \"complete\": true, \"data_age_ms\": "
                        "9000}");
    int code = CLI_KIT_RUN(&cli_agents, "agents", "list", "--output", "json");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err,
                        "{\"warning\":{\"code\":\"OldData\",\"detail\":\"" WARNING "9 s");
}
