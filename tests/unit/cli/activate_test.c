/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow activate`, `rollback` and `retire`: what they print. */
#include "cli/workflow/verbs.h"
#include "tests/unit/cli/session_kit.h"

#include <criterion/criterion.h>
#include <string.h>

static struct session_kit kit;

static void define(uint32_t version, const char *text)
{
    struct workflow_definition definition = {
        .name = TEXT("shop"), .version = version, .text = text_of(text), .format = TEXT("yaml")};
    session_kit_append(&kit, "t.workflows", RECORD_WORKFLOW_DEFINITION, &definition);
}

static void open_kit(void)
{
    session_kit_init(&kit);
    define(1, "Name: shop\nVersion: 1\nSteps:\n  - {Name: Pay, Agent: bank, After: []}\n");
    define(2, "Name: shop\nVersion: 2\nSteps:\n  - {Name: Pay, Agent: bank, After: []}\n");
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
}

static void close_kit(void)
{
    session_kit_deinit(&kit);
}

TestSuite(cli_activate, .init = open_kit, .fini = close_kit, .timeout = 120);

/* The command is carried out and prints `result`, and on stderr `warning` ("": nothing). */
static void expect(const char *verb, enum workflow_change change, uint32_t version,
                   const char *result, const char *warning)
{
    const struct cli_flag reason = {.name = "reason"};
    struct cli_given given[] = {{&reason, "it charges twice"}};
    size_t printed = kit.out_size;
    size_t warned = kit.err_size;
    kit.cli.noun = &cli_workflow;
    kit.cli.verb = cli_find_verb(&cli_workflow, verb);
    kit.cli.given = given;
    kit.cli.given_count = 1;
    cr_assert_eq(workflow_change_run(&kit.cli, &kit.session, change, TEXT("shop"), version),
                 EXIT_CODE_OK);
    session_kit_flush(&kit);
    cr_assert_not_null(strstr(kit.out + printed, result), "%s", kit.out);
    if (warning[0] == '\0')
        cr_assert_eq(kit.err_size, warned, "%s", kit.err + warned);
    else
        cr_assert_not_null(strstr(kit.err + warned, warning), "%s", kit.err + warned);
}

/* As deploy does, where a version is not activated at once. */
Test(cli_activate, warns_of_what_agents_no_longer_get)
{
    static const char warning[] = "step Pay, from version 2 to 3: the agent no longer gets";
    define(3, "Name: shop\nVersion: 3\nSteps:\n  - {Name: Pay, Agent: bank, Input: 1}\n");
    expect("activate", WORKFLOW_ACTIVATE, 2, "active", "");
    expect("activate", WORKFLOW_ACTIVATE, 3, "active", warning);
    expect("rollback", WORKFLOW_ROLLBACK, 0, "active", "step Pay, from version 3 to 2: ");
    expect("retire", WORKFLOW_RETIRE, 3, "retired", "");
}

Test(cli_activate, warns_only_when_the_active_version_is_retired)
{
    expect("retire", WORKFLOW_RETIRE, 1, "retired", "");
    expect("activate", WORKFLOW_ACTIVATE, 1, "active", "");
    expect("retire", WORKFLOW_RETIRE, 1, "retired",
           "shop:1 was the active version: new orders that name no version are refused until "
           "`reeve workflow rollback shop` or `activate` chooses another one");
    expect("rollback", WORKFLOW_ROLLBACK, 0, "active", "");
    expect("retire", WORKFLOW_RETIRE, 2, "retired", "shop:2 was the active version");
}
