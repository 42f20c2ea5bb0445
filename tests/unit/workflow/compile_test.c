/* SPDX-License-Identifier: Apache-2.0 */
/* The result of compiling valid files: defaults, inheritance, the graph, the pivot. */
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

Test(workflow_compile, fills_in_every_default_of_the_shortest_workflow)
{
    struct workflow *workflow = kit_workflow("Name: w\nVersion: 3\nSteps: [{Name: A, Agent: x}]\n");
    cr_assert(text_equal(workflow->name, TEXT("w")) && workflow->version == 3);
    cr_assert(workflow->timeout_ms == 0 && workflow->pivot == -1 && workflow->step_count == 1);
    const struct workflow_step *step = &workflow->steps[0];
    cr_assert(text_equal(step->name, TEXT("A")) && text_equal(step->agents[0], TEXT("x")));
    cr_assert(step->after == 0 && step->timeout_ms == 60000);
    cr_assert(step->retry.count == 0 && step->catcher_count == 0);
    cr_assert(!step->has_compensate && !step->pivot);
    cr_assert(step->on_exhausted == OUTCOME_COMPENSATE);
}

Test(workflow_compile, reads_agents_and_extensions)
{
    struct workflow *workflow = kit_workflow(
        HEAD "  - {Name: A, Agents: [x, y], TimeoutSeconds: 5, MaxExtensionSeconds: 60.5,\n"
             "     Compensate: {Action: U, MaxExtensionSeconds: 7}}\n"
             "  - {Name: B, Agents: [z], MaxExtensionSeconds: 0}\n"
             "  - {Name: C, Agent: x, Compensate: {Action: V}}\n");
    const struct workflow_step *steps = workflow->steps;
    cr_assert_eq(steps[0].agent_count, 2);
    cr_assert(text_equal(steps[0].agents[0], TEXT("x")));
    cr_assert(text_equal(steps[0].agents[1], TEXT("y")));
    cr_assert_eq(steps[0].max_extension_ms, 60500);
    cr_assert_eq(steps[0].compensate.max_extension_ms, 7000);
    cr_assert_eq(steps[1].agent_count, 1);
    cr_assert(text_equal(steps[1].agents[0], TEXT("z")));
    cr_assert_eq(steps[1].max_extension_ms, 0);
    cr_assert_eq(steps[2].agent_count, 1);
    cr_assert_eq(steps[2].compensate.max_extension_ms, 0);
}

Test(workflow_compile, reads_retriers_and_fills_in_their_defaults)
{
    struct workflow *workflow = kit_workflow(HEAD "  - Name: A\n    Agent: x\n    Retry:\n"
                                                  "      - ErrorEquals: [X]\n"
                                                  "      - ErrorEquals: [States.Timeout, 'Y']\n"
                                                  "        IntervalSeconds: 0.25\n"
                                                  "        BackoffRate: 1.5\n"
                                                  "        MaxAttempts: 7\n"
                                                  "        MaxDelaySeconds: 12.001\n"
                                                  "        JitterStrategy: NONE\n");
    const struct retry_policy *policy = &workflow->steps[0].retry;
    cr_assert(policy->count == 2);
    const struct retrier *retrier = &policy->retriers[0];
    cr_assert(retrier->errors.count == 1 && text_equal(retrier->errors.names[0], TEXT("X")));
    cr_assert(retrier->interval_ms == 1000 && retrier->backoff_rate_milli == 2000);
    cr_assert(retrier->max_attempts == 3 && retrier->max_delay_ms == 0);
    cr_assert(retrier->jitter == JITTER_FULL);
    retrier = &policy->retriers[1];
    cr_assert(retrier->errors.count == 2 && text_equal(retrier->errors.names[1], TEXT("Y")));
    cr_assert(retrier->interval_ms == 250 && retrier->backoff_rate_milli == 1500);
    cr_assert(retrier->max_attempts == 7 && retrier->max_delay_ms == 12001);
    cr_assert(retrier->jitter == JITTER_NONE);
}

