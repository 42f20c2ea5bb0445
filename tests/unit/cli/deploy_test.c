/* SPDX-License-Identifier: Apache-2.0 */
/* Deploying over what the workflows topic holds already: the first definition of a version counts,
 * also one that does not compile. */
#include "cli/output.h"
#include "cli/workflow/agent_check.h"
#include "cli/workflow/deployment.h"
#include "cli/workflow/next_version.h"
#include "cli/workflow/verbs.h"
#include "platform/files.h"
#include "replica/service/settings.h"
#include "tests/lib/site.h"
#include "tests/unit/cli/session_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#define GOOD "Name: shop\nVersion: 3\nSteps:\n  - {Name: Pay, Agent: bank, After: []}\n"
#define BROKEN "Name: shop\nVersion: 3\nSteps:\n  - {Name: Pay, Agent: 'no name', After: []}\n"

static struct session_kit kit;
static struct workflow_file file;

static void read_file(const char *text)
{
    char path[] = "/tmp/cli-deploy-XXXXXX.yaml";
    struct error error = {0};
    int descriptor = mkstemps(path, 5);
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(close(descriptor), 0);
    cr_assert_eq(files_write_atomic(path, text_of(text), &error), ERROR_OK);
    cr_assert_eq(workflow_file_read(path, &file, &error), ERROR_OK, "%s", error.message);
    cr_assert_not_null(file.workflow);
    cr_assert_eq(unlink(path), 0);
}

static void open_kit(void)
{
    session_kit_init(&kit);
    read_file(GOOD);
}

static void close_kit(void)
{
    session_kit_deinit(&kit);
    workflow_file_deinit(&file);
}

TestSuite(cli_deploy, .init = open_kit, .fini = close_kit, .timeout = 120);

static void define(const char *text)
{
    struct workflow_definition definition = {
        .name = TEXT("shop"), .version = 3, .text = text_of(text), .format = TEXT("yaml")};
    session_kit_append(&kit, "t.workflows", RECORD_WORKFLOW_DEFINITION, &definition);
}

/* The command reports `expected` in one line and ends with `code`; nothing is appended. */
static void check_refusal(const char *expected, int code)
{
    const char *result = NULL;
    struct error error = {0};
    int64_t before = site_end(kit.kafka, "t.workflows", 0);
    cr_assert_eq(workflow_deploy(&kit.session, &file, true, &result, &error), ERROR_REJECT);
    cr_assert_eq(cli_fail(&kit.cli, &error), code);
    session_kit_flush(&kit);
    cr_assert_not_null(strstr(kit.err, expected), "%s", kit.err);
    cr_assert_eq(strchr(kit.err, '\n'), kit.err + kit.err_size - 1, "one line: %s", kit.err);
    cr_assert_null(result);
    cr_assert_eq(site_end(kit.kafka, "t.workflows", 0), before);
}

Test(cli_deploy, refuses_a_version_whose_first_definition_does_not_compile)
{
    define(BROKEN);
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    check_refusal("the first definition of shop version 3 in the topic does not compile, and the "
                  "first one counts: increase Version in the file",
                  EXIT_CODE_DATA);
}

Test(cli_deploy, refuses_a_version_whose_first_definition_is_not_yaml)
{
    define("Name: [");
    define(GOOD);
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    check_refusal("does not compile", EXIT_CODE_DATA);
}

Test(cli_deploy, refuses_a_version_that_is_deployed_with_other_content)
{
    define(GOOD "# changed\n");
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    check_refusal("shop version 3 is deployed with other content", EXIT_CODE_DATA);
}

Test(cli_deploy, accepts_what_is_deployed_already)
{
    struct error error = {0};
    const char *result = NULL;
    define(GOOD);
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    cr_assert_eq(workflow_deploy(&kit.session, &file, true, &result, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert_str_eq(result, "already deployed, active");
}

/* Deploys the file, without activating it; what the command prints on stderr. */
static const char *deploy(void)
{
    const struct cli_flag flags[] = {
        {.name = "no-agent-check"}, {.name = "no-activate"}, {.name = "next-version"}, {0}};
    struct cli_given given[] = {{&flags[0], ""}, {&flags[1], ""}};
    struct agent_check agents = {.table = NULL};
    size_t warned = kit.err_size;
    kit.cli.noun = &cli_workflow;
    kit.cli.verb = cli_find_verb(&cli_workflow, "deploy");
    kit.cli.given = given;
    kit.cli.given_count = 2;
    kit.cli.output = CLI_OUTPUT_JSONL; /* without columns */
    struct output *output = output_new(&kit.cli, NULL);
    kit.cli.output = CLI_OUTPUT_TABLE;
    int code = workflow_deploy_run(&kit.cli, &kit.session, &agents, &file, output);
    cr_assert_eq(output_finish(output, code), EXIT_CODE_OK);
    session_kit_flush(&kit);
    return kit.err + warned;
}

/* New orders take version 2, which is what counts: version 1 had no Input either. */
Test(cli_deploy, warns_once_of_what_agents_no_longer_get)
{
    static const char *const before[] = {
        "Name: shop\nVersion: 1\nSteps:\n  - {Name: Pay, Agent: bank, After: []}\n",
        "Name: shop\nVersion: 2\nSteps:\n  - {Name: Pay, Agent: bank, Input: 1, After: []}\n"};
    for (uint32_t i = 0; i < 2; i++) {
        struct workflow_definition definition = {.name = TEXT("shop"),
                                                 .version = i + 1,
                                                 .text = text_of(before[i]),
                                                 .format = TEXT("yaml")};
        session_kit_append(&kit, "t.workflows", RECORD_WORKFLOW_DEFINITION, &definition);
    }
    SITE_TOPICS(kit.kafka, 1, "t.requests.bank");
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    cr_expect_str_eq(deploy(),
                     "reeve: warning: step Pay, from version 2 to 3: the agent gets the whole "
                     "order again, with lines, input and outputs, instead of what Input makes: "
                     "have its service read from those\n");
    cr_expect_str_eq(deploy(), "");
}

static uint32_t number_of(const char *text)
{
    struct error error = {0};
    workflow_file_deinit(&file);
    read_file(text);
    cr_assert_eq(workflow_file_number(kit.session.cluster->workflows, &file, &error), ERROR_OK,
                 "%s", error.message);
    return file.workflow->version;
}

Test(cli_deploy, numbers_a_file_by_the_highest_version)
{
    define(GOOD);
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
    const char *body = strstr(GOOD, "Steps");
    char text[1024];
    snprintf(text, sizeof(text), "Name: shop\nVersion: 1\n%s", body);
    cr_expect_eq(number_of(text), 3, "the same text but for the number");
    snprintf(text, sizeof(text), "Name: shop\nVersion: 1\n%s# changed\n", body);
    cr_expect_eq(number_of(text), 4);
    cr_expect(strstr(file.text, "Version: 4\n") != NULL, "%s", file.text);
    snprintf(text, sizeof(text), "Name: shop\nVersion: 9\n%s# changed\n", body);
    cr_expect_eq(number_of(text), 9, "its own is higher");
}
