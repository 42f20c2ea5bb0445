/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve agents pause` and `resume`: what they refuse, ask the console, and print. */
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#define PAUSED                                                                                    \
    "{\"agent\": \"carrier\", \"instances\": 2, \"workflows\": 1, \"paused\": {\"by\": \"ann\", " \
    "\"reason\": \"down\", \"at\": \"2010-12-01T08:26:00.000Z\"}}"
#define RESUMED "{\"agent\": \"carrier\", \"instances\": 2, \"workflows\": 1, \"paused\": null}"
#define WHY "--by", "ann", "--reason", "down"

enum { NAMELESS = 54321 };

TestSuite(cli_agents, .init = cli_kit_console_open, .fini = cli_kit_console_close);

Test(cli_agents, refuses_bad_command_lines_before_it_asks_a_console)
{
    unsetenv("USER");
    CLI_KIT_REFUSED(&cli_agents, "AGENT", "agents", "pause", WHY);
    CLI_KIT_REFUSED(&cli_agents, "", "agents", "resume", "a", "b", WHY);
    CLI_KIT_REFUSED(&cli_agents, "AGENT must be", "agents", "pause", "a/b", WHY);
    CLI_KIT_REFUSED(&cli_agents, "AGENT must be", "agents", "resume", "", WHY);
    CLI_KIT_REFUSED(&cli_agents, "--reason TEXT is required", "agents", "pause", "carrier");
    CLI_KIT_REFUSED(&cli_agents, "it stays in the topic of agents", "agents", "resume", "carrier",
                    "--by", "ann");
    CLI_KIT_REFUSED(&cli_agents, "--reason TEXT is required", "agents", "pause", "carrier", "--by",
                    "ann", "--reason", "");
    CLI_KIT_REFUSED(&cli_agents, "must be UTF-8", "agents", "pause", "carrier", "--by", "ann",
                    "--reason", "\xff");
    CLI_KIT_REFUSED(&cli_agents, "--dry-run", "agents", "pause", "carrier", WHY, "--dry-run");
    cr_assert_eq(cli_kit_request_count(), 0);
}

/* The body of the n-th request; its path is compared. */
static json_t *body_of(unsigned n, const char *path)
{
    const char *request = cli_kit_request(n);
    size_t size = strlen(path);
    cr_assert(strncmp(request, path, size) == 0 && request[size] == ' ', "%s", request);
    json_t *body = json_loads(request + size, 0, NULL);
    cr_assert(json_is_object(body), "%s", request);
    return body;
}

Test(cli_agents, pauses_with_who_and_why)
{
    cli_kit_answer(200, PAUSED);
    int code = CLI_KIT_RUN(&cli_agents, "agents", "pause", "carrier", WHY);
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    json_t *body = body_of(0, "POST /api/agents/carrier/pause");
    cr_assert_eq(json_object_size(body), 2);
    cr_assert_str_eq(json_string_value(json_object_get(body, "by")), "ann");
    cr_assert_str_eq(json_string_value(json_object_get(body, "reason")), "down");
    json_decref(body);
    cli_kit_expect_text(cli_kit_out, "AGENT    STATE   BY   REASON  INSTANCES");
    cli_kit_expect_text(cli_kit_out, "carrier  paused  ann  down");
    cr_assert_str_empty(cli_kit_err);
}

/* As in a container or a service, which often has no $USER. */
Test(cli_agents, asks_the_system_for_the_name_of_the_user)
{
    const struct passwd *entry = getpwuid(getuid());
    if (entry == NULL)
        cr_skip_test("the system has no name for this user");
    unsetenv("USER");
    cli_kit_answer(200, RESUMED);
    int code = CLI_KIT_RUN(&cli_agents, "agents", "resume", "carrier", "--reason", "it is back");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    json_t *body = body_of(0, "POST /api/agents/carrier/resume");
    cr_assert_str_eq(json_string_value(json_object_get(body, "by")), entry->pw_name);
    json_decref(body);
}

Test(cli_agents, refuses_a_command_of_a_user_without_a_name)
{
    if (getuid() != 0 || getpwuid(NAMELESS) != NULL || setuid(NAMELESS) != 0)
        cr_skip_test("only root can become a user whom the system does not know");
    unsetenv("USER");
    CLI_KIT_REFUSED(&cli_agents,
                    "--by NAME is required: it stays in the topic of agents, and "
                    "neither $USER nor the system names the user",
                    "agents", "pause", "carrier", "--reason", "down");
    cr_assert_eq(cli_kit_request_count(), 0);
}

Test(cli_agents, resumes_as_the_user)
{
    cr_assert_eq(setenv("USER", "bob", 1), 0);
    cli_kit_answer(200, RESUMED);
    int code = CLI_KIT_RUN(&cli_agents, "agents", "resume", "carrier", "--reason", "it is back");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    json_t *body = body_of(0, "POST /api/agents/carrier/resume");
    cr_assert_str_eq(json_string_value(json_object_get(body, "by")), "bob");
    json_decref(body);
    cli_kit_expect_text(cli_kit_out, "carrier  active");
}

Test(cli_agents, prints_the_answer_as_json)
{
    cli_kit_answer(200, PAUSED);
    int code = CLI_KIT_RUN(&cli_agents, "agents", "pause", "carrier", WHY, "--output", "jsonl");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    json_t *printed = json_loads(cli_kit_out, 0, NULL);
    json_t *expected = json_loads(PAUSED, 0, NULL);
    cr_assert(json_equal(printed, expected), "%s", cli_kit_out);
    json_decref(printed);
    json_decref(expected);
}

Test(cli_agents, warns_of_agents_that_nothing_serves)
{
    cli_kit_answer(
        200, "{\"agent\": \"carier\", \"instances\": 0, \"workflows\": 0, \"paused\": "
             "{\"by\": \"ann\", \"reason\": \"down\", \"at\": \"1970-01-01T00:00:00.001Z\"}}");
    cli_kit_answer(
        200, "{\"agent\": \"bank\", \"instances\": 0, \"workflows\": 1, \"paused\": "
             "{\"by\": \"ann\", \"reason\": \"down\", \"at\": \"1970-01-01T00:00:00.001Z\"}}");
    cr_assert_eq(CLI_KIT_RUN(&cli_agents, "agents", "pause", "carier", WHY), EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_err, "no instance of agent carier is alive, and no deployed "
                                     "workflow names it: check the spelling");
    cr_assert_eq(CLI_KIT_RUN(&cli_agents, "agents", "pause", "bank", WHY), EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_err, "no instance of agent bank is alive\n");
}

Test(cli_agents, reports_what_the_console_refuses)
{
    cli_kit_answer(409, "{\"code\": \"AlreadyPaused\", \"detail\": \"bob paused it before\"}");
    cli_kit_answer(409, "{\"code\": \"NotPaused\", \"detail\": \"it is not paused\"}");
    cli_kit_answer(400, "{\"code\": \"BadRequest\", \"detail\": \"reason: too long\"}");
    cli_kit_answer(503, "{\"code\": \"NotReady\", \"detail\": \"still reading\"}");
    int code = CLI_KIT_RUN(&cli_agents, "agents", "pause", "carrier", WHY);
    cr_assert_eq(code, EXIT_CODE_NEGATIVE);
    cr_assert_str_eq(cli_kit_err, "reeve: carrier: bob paused it before (AlreadyPaused)\n");
    cr_assert_str_empty(cli_kit_out);
    code = CLI_KIT_RUN(&cli_agents, "agents", "resume", "carrier", WHY, "--output", "json");
    cr_assert_eq(code, EXIT_CODE_NEGATIVE);
    cli_kit_expect_text(cli_kit_err, "\"code\":\"NotPaused\"");
    cr_assert_str_empty(cli_kit_out);
    code = CLI_KIT_RUN(&cli_agents, "agents", "pause", "carrier", WHY);
    cr_assert_eq(code, EXIT_CODE_USAGE);
    code = CLI_KIT_RUN(&cli_agents, "agents", "pause", "carrier", WHY);
    cr_assert_eq(code, EXIT_CODE_UNAVAILABLE);
}

Test(cli_agents, lists_what_is_paused_without_an_instance)
{
    cli_kit_answer(
        200, "{\"agents\": [], \"complete\": true, \"pauses\": [{\"agent\": \"bank\", "
             "\"by\": \"ann\", \"reason\": \"down\", \"at\": \"2010-12-01T08:26:00.000Z\"}]}");
    cr_assert_eq(CLI_KIT_RUN(&cli_agents, "agents", "list"), EXIT_CODE_OK);
    cr_assert_str_eq(cli_kit_request(0), "GET /api/agents");
    cli_kit_expect_text(cli_kit_out, "bank");
    cli_kit_expect_text(cli_kit_out, "by ann, ");
    cli_kit_expect_text(cli_kit_out, "ago: down");
}

#define WORKFLOWS                                                                                 \
    "{\"workflows\": ["                                                                           \
    "{\"steps\": [{\"agent\": \"bank\", \"agents\": [\"bank\", \"bank-2\"]}]},"                   \
    "{\"steps\": [{\"agent\": \"bank\", \"agents\": [\"bank\"]}]},"                               \
    "{\"retired\": true, \"orders\": {\"unfinished\": 0}, \"steps\": [{\"agents\": [\"old\"]}]}," \
    "{\"retired\": true, \"orders\": {\"unfinished\": 1}, \"steps\": [{\"agents\": "              \
    "[\"slow\"]}]}]}"

Test(cli_agents, lists_those_that_workflows_name_without_an_instance)
{
    cli_kit_answer(200, "{\"agents\": [{\"agent\": \"bank\", \"instance\": \"b-1\"}], "
                        "\"complete\": true, \"pauses\": []}");
    cli_kit_answer(200, WORKFLOWS);
    int code = CLI_KIT_RUN(&cli_agents, "agents", "list", "--output", "jsonl");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_request(1), "GET /api/workflows");
    cr_assert_str_eq(cli_kit_out, "{\"agent\":\"bank\",\"instance\":\"b-1\"}\n"
                                  "{\"agent\":\"bank-2\",\"instance\":null}\n"
                                  "{\"agent\":\"slow\",\"instance\":null}\n");
}

/* As from a console of an earlier version, or one that is starting. */
Test(cli_agents, lists_the_instances_where_workflows_are_not_known)
{
    cli_kit_answer(200, "{\"agents\": [{\"agent\": \"bank\", \"instance\": \"b-1\"}], "
                        "\"complete\": true, \"pauses\": []}");
    cli_kit_answer(503, "{\"code\": \"NotReady\", \"detail\": \"still reading\"}");
    int code = CLI_KIT_RUN(&cli_agents, "agents", "list", "--output", "jsonl");
    cr_assert_eq(code, EXIT_CODE_OK, "%s", cli_kit_err);
    cr_assert_str_eq(cli_kit_out, "{\"agent\":\"bank\",\"instance\":\"b-1\"}\n");
}