Test(workflow_compile, inherits_defaults_unless_a_step_overrides_them)
{
    struct workflow *workflow =
        kit_workflow("Name: w\nVersion: 1\n"
                     "Defaults:\n"
                     "  TimeoutSeconds: 4\n"
                     "  Retry: [{ErrorEquals: [States.ALL], MaxAttempts: 9}]\n"
                     "  Catch: [{ErrorEquals: [X], Next: $error}]\n"
                     "  OnExhausted: error\n"
                     "Steps:\n"
                     "  - {Name: A, Agent: x}\n"
                     "  - Name: B\n"
                     "    Agent: x\n"
                     "    TimeoutSeconds: 5\n"
                     "    Retry: []\n"
                     "    Catch: []\n"
                     "    OnExhausted: compensate\n");
    const struct workflow_step *step = &workflow->steps[0];
    cr_assert(step->timeout_ms == 4000 && step->retry.count == 1 && step->catcher_count == 1);
    cr_assert(step->retry.retriers[0].max_attempts == 9);
    cr_assert(step->catchers[0].next == OUTCOME_ERROR && step->on_exhausted == OUTCOME_ERROR);
    step = &workflow->steps[1];
    cr_assert(step->timeout_ms == 5000 && step->retry.count == 0 && step->catcher_count == 0);
    cr_assert(step->on_exhausted == OUTCOME_COMPENSATE);
}

Test(workflow_compile, gives_an_undo_more_retries_than_its_step)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - Name: A\n    Agent: x\n    TimeoutSeconds: 7\n"
                          "    Compensate: {Action: Undo}\n");
    const struct workflow_step *step = &workflow->steps[0];
    cr_assert(step->has_compensate && text_equal(step->compensate.action, TEXT("Undo")));
    cr_assert(step->compensate.timeout_ms == 7000 && step->compensate.retry.count == 1);
    const struct retrier *retrier = &step->compensate.retry.retriers[0];
    cr_assert(text_equal(retrier->errors.names[0], TEXT(ERROR_ALL)));
    cr_assert(retrier->max_attempts == 5 && retrier->backoff_rate_milli == 2000);
}

Test(workflow_compile, inherits_undo_settings_from_the_defaults)
{
    struct workflow *workflow = kit_workflow(
        "Name: w\nVersion: 1\n"
        "Defaults:\n"
        "  Retry: [{ErrorEquals: [X]}]\n"
        "  Compensate:\n"
        "    TimeoutSeconds: 30\n"
        "    Retry: [{ErrorEquals: [States.ALL], MaxAttempts: 20}]\n"
        "Steps:\n"
        "  - {Name: A, Agent: x, TimeoutSeconds: 7, Compensate: {Action: U}}\n"
        "  - {Name: B, Agent: x, Compensate: {Action: V, TimeoutSeconds: 8, Retry: []}}\n");
    cr_assert(workflow->steps[0].compensate.timeout_ms == 30000);
    cr_assert(workflow->steps[0].compensate.retry.retriers[0].max_attempts == 20);
    cr_assert(workflow->steps[1].compensate.timeout_ms == 8000);
    cr_assert(workflow->steps[1].compensate.retry.count == 0);
}

Test(workflow_compile, resolves_predecessors)
{
    struct workflow *workflow = kit_workflow(HEAD "  - {Name: A, Agent: x}\n"
                                                  "  - {Name: B, Agent: x}\n"
                                                  "  - {Name: C, Agent: x, After: []}\n"
                                                  "  - {Name: D, Agent: x, After: B}\n"
                                                  "  - {Name: E, Agent: x, After: [F, A]}\n"
                                                  "  - {Name: F, Agent: x, After: [D]}\n");
    static const uint64_t expected[] = {0, 1, 0, 2, 1 | 32, 8};
    for (uint32_t i = 0; i < 6; i++)
        cr_assert(workflow->steps[i].after == expected[i], "step %u", i);
}

Test(workflow_compile, never_compensates_from_the_pivot_on)
{
    struct workflow *workflow = kit_workflow(
        "Name: w\nVersion: 1\n"
        "Defaults: {OnExhausted: compensate, Catch: [{ErrorEquals: [X], Next: $compensate}]}\n"
        "Steps:\n"
        "  - {Name: A, Agent: x, Compensate: {Action: U}}\n"
        "  - {Name: B, Agent: x, Pivot: true}\n"
        "  - {Name: C, Agent: x}\n");
    const struct workflow_step *steps = workflow->steps;
    cr_assert(workflow->pivot == 1 && steps[1].pivot);
    cr_assert(steps[0].on_exhausted == OUTCOME_COMPENSATE);
    cr_assert(steps[1].on_exhausted == OUTCOME_ERROR);
    cr_assert(steps[2].on_exhausted == OUTCOME_ERROR);
    /* If the pivot ends with effect none, the order can still be compensated. */
    cr_assert(steps[0].catchers[0].next == OUTCOME_COMPENSATE);
    cr_assert(steps[1].catchers[0].next == OUTCOME_COMPENSATE);
    cr_assert(steps[2].catchers[0].next == OUTCOME_ERROR);
}

