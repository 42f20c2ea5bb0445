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
