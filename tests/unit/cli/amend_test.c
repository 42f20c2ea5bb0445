/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders amend`. */
#include "cli/console/orders.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#define WHY "--by", "ann", "--reason", "a typing error"

TestSuite(cli_amend, .init = cli_kit_console_open, .fini = cli_kit_console_close);

static const char decided[] =
    "{\"order_id\": \"o-1\", \"state\": \"Error\", \"version\": 7, "
    "\"events\": [{\"words\": \"order amended by ann: a typing error\"}]}";

/* As it was given, with all digits. */
Test(cli_amend, sends_the_whole_new_input)
{
    cli_kit_answer(200, decided);
    int code =
        CLI_KIT_RUN(&cli_orders, "orders", "amend", "o-1", "--input", "{\"n\": 100.10}", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/o-1/amend ");
    cli_kit_expect_text(cli_kit_request(0), "\"input\":{\"n\":100.1}");
    cli_kit_expect_text(cli_kit_request(0), "\"reason\":\"a typing error\"");
    cli_kit_expect_text(cli_kit_out, "order amended by ann: a typing error");
}

Test(cli_amend, reads_the_input_from_a_file)
{
    char path[] = "/tmp/reeve-amend-XXXXXX";
    int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, "{\"to\":\"here\"}\n", 14) == 14);
    close(file);
    cli_kit_answer(200, decided);
    int code = CLI_KIT_RUN(&cli_orders, "orders", "amend", "o-1", "--input", path, WHY);
    unlink(path);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "\"input\":{\"to\":\"here\"}");
}

Test(cli_amend, shows_why_the_scheduler_refuses)
{
    cli_kit_answer(409,
                   "{\"code\": \"InputWasRead\", \"detail\": \"step Pay has had its effect\"}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "amend", "o-1", "--input", "null", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "\"input\":null");
    cli_kit_expect_text(cli_kit_err, "o-1: step Pay has had its effect (InputWasRead)");
}

Test(cli_amend, refuses_what_is_not_one_order_with_an_input)
{
    static const struct {
        const char *order;
        const char *input;
        const char *says;
    } cases[] = {
        {"o-1", "{\"n\": }", "--input"},
        {"o-1", "{\"n\": 1, \"n\": 2}", "--input"},
        {"o-1", "/nowhere/input.json", "/nowhere/input.json"},
        {"-", "{}", "is about one order"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int code = CLI_KIT_RUN(&cli_orders, "orders", "amend", cases[i].order, "--input",
                               cases[i].input, WHY);
        cr_assert_neq(code, EXIT_CODE_OK);
        cli_kit_expect_text(cli_kit_err, cases[i].says);
    }
    cr_assert_neq(CLI_KIT_RUN(&cli_orders, "orders", "amend", "o-1", WHY), EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_err, "--input is missing");
    cr_assert_eq(cli_kit_request_count(), 0);
}
