/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of versions: which record comes next, and which change is refused. */
#include "workflow/lifecycle.h"

#include "base/heap_arena.h"
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct workflow_registry *registry;
static struct heap_arena heap;
static struct workflow_problems problems;

static void open_registry(void)
{
    registry = workflow_registry_new();
    heap_arena_init(&heap, 4096);
}

static void close_registry(void)
{
    workflow_registry_free(registry);
    heap_arena_deinit(&heap);
}

TestSuite(workflow_lifecycle, .init = open_registry, .fini = close_registry);

static struct workflow_deployment deployment_of(uint32_t version, const char *agent, bool activate)
{
    char source[256];
    struct workflow *workflow = NULL;
    snprintf(source, sizeof(source), "Name: w\nVersion: %u\nSteps: [{Name: A, Agent: %s}]\n",
             version, agent);
    struct text text = arena_text(&heap.arena, text_of(source));
    cr_assert(workflow_parse(text, WORKFLOW_YAML, &heap.arena, &problems, &workflow));
    return (struct workflow_deployment){.workflow = workflow, .text = text, .activate = activate};
}

static void activate(uint32_t version, bool active)
{
    struct error error;
    struct workflow_activation activation = {.name = TEXT("w"),
                                             .version = version,
                                             .active = active,
                                             .by = TEXT("ann"),
                                             .reason = TEXT("tested")};
    cr_assert(workflow_registry_activate(registry, &activation, &error) == ERROR_OK);
}

/* Does what the steps say, as the topic's readers will, and returns them as letters. */
static const char *deploy(struct workflow_deployment *deployment)
{
    static char letters[8];
    struct error error;
    enum workflow_deployment_step step;
    uint32_t version;
    size_t count = 0;
    for (;;) {
        cr_assert(workflow_deployment_next(registry, deployment, &step, &version, &error) ==
                      ERROR_OK,
                  "%s", error.message);
        cr_assert_lt(count, sizeof(letters) - 1);
        letters[count] = "KDAR."[step];
        letters[++count] = '\0';
        if (step == DEPLOYMENT_DONE)
            return letters;
        if (step == DEPLOYMENT_DEFINE) {
            struct workflow_definition definition = {.name = TEXT("w"),
                                                     .version = version,
                                                     .text = deployment->text,
                                                     .format = TEXT("yaml")};
            cr_assert(workflow_registry_add(registry, &definition, &error) == ERROR_OK);
            deployment->is_new = true;
        } else {
            cr_assert_gt(workflow_deployment_reason(step).size, 0);
            activate(version, step != DEPLOYMENT_RETIRE);
        }
    }
}

static const char *refusal(enum workflow_change change, const char *name, uint32_t version)
{
    static struct error error;
    const struct workflow_entry *entry = NULL;
    error = (struct error){0};
    if (workflow_lifecycle_check(registry, change, text_of(name), version, &entry, &error) ==
        ERROR_OK)
        return "";
    cr_assert_null(entry);
    return error_name_of(&error);
}

Test(workflow_lifecycle, deploys_with_the_records_that_are_needed)
{
    struct workflow_deployment first = deployment_of(1, "x", true);
    cr_expect_str_eq(deploy(&first), "D.");
    cr_expect_str_eq(workflow_deployment_result(registry, &first), "deployed, active");
    struct workflow_deployment again = deployment_of(1, "x", false);
    cr_expect_str_eq(deploy(&again), ".");
    cr_expect_str_eq(workflow_deployment_result(registry, &again), "already deployed, active");
    struct workflow_deployment second = deployment_of(2, "x", false);
    cr_expect_str_eq(deploy(&second), "KD.");
    cr_expect_str_eq(workflow_deployment_result(registry, &second), "deployed, not active");
    struct workflow_deployment third = deployment_of(3, "x", true);
    cr_expect_str_eq(deploy(&third), "DA.");
    cr_expect_str_eq(workflow_deployment_result(registry, &third), "deployed, active");
}

Test(workflow_lifecycle, retires_a_first_version_that_is_not_to_be_active)
{
    struct workflow_deployment first = deployment_of(1, "x", false);
    cr_expect_str_eq(deploy(&first), "DR.");
    cr_expect_str_eq(workflow_deployment_result(registry, &first), "deployed, not active");
    cr_expect(workflow_registry_entry(registry, TEXT("w"), 1)->retired);
}

