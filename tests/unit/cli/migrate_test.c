/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow migrate`: the versions that it asks for first, and --dry-run. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>

#define DEPLOYED "{\"workflow\": \"w\", \"retired\": false}"
#define RETIRED "{\"workflow\": \"w\", \"retired\": true}"
#define UNKNOWN                                                                        \
    "{\"code\": \"UnknownWorkflow\", \"detail\": \"version 9 of this workflow is not " \
    "deployed\"}"
#define NO_DIFFERENCE "{\"workflow\": \"w\", \"left\": 1, \"right\": 2, \"differences\": []}"
#define WHY "--by", "ann", "--reason", "wrong"

TestSuite(cli_migrate, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_migrate, refuses_an_undeployed_version_before_any_command)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(404, UNKNOWN);
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:9", "one", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(0), "GET /api/workflows/w/1");
    cr_assert_str_eq(cli_kit_request(1), "GET /api/workflows/w/9");
    cr_assert_eq(cli_kit_request_count(), 2);
    cr_assert_str_eq(cli_kit_err,
                     "reeve: w:9: version 9 of this workflow is not deployed (UnknownWorkflow)\n");
}

Test(cli_migrate, refuses_an_undeployed_version_to_move_from)
{
    cli_kit_answer(404, UNKNOWN);
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:9", "w:1", "--dry-run");
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err, "w:9: version 9");
    cr_assert_eq(cli_kit_request_count(), 1);
}

Test(cli_migrate, refuses_a_retired_version_to_move_to)
{
    cli_kit_answer(200, RETIRED);
    cli_kit_answer(200, RETIRED);
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "one", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err, "w:2 is retired");
    cr_assert_eq(cli_kit_request_count(), 2);
}

Test(cli_migrate, checks_each_order_of_a_dry_run)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, NO_DIFFERENCE);
    cli_kit_answer(200, "{\"order_id\": \"one\", \"version\": 2}");
    cli_kit_answer(409, "{\"code\": \"StepsDiffer\", \"detail\": \"version 2 has no step A\"}");
    int code =
        CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "one", "two", "--dry-run");
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(2), "GET /api/workflows/w/diff?left=1&right=2");
    cr_assert_str_eq(cli_kit_request(3),
                     "GET /api/orders/one/migrate?workflow=w&from_version=1&version=2");
    cr_assert_eq(cli_kit_request_count(), 5);
    cli_kit_expect_text(cli_kit_out, "one    accepted");
    cli_kit_expect_text(cli_kit_out, "two    refused   version 2 has no step A");
    cli_kit_expect_text(cli_kit_err,
                        "1 of 2 orders would be accepted, 1 refused; nothing was sent");
}

Test(cli_migrate, sends_the_command_of_each_order)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, NO_DIFFERENCE);
    cli_kit_answer(200, "{\"order_id\": \"one\", \"state\": \"Error\", \"events\": []}");
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "one", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(3), "POST /api/orders/one/migrate ");
    cli_kit_expect_text(cli_kit_request(3), "\"from_version\":1");
    cr_assert_null(strstr(cli_kit_err, "warning"), "%s", cli_kit_err);
}

Test(cli_migrate, warns_of_what_agents_no_longer_get)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, "{\"differences\": [{\"step\": \"A\", \"warning\": null}, {\"step\": "
                        "\"Pay\", \"warning\": \"the agent no longer gets lines\"}]}");
    cli_kit_answer(200, "{\"order_id\": \"one\", \"version\": 2}");
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "one", "--dry-run");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_err, "reeve: warning: step Pay, from version 1 to 2: the agent no "
                                     "longer gets lines\n");
    cr_assert_null(strstr(cli_kit_err, "step A"), "%s", cli_kit_err);
}

Test(cli_migrate, moves_nothing_when_it_cannot_compare_the_versions)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(404, UNKNOWN);
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w:1", "w:2", "one", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cr_assert_eq(cli_kit_request_count(), 3);
}

/* The versions are those of the file, and the orders those of the body. */
Test(cli_migrate, moves_orders_of_a_body)
{
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200, DEPLOYED);
    cli_kit_answer(200,
                   "{\"differences\": [{\"step\": \"Load\", \"warning\": \"around\"}, {\"step\": "
                   "\"Load/Store\", \"warning\": \"within\"}, {\"step\": \"Loader/Store\", "
                   "\"warning\": \"another\"}]}");
    cli_kit_answer(200, "{\"order_id\": \"one\", \"version\": 2}");
    int code = CLI_KIT_RUN(&cli_workflow, "workflow", "migrate", "w/Load:1", "w/Load:2", "one",
                           "--dry-run");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(0), "GET /api/workflows/w/1");
    cr_assert_str_eq(cli_kit_request(2), "GET /api/workflows/w/diff?left=1&right=2");
    cr_assert_str_eq(cli_kit_request(3),
                     "GET /api/orders/one/migrate?workflow=w%2FLoad&from_version=1&version=2");
    cli_kit_expect_text(cli_kit_err, "step Load/Store, from version 1 to 2: within\n");
    cr_assert_null(strstr(cli_kit_err, "around"), "%s", cli_kit_err);
    cr_assert_null(strstr(cli_kit_err, "another"), "%s", cli_kit_err);
}