Test(workflow_compile, lets_the_pivot_request_compensation)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - {Name: A, Agent: x, Pivot: true, OnExhausted: compensate}\n");
    cr_assert(workflow->steps[0].on_exhausted == OUTCOME_COMPENSATE);
}

Test(workflow_compile, accepts_64_steps_and_rejects_65)
{
    char source[WORKFLOW_STEPS_MAX * 32 + 64];
    size_t size = (size_t)snprintf(source, sizeof(source), HEAD);
    for (int i = 0; i < WORKFLOW_STEPS_MAX; i++)
        size += (size_t)snprintf(source + size, sizeof(source) - size,
                                 "  - {Name: S%d, Agent: x}\n", i);
    struct workflow *workflow = kit_workflow(source);
    cr_assert(workflow->step_count == WORKFLOW_STEPS_MAX);
    cr_assert(workflow->steps[63].after == UINT64_C(1) << 62);
    snprintf(source + size, sizeof(source) - size, "  - {Name: X, Agent: x}\n");
    cr_assert_str_eq(kit_yaml(source).problems,
                     "4:3: error: Steps has 65 steps; it must have 1 to 64\n");
}

Test(workflow_compile, compiles_json)
{
    struct parsed parsed = kit_parse(
        TEXT("{\n\t\"Name\": \"w\",\n\t\"Version\": 1,\n"
             "\t\"Comment\": \"tabs \\/ \\\"quotes\\\" \\u00e9\",\n"
             "\t\"Steps\": [{\"Name\": \"A\", \"Agent\": \"x\", \"TimeoutSeconds\": 0.5,\n"
             "\t\t\"After\": [], \"Pivot\": false}]\n}\n"),
        WORKFLOW_JSON);
    cr_assert_str_eq(parsed.problems, "");
    cr_assert(parsed.workflow->steps[0].timeout_ms == 500);
    parsed = kit_parse(TEXT("{\"Name\": \"w\",\n \"Version\": \"1\", \"Steps\": [\n"
                            "  {\"Name\": \"A\", \"Agnet\": \"x\"}]}"),
                       WORKFLOW_JSON);
    cr_assert_str_eq(
        parsed.problems,
        "2:13: error: Version must be a whole number, not a text (1): leave out the quotes\n"
        "3:3: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
        "3:17: error: Agnet is an unknown field of a step: did you mean Agent?\n",
        "%s", parsed.problems);
}

Test(workflow_compile, rejects_yaml_as_json)
{
    struct parsed parsed = kit_parse(TEXT("Name: w\n"), WORKFLOW_JSON);
    cr_assert(parsed.workflow == NULL);
    cr_assert(strncmp(parsed.problems, "1:", 2) == 0 && strstr(parsed.problems, "not valid JSON"));
    parsed = kit_parse(TEXT("{\"Name\": \"w\",\n}"), WORKFLOW_JSON);
    cr_assert(strncmp(parsed.problems, "2:", 2) == 0, "%s", parsed.problems);
}

Test(workflow_compile, derives_the_format_from_the_file_name)
{
    cr_assert(workflow_format_of("a/b.json") == WORKFLOW_JSON);
    cr_assert(workflow_format_of("a.json/b.yaml") == WORKFLOW_YAML);
    cr_assert(workflow_format_of("b") == WORKFLOW_YAML);
    cr_assert_str_eq(workflow_format_name(WORKFLOW_YAML), "yaml");
    cr_assert_str_eq(workflow_format_name(WORKFLOW_JSON), "json");
}

Test(workflow_compile, compiles_the_examples_without_errors)
{
    const char *root = getenv("REEVE_SOURCE_DIR");
    if (root == NULL)
        cr_skip_test("REEVE_SOURCE_DIR is not set");
    char pattern[4096];
    glob_t found = {0};
    snprintf(pattern, sizeof(pattern), "%s/examples/workflows/*.yaml", root);
    cr_assert(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc >= 3);
    snprintf(pattern, sizeof(pattern), "%s/examples/cookbook/*.yaml", root);
    cr_assert(glob(pattern, GLOB_APPEND, NULL, &found) == 0 && found.gl_pathc >= 13);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        static char text[WORKFLOW_BYTES_MAX];
        if (string_ends_with(found.gl_pathv[i], ".test.yaml"))
            continue;
        FILE *file = fopen(found.gl_pathv[i], "r");
        cr_assert(file != NULL);
        size_t size = fread(text, 1, sizeof(text), file);
        fclose(file);
        struct parsed parsed = kit_parse((struct text){text, (uint32_t)size}, WORKFLOW_YAML);
        cr_assert_str_eq(parsed.problems, "", "%s: %s", found.gl_pathv[i], parsed.problems);
    }
    globfree(&found);
}
