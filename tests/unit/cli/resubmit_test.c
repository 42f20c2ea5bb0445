/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve resubmit`: what an operator may vouch for, and what it asks the console. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

#define WHY "--by", "ann", "--reason", "the bank is back"
#define DECIDED                                                                                  \
    "{\"order_id\": \"o\", \"state\": \"Processing\", \"version\": 9, \"events\": [{\"words\": " \
    "\"Pay resubmitted\"}]}"

TestSuite(cli_resubmit, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_resubmit, vouches_for_all_steps_of_one_order)
{
    cli_kit_answer(200, DECIDED);
    int code = CLI_KIT_RUN(&cli_resubmit, "resubmit", "o", "--nothing-applied", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/o/resubmit ");
    cli_kit_expect_text(cli_kit_request(0), "\"new_generation\":true");
}

Test(cli_resubmit, vouches_for_a_named_step_of_several_orders)
{
    cli_kit_answer(200, DECIDED);
    cli_kit_answer(200, DECIDED);
    int code =
        CLI_KIT_RUN(&cli_resubmit, "resubmit", "o", "p", "--nothing-applied", "--step", "Pay", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(1), "POST /api/orders/p/resubmit ");
    cli_kit_expect_text(cli_kit_request(1), "\"step\":\"Pay\"");
}

Test(cli_resubmit, refuses_to_vouch_for_any_step_of_several_orders)
{
    static const char why[] = "name it with --step";
    CLI_KIT_REFUSED(&cli_resubmit, why, "resubmit", "o", "p", "--nothing-applied", WHY);
    CLI_KIT_REFUSED(&cli_resubmit, why, "resubmit", "-", "--nothing-applied", "--yes", WHY);
    CLI_KIT_REFUSED(&cli_resubmit, why, "resubmit", "--state", "Error", "--nothing-applied",
                    "--dry-run");
    cr_assert_eq(cli_kit_request_count(), 0);
}
