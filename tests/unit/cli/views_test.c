/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve orders get`, `overview` and `health` print of the console's answer. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>

TestSuite(cli_views, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_views, shows_who_paused_an_order_since_when_and_why)
{
    cli_kit_answer(
        200, "{\"order_id\": \"o-1\", \"state\": \"Processing\", \"workflow\": \"shop\", "
             "\"workflow_version\": 1, \"paused_at\": \"2010-12-01T08:26:00.000Z\", \"paused_by\": "
             "\"carol\", \"pause_reason\": \"a stocktaking\", \"steps\": []}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "Paused        2010-12-01 08:26:00");
    cli_kit_expect_text(cli_kit_out, " ago)\n");
    cli_kit_expect_text(cli_kit_out, "Paused by     carol: a stocktaking\n");
}

Test(cli_views, says_nothing_of_a_pause_of_an_order_that_is_not_paused)
{
    cli_kit_answer(200,
                   "{\"order_id\": \"o-1\", \"state\": \"Processing\", \"workflow\": \"shop\", "
                   "\"workflow_version\": 1, \"paused_at\": null, \"paused_by\": null, "
                   "\"pause_reason\": null, \"steps\": []}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_null(strstr(cli_kit_out, "Paused"), "%s", cli_kit_out);
}

#define WITH_DATA                                                                                 \
    "{\"order_id\":\"o-1\",\"state\":\"Processed\",\"workflow\":\"shop\",\"workflow_version\":1," \
    "\"input\":{\"amount\":100.10},\"output\":{\"paid\":1.50},\"steps\":["                        \
    "{\"step\":\"Pay\",\"state\":\"Processed\",\"input\":{\"sum\":2.50},"                         \
    "\"output\":12345678901234567890},{\"step\":\"Ship\",\"output\":{}},"                         \
    "{\"step\":\"Tell\",\"output\":null}]}"

Test(cli_views, shows_the_data_of_an_order_with_all_its_digits)
{
    cli_kit_answer(200, WITH_DATA);
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "Input         {\"amount\":100.10}\n");
    cli_kit_expect_text(cli_kit_out, "Output        {\"paid\":1.50}\n");
    cli_kit_expect_text(cli_kit_out, "Pay   input          {\"sum\":2.50}\n");
    cli_kit_expect_text(cli_kit_out, "      output         12345678901234567890\n");
    cr_assert_null(strstr(cli_kit_out, "No output"));
    cr_assert_null(strstr(cli_kit_out, "Ship  output"));
    cli_kit_answer(200, WITH_DATA);
    code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1", "--output", "json");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_out, WITH_DATA "\n");
}

Test(cli_views, prints_the_input_alone_with_all_its_digits)
{
    cli_kit_answer(200, "{\"order_id\":\"o-1\",\"input\":{\"n\":12345678901234567890.10}}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1", "--input");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_out, "{\"n\": 12345678901234567890.10}\n");
    cli_kit_answer(200, "{\"order_id\":\"o-1\",\"input\":null}");
    code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1", "--input");
    cr_assert_str_eq(cli_kit_out, "null\n");
}

Test(cli_views, says_why_steps_were_passed_over)
{
    cli_kit_answer(200, "{\"order_id\":\"o-1\",\"state\":\"Processing\",\"workflow\":\"shop\","
                        "\"workflow_version\":1,\"steps\":["
                        "{\"step\":\"Gift\",\"state\":\"Skipped\"},"
                        "{\"step\":\"Mail\",\"state\":\"Caught\",\"error_name\":\"Down\"},"
                        "{\"step\":\"Card\",\"state\":\"Skipped\"},"
                        "{\"step\":\"Ship\",\"state\":\"Pending\"}]}");
    cli_kit_answer(200,
                   "{\"entries\":[{\"offset\":3,\"events\":["
                   "{\"kind\":\"StepSkipped\",\"data\":{\"step\":\"Gift\",\"reason\":\"When: a\"}},"
                   "{\"kind\":\"StepCaught\",\"data\":{\"step\":\"Mail\",\"reason\":"
                   "\"a Catch matches Down\"}},"
                   "{\"kind\":\"StepSkipped\",\"data\":{\"step\":\"Ship\",\"reason\":\"When: x\"}}"
                   "]}],\"next\":3}");
    cli_kit_answer(
        200, "{\"entries\":[{\"offset\":4,\"events\":["
             "{\"kind\":\"StepSkipped\",\"data\":{\"step\":\"Gift\",\"reason\":\"When: b\"}}]},"
             "{\"offset\":5,\"events\":[{\"kind\":\"StepSkippedByHand\",\"data\":"
             "{\"step\":\"Card\",\"by\":\"ann\",\"reason\":\"not needed\"}}]}],"
             "\"next\":null}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(1), "GET /api/orders/o-1/history");
    cli_kit_expect_text(cli_kit_request(2), "GET /api/orders/o-1/history?after=3");
    cli_kit_expect_text(cli_kit_out, "Gift  why            When: b\n");
    cli_kit_expect_text(cli_kit_out, "Mail  why            a Catch matches Down\n"
                                     "      error          Down\n");
    cli_kit_expect_text(cli_kit_out, "Card  why            by hand by ann: not needed\n");
    cr_assert_null(strstr(cli_kit_out, "When: x"), "%s", cli_kit_out);
}

Test(cli_views, says_why_an_order_has_no_output)
{
    cli_kit_answer(200, "{\"order_id\":\"o-1\",\"state\":\"Processed\",\"workflow\":\"shop\","
                        "\"workflow_version\":1,\"output\":null,\"output_problem\":"
                        "\"States.QueryEvaluationError: no member 'x'\",\"steps\":[]}");
    int code = CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "No output     States.QueryEvaluationError: no member 'x'\n");
    cr_assert_null(strstr(cli_kit_out, "\nOutput"));
}

#define OVERVIEW                                                                         \
    "{\"unfinished\": 3, \"step_ms\": 10000, \"by_state\": {\"Error\": 2}, \"errors\": " \
    "[{\"orders\": 1, \"workflow\": \"shop\", \"step\": \"Pay\", \"error_name\": "       \
    "\"Declined\", \"message\": \"no funds\"}], \"errors_of_other_causes\": 1, "         \
    "\"incomplete\": [{\"partition\": 2, \"reason\": \"it is being read\"}]}"

Test(cli_views, prints_the_overview_and_what_it_lacks)
{
    cli_kit_answer(200, OVERVIEW);
    int code = CLI_KIT_RUN(&cli_overview, "overview");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "Unfinished          3\n");
    cli_kit_expect_text(cli_kit_out, "and 1 order in Error for other causes\n");
    cli_kit_expect_text(cli_kit_err, "orders may be missing: it is being read");
}

Test(cli_views, counts_sub_orders_in_the_overview)
{
    cli_kit_answer(200, "{\"unfinished\": 0, \"suborders_unfinished\": 1, \"by_state\": "
                        "{\"Error\": 0}, \"suborders_by_state\": {\"Error\": 3}}");
    int code = CLI_KIT_RUN(&cli_overview, "overview");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "Unfinished          0, and 1 sub-order\n");
    cli_kit_expect_text(cli_kit_out, "In Error            0, and 3 sub-orders\n");
}

/* As JSON an answer is printed as it came. */
static void check_json(const struct cli_noun *noun, const char *verb, const char *answer,
                       int expected_code)
{
    cli_kit_answer(200, answer);
    int code = CLI_KIT_RUN(noun, verb, "--output", "json");
    cr_assert_eq(code, expected_code, "%s", cli_kit_err);
    json_t *printed = json_loads(cli_kit_out, 0, NULL);
    json_t *expected = json_loads(answer, 0, NULL);
    cr_assert(json_equal(printed, expected), "%s", cli_kit_out);
    json_decref(printed);
    json_decref(expected);
}

#define NUMBERS                                                                                   \
    "{\"orders\": 1000000, \"exact\": false, \"by_state\": {\"Pending\": {\"orders\": 0, "        \
    "\"exact\": true}, \"Error\": {\"orders\": 7, \"exact\": true}, \"Processed\": {\"orders\": " \
    "999993, \"exact\": false}}}"

Test(cli_views, counts_by_state_and_says_what_is_not_exact)
{
    cli_kit_answer(200, NUMBERS);
    int code = CLI_KIT_RUN(&cli_orders, "orders", "count", "--customer", "ann", "--states");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_request(0), "/api/orders/count?customer=ann&by=state");
    cli_kit_expect_text(cli_kit_out, "ERROR         7\n");
    cli_kit_expect_text(cli_kit_out, "PROCESSED     at least 999993\n");
    cli_kit_expect_text(cli_kit_out, "ORDERS        at least 1000000\n");
    cli_kit_answer(200, NUMBERS);
    code = CLI_KIT_RUN(&cli_orders, "orders", "count", "--states", "--output", "json");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "999993");
}

#define HEALTH "{\"checks\": [{\"name\": \"disk\", \"ok\": false, \"message\": \"it is full\"}]}"

#define SERVICES                                                                                \
    "{\"services\": [{\"service\": \"scheduler\", \"instance\": \"s-1\", \"version\": \"1\", "  \
    "\"ready\": true, \"reason\": null, \"address\": \"h:1\", \"error\": null}, {\"address\": " \
    "\"h:2\", \"error\": \"it does not run\"}]}"

Test(cli_views, prints_answers_as_json)
{
    check_json(&cli_overview, "overview", OVERVIEW, EXIT_CODE_OK);
    check_json(&cli_health, "health", HEALTH, EXIT_CODE_NEGATIVE);
    check_json(&cli_services, "services", SERVICES, EXIT_CODE_NEGATIVE);
}

Test(cli_views, prints_checks_and_services_in_rows_for_programs)
{
    static const struct {
        const char *format;
        const char *fields; /* "": all */
        const char *checks;
        const char *services;
    } cases[] = {
        {"id", "", "disk\n", "s-1\nh:2\n"},
        {"csv", "", "name,ok,message\ndisk,false,it is full\n",
         "instance,service,result,version,address,message\n"
         "s-1,scheduler,OK,1,h:1,h:1\nh:2,,failed,,h:2,it does not run\n"},
        {"csv", "message,version", "message,version\nit is full,\n", "message,version\n,1\n,\n"},
        {"jsonl", "ok,service", "{\"ok\":false}\n", "{\"service\":\"scheduler\"}\n{}\n"},
        {"yaml", "", "checks:\n- name: disk\n  ok: false\n  message: it is full\n",
         "services:\n- service: scheduler\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *fields = cases[i].fields[0] != '\0' ? "--fields" : NULL;
        cli_kit_answer(200, HEALTH);
        cr_assert_eq(CLI_KIT_RUN(&cli_health, "health", "--output", cases[i].format, fields,
                                 cases[i].fields),
                     EXIT_CODE_NEGATIVE);
        cr_assert_str_eq(cli_kit_out, cases[i].checks);
        cli_kit_answer(200, SERVICES);
        cr_assert_eq(CLI_KIT_RUN(&cli_services, "services", "--output", cases[i].format, fields,
                                 cases[i].fields),
                     EXIT_CODE_NEGATIVE);
        cr_assert_eq(strncmp(cli_kit_out, cases[i].services, strlen(cases[i].services)), 0, "%s",
                     cli_kit_out);
    }
}

Test(cli_views, ends_with_1_if_a_check_failed)
{
    cli_kit_answer(200, HEALTH);
    cr_assert_eq(CLI_KIT_RUN(&cli_health, "health"), EXIT_CODE_NEGATIVE, "%s", cli_kit_err);
    cli_kit_expect_text(cli_kit_out, "disk   failed  it is full");
}

Test(cli_views, says_which_setting_names_the_services)
{
    cli_kit_answer(200, "{\"services\": []}");
    cr_assert_eq(CLI_KIT_RUN(&cli_services, "services"), EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_err, "console.services names those to ask");
}

Test(cli_views, takes_what_is_too_large_for_wrong_usage)
{
    cli_kit_answer(413, "{\"code\": \"TooLarge\", \"detail\": \"the body is too large\"}");
    cr_assert_eq(CLI_KIT_RUN(&cli_orders, "orders", "get", "o-1"), EXIT_CODE_USAGE);
    cli_kit_expect_text(cli_kit_err, "the body is too large (TooLarge)");
}

/* A scheduler's server, and that of another program. */
Test(cli_views, tells_other_servers_from_a_console)
{
    cli_kit_answer(404, "{\"code\": \"NotFound\", \"detail\": \"no such path\"}");
    cli_kit_answer(404, "{\"error\": \"NotFound\"}");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(CLI_KIT_RUN(&cli_health, "health"), EXIT_CODE_INTERNAL);
        cli_kit_expect_text(cli_kit_err, "(status 404) is not a console: give its address");
    }
}
