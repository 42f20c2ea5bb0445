/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-orders on the command line: what is asked of the console, and what is printed. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>

#define WHY "--by", "ann", "--reason", "the bank called"

TestSuite(cli_tree, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_tree, prints_a_tree)
{
    cli_kit_answer(
        200,
        "{\"order_id\": \"o\", \"outcome\": null, \"state\": \"Processing\", \"steps\": "
        "[{\"step\": \"V\", \"for_each\": false, \"count\": 1, \"final\": 1},"
        "{\"step\": \"W\", \"for_each\": true, \"count\": 3, \"to_do\": 0, "
        "\"submitted\": 1, \"failed\": 1, \"left_out\": 1, \"recalled\": true, \"suborders\": ["
        "{\"order_id\": \"o~W~0\", \"outcome\": \"failed\", \"state\": null,"
        " \"expired\": true, \"steps\": []},"
        "{\"order_id\": \"o~W~1\", \"outcome\": \"submitted\", \"state\": \"Error\","
        " \"paused\": true, \"problem\": \"no\\u001bfunds\", \"steps\": []}]}],"
        " \"more\": true}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "tree", "o", "--all");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "GET /api/orders/o/tree?all=1");
    cr_assert_str_eq(cli_kit_out,
                     "o  Processing\n"
                     "  V: 1 sub-order, 1 final\n"
                     "  W: 3 items, 1 submitted, 1 failed, 1 left out; recalled\n"
                     "    o~W~0  expired (failed)\n"
                     "    o~W~1  Error (submitted), paused  no?funds\n"
                     "There are more orders than are shown: see the tree of one of them.\n");
}

Test(cli_tree, settles_a_held_order)
{
    static const char decision[] = "{\"order_id\": \"o~W~0\", \"state\": \"Processed\","
                                   " \"version\": 9, \"events\": [{\"words\": \"kept\"}]}";
    CLI_KIT_REFUSED(&cli_orders, "expected keep or undo, not keeep", "orders", "settle", "o~W~0",
                    "keeep", WHY);
    cli_kit_answer(200, decision);
    cr_assert_eq(CLI_KIT_RUN(&cli_orders, "orders", "settle", "o~W~0", "keep", WHY), EXIT_CODE_OK,
                 "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "POST /api/orders/o~W~0/settle ");
    cli_kit_expect_text(cli_kit_request(0), "\"keep\":true");
    cli_kit_expect_text(cli_kit_out, "kept");
    cli_kit_answer(200, decision);
    CLI_KIT_RUN(&cli_orders, "orders", "settle", "o~W~0", "undo", WHY);
    cli_kit_expect_text(cli_kit_request(1), "\"keep\":false");
}

Test(cli_tree, is_paused_as_a_whole)
{
    cli_kit_answer(200, "{\"orders\": 5, \"failed_count\": 1, \"failed\": [{\"order_id\": "
                        "\"o~W~0\", \"code\": \"Un\\u001bknown\", \"reason\": \"who knows\"}]}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "pause", "o", "--tree", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "\"tree\":true");
    cli_kit_expect_text(cli_kit_out, "5 orders of its tree, 1 refused");
    cli_kit_expect_text(cli_kit_err, "o~W~0: Un?known: who knows");
    cli_kit_answer(200, "{\"orders\": 5, \"failed_count\": 0, \"failed\": []}");
    code = CLI_KIT_RUN(&cli_cancel, "cancel", "o", "--tree", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(1), "POST /api/orders/o/cancel ");
    cli_kit_answer(200, "{\"orders\": 5, \"failed_count\": 0, \"failed\": [], \"incomplete\": "
                        "[{\"partition\": 2, \"reason\": \"partition 2 is being read\"}]}");
    code = CLI_KIT_RUN(&cli_orders, "orders", "resume", "o", "--tree", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err, "orders may be missing: partition 2 is being read");
    cli_kit_expect_text(cli_kit_request(1), "\"tree\":true");
    CLI_KIT_REFUSED(&cli_cancel, "--tree needs the console", "cancel", "o", "--tree", "--no-wait",
                    WHY);
}

Test(cli_tree, has_items_that_fail_alone)
{
    CLI_KIT_REFUSED(&cli_step, "--item 1000: expected 0 to 999", "step", "fail", "o", "W", "Stuck",
                    "--item", "1000", WHY);
    cli_kit_answer(200, "{\"order_id\": \"o\", \"state\": \"Processing\", \"version\": 3,"
                        " \"events\": [{\"words\": \"W: item 3 failed\"}]}");
    int code = CLI_KIT_RUN(&cli_step, "step", "fail", "o", "W", "Stuck", "--item", "3", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "\"item\":3");
}

Test(cli_tree, is_in_lists_only_if_asked_for)
{
    cli_kit_answer(200, "{\"orders\": [], \"next\": null}");
    CLI_KIT_RUN(&cli_orders, "orders", "list", "--all");
    cli_kit_expect_text(cli_kit_request(0), "all=1");
}

Test(cli_tree, has_one_alert_that_counts_the_others)
{
    cli_kit_answer(200, "{\"orders\": [{\"order_id\": \"o~W~1\", \"others\": 4, \"reason_code\": "
                        "\"Declined\"}, {\"order_id\": \"p\", \"others\": 0}], \"next\": null, "
                        "\"partitions\": [{\"partition\": 7, \"code\": \"OrderStuck\"}]}");
    int code = CLI_KIT_RUN(&cli_alerts, "alerts");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "OTHERS");
    cli_kit_expect_text(cli_kit_out, "order o~W~1       4");
    cli_kit_expect_text(cli_kit_out, "partition 7");
}
