/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that no list has, because no scheduler has decided their commands. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

TestSuite(cli_waiting_orders, .init = cli_kit_console_open, .fini = cli_kit_console_close);

#define WAITING(partition, commands)                         \
    "{\"partition\": " partition ", \"commands\": " commands \
    ", \"verdict\": \"stalled\", \"verdict_reason\": \"so\"}"

static void list(const char *answer)
{
    cli_kit_answer(200, answer);
    int code = CLI_KIT_RUN(&cli_orders, "orders", "list");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
}

Test(cli_waiting_orders, lists_say_in_one_line_that_commands_wait)
{
    list("{\"orders\": [], \"next\": null, \"waiting\": [" WAITING("3", "2") "]}");
    cr_assert_str_eq(cli_kit_err,
                     "reeve: warning: 2 commands wait undecided in partition 3; orders "
                     "in them are not listed\n");
    list("{\"orders\": [], \"next\": null, \"waiting\": [" WAITING("3", "1") "]}");
    cr_assert_str_eq(cli_kit_err,
                     "reeve: warning: 1 command waits undecided in partition 3; orders "
                     "in it are not listed\n");
    list("{\"orders\": [], \"next\": null, \"waiting\": [" WAITING("3", "2") ", " WAITING(
        "5", "40") "]}");
    cr_assert_str_eq(cli_kit_err, "reeve: warning: 42 commands wait undecided in 2 partitions; "
                                  "orders in them are not listed\n");
}

Test(cli_waiting_orders, lists_are_silent_where_none_waits)
{
    list("{\"orders\": [], \"next\": null}");
    cr_assert_str_empty(cli_kit_err);
    list("{\"orders\": [], \"next\": null, \"waiting\": \"?\"}");
    cr_assert_str_empty(cli_kit_err);
}

Test(cli_waiting_orders, an_unknown_order_may_be_in_a_command_that_waits)
{
    cli_kit_answer(404, "{\"code\": \"UnknownOrder\", \"detail\": \"order o-1 is not known, but 2 "
                        "commands wait undecided in its partition 3\"}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_NEGATIVE);
    cli_kit_expect_text(cli_kit_err, "2 commands wait undecided in its partition 3");
}

/* An empty list, and what follows for these flags if the console answers so to what is deployed. */
static void expect_hint(const char *flag, const char *value, int status, const char *expected)
{
    cli_kit_answer(200, "{\"orders\": [], \"next\": null}");
    cli_kit_answer(status,
                   "{\"workflows\": [{\"workflow\": \"shop\", \"steps\": [{\"step\": \"Pay\", "
                   "\"steps\": null}, {\"step\": \"Lines\", \"steps\": [{\"step\": "
                   "\"PackLine\", \"steps\": null}]}]}]}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "list", flag, value);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_err, expected);
}

Test(cli_waiting_orders, an_empty_list_says_which_name_is_not_deployed)
{
    expect_hint("--waiting-for", "Pya", 200,
                "reeve: warning: --waiting-for Pya: no deployed workflow has a step of that name; "
                "did you mean Pay?\n");
    expect_hint("--step", "PakLine", 200,
                "reeve: warning: --step PakLine: no deployed workflow has a step of that name; did "
                "you mean PackLine?\n");
    expect_hint("--workflow", "xyz", 200,
                "reeve: warning: --workflow xyz: no workflow of that name is deployed\n");
    expect_hint("--workflow", "shop", 200, "");
    expect_hint("--step", "PackLine", 200, "");
    expect_hint("--step", "Pya", 403, "");
    cr_assert_eq(cli_kit_request_count(), 12);
    cli_kit_answer(200, "{\"orders\": [{\"order_id\": \"o-1\"}], \"next\": null}");
    CLI_KIT_RUN(&cli_orders, "orders", "list", "--step", "Pya");
    cli_kit_answer(200, "{\"orders\": [], \"next\": null}");
    CLI_KIT_RUN(&cli_orders, "orders", "list", "--group", "managers");
    cr_assert_eq(cli_kit_request_count(), 14, "nothing else is asked");
}
