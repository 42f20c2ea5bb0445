/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve step fail`: which errors it refuses, and what it asks the console. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

#define WHY "--by", "ann", "--reason", "the bank called"

TestSuite(cli_step, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_step, refuses_error_names_that_no_agent_could_report)
{
    static const char *const names[] = {"",     "two words",  "caf\xc3\xa9",    "\xff",
                                        "a\nb", "States.ALL", "States.Timeout", "a/b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLI_KIT_REFUSED(&cli_step, "ERROR must be 1 to 64 letters", "step", "fail", "o", "Pay",
                        names[i], WHY);
        CLI_KIT_REFUSED(&cli_step, "ERROR must be", "step", "fail", "o", "Pay", names[i],
                        "--dry-run");
    }
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_step, says_how_to_name_a_step_of_a_sub_order)
{
    CLI_KIT_REFUSED(&cli_step, "write o~Ship~0 HandOver", "step", "complete", "o",
                    "Ship~0/HandOver", WHY);
    CLI_KIT_REFUSED(&cli_step, "write ORDER~Ship~0 HandOver", "step", "skip", "Ship~0/HandOver",
                    WHY);
    CLI_KIT_REFUSED(&cli_step, "write o~Ship~0 HandOver", "step", "fail", "o", "Ship~0/HandOver",
                    "Lost", WHY);
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_step, sends_the_error_to_the_console)
{
    cli_kit_answer(200, "{\"order_id\": \"o\", \"state\": \"Error\", \"version\": 3, "
                        "\"events\": [{\"words\": \"Pay failed\"}]}");
    int code = CLI_KIT_RUN(&cli_step, "step", "fail", "o", "Pay", "Bank.Declined", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/o/fail ");
    cli_kit_expect_text(cli_kit_request(0), "\"error_name\":\"Bank.Declined\"");
    cli_kit_expect_text(cli_kit_out, "Pay failed");
}

Test(cli_step, reports_what_the_console_refuses)
{
    cli_kit_answer(400, "{\"code\": \"BadRequest\", \"detail\": \"error_name: expected\"}");
    int code = CLI_KIT_RUN(&cli_step, "step", "fail", "o", "Pay", "Declined", WHY);
    cr_assert_eq(code, EXIT_CODE_USAGE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err, "error_name: expected");
}