Test(workflow_lifecycle, refuses_other_content_and_broken_first_definitions)
{
    struct error error;
    enum workflow_deployment_step step;
    uint32_t version;
    struct workflow_deployment first = deployment_of(1, "x", true);
    deploy(&first);
    struct workflow_deployment other = deployment_of(1, "y", true);
    cr_assert_eq(workflow_deployment_next(registry, &other, &step, &version, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_OTHER_CONTENT);
    struct workflow_definition broken = {
        .name = TEXT("w"), .version = 2, .text = TEXT("Name: w\n"), .format = TEXT("yaml")};
    cr_assert_eq(workflow_registry_add(registry, &broken, &error), ERROR_REJECT);
    struct workflow_deployment second = deployment_of(2, "x", true);
    cr_assert_eq(workflow_deployment_next(registry, &second, &step, &version, &error),
                 ERROR_REJECT);
    cr_assert_eq(error.code, CODE_BAD_WORKFLOW);
}

Test(workflow_lifecycle, gives_the_reason_of_each_refusal)
{
    struct workflow_deployment first = deployment_of(1, "x", true);
    struct workflow_deployment second = deployment_of(2, "x", true);
    cr_expect_str_eq(refusal(WORKFLOW_ROLLBACK, "w", 0), "UnknownWorkflow");
    deploy(&first);
    cr_expect_str_eq(refusal(WORKFLOW_ACTIVATE, "w", 1), "", "it was not chosen yet");
    activate(1, true);
    cr_expect_str_eq(refusal(WORKFLOW_ACTIVATE, "w", 1), "AlreadyActive");
    cr_expect_str_eq(refusal(WORKFLOW_ROLLBACK, "w", 0), "NoPreviousVersion");
    cr_expect_str_eq(refusal(WORKFLOW_RETIRE, "w", 2), "UnknownWorkflow");
    cr_expect_str_eq(refusal(WORKFLOW_ACTIVATE, "v", 1), "UnknownWorkflow");
    deploy(&second);
    cr_expect_str_eq(refusal(WORKFLOW_ROLLBACK, "w", 0), "");
    activate(1, false);
    cr_expect_str_eq(refusal(WORKFLOW_RETIRE, "w", 1), "AlreadyRetired");
    cr_expect_str_eq(refusal(WORKFLOW_ACTIVATE, "w", 1), "");
    cr_expect_str_eq(refusal(WORKFLOW_ROLLBACK, "w", 0), "NoPreviousVersion");
}

static bool retired_active(uint32_t version, char warning[ERROR_MESSAGE_SIZE])
{
    const struct workflow_entry *entry = workflow_registry_entry(registry, TEXT("w"), version);
    return workflow_lifecycle_retired_active(registry, entry, warning, ERROR_MESSAGE_SIZE);
}

static bool is_active(uint32_t version)
{
    return workflow_lifecycle_is_active(registry,
                                        workflow_registry_entry(registry, TEXT("w"), version));
}

Test(workflow_lifecycle, leaves_no_version_active_when_the_active_one_is_retired)
{
    char warning[ERROR_MESSAGE_SIZE] = "";
    struct workflow_deployment first = deployment_of(1, "x", true);
    struct workflow_deployment second = deployment_of(2, "y", true);
    deploy(&first);
    deploy(&second);
    activate(1, false);
    cr_assert(is_active(2) && !is_active(1));
    cr_assert_not(retired_active(1, warning));
    cr_assert_not(retired_active(2, warning));
    activate(1, true);
    activate(1, false);
    cr_assert(!is_active(1) && !is_active(2));
    cr_assert(retired_active(1, warning));
    cr_assert_not_null(strstr(warning, "w:1 was the active version: new orders that name no "
                                       "version are refused"),
                       "%s", warning);
    activate(2, true);
    cr_assert(is_active(2));
    cr_assert_not(retired_active(1, warning));
}

Test(workflow_lifecycle, lists_the_agents_of_a_file_with_its_bodies)
{
    struct text names[WORKFLOW_FILE_AGENTS_MAX];
    struct workflow *workflow = kit_workflow(
        HEAD "  - {Name: A, Agents: [x, y]}\n"
             "  - {Name: B, Steps: [{Name: C, Agent: z}, {Name: D, Steps: [{Name: E, Agents: [y, "
             "u]}]}]}\n"
             "  - {Name: F, Agent: v}\n");
    static const char *const expected[] = {"x", "y", "v", "z", "u"};
    cr_assert_eq(workflow_agents(workflow, names), 5);
    for (int i = 0; i < 5; i++)
        cr_expect(text_equal(names[i], text_of(expected[i])), "%d: %.*s", i, TEXT_ARG(names[i]));
}
