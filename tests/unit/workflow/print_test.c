/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled form as JSON: golden, and back again. */
#include "workflow/workflow_print.h"

#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>

static const char full[] =
    "# a comment\n"
    "Comment: not part of what is compiled\n"
    "Name: w\nVersion: 2\nTimeoutSeconds: 600.5\n"
    "Defaults:\n"
    "  Retry: [{ErrorEquals: [States.ALL], IntervalSeconds: 0.2, MaxDelaySeconds: 3.125}]\n"
    "Steps:\n"
    "  - {Name: A, Agent: x, Compensate: {Action: U, Retry: []}}\n"
    "  - {Name: B, Agent: y, After: [], Catch: [{ErrorEquals: ['\"\\'], Next: $error}]}\n"
    "  - {Name: C, Agent: z, After: [B, A], Pivot: true, TimeoutSeconds: 0.001, Retry: []}\n";

static const char printed[] = "{\n"
                              "  \"Name\": \"w\",\n"
                              "  \"Version\": 2,\n"
                              "  \"TimeoutSeconds\": 600.5,\n"
                              "  \"Steps\": [\n"
                              "    {\n"
                              "      \"Name\": \"A\",\n"
                              "      \"Agent\": \"x\",\n"
                              "      \"After\": [],\n"
                              "      \"TimeoutSeconds\": 60,\n"
                              "      \"Retry\": [\n"
                              "        {\n"
                              "          \"ErrorEquals\": [\n"
                              "            \"States.ALL\"\n"
                              "          ],\n"
                              "          \"IntervalSeconds\": 0.2,\n"
                              "          \"BackoffRate\": 2,\n"
                              "          \"MaxAttempts\": 3,\n"
                              "          \"MaxDelaySeconds\": 3.125,\n"
                              "          \"JitterStrategy\": \"FULL\"\n"
                              "        }\n"
                              "      ],\n"
                              "      \"Catch\": [],\n"
                              "      \"Compensate\": {\n"
                              "        \"Action\": \"U\",\n"
                              "        \"TimeoutSeconds\": 60,\n"
                              "        \"Retry\": []\n"
                              "      },\n"
                              "      \"Pivot\": false,\n"
                              "      \"OnExhausted\": \"compensate\"\n"
                              "    },\n"
                              "    {\n"
                              "      \"Name\": \"B\",\n"
                              "      \"Agent\": \"y\",\n"
                              "      \"After\": [],\n"
                              "      \"TimeoutSeconds\": 60,\n"
                              "      \"Retry\": [\n"
                              "        {\n"
                              "          \"ErrorEquals\": [\n"
                              "            \"States.ALL\"\n"
                              "          ],\n"
                              "          \"IntervalSeconds\": 0.2,\n"
                              "          \"BackoffRate\": 2,\n"
                              "          \"MaxAttempts\": 3,\n"
                              "          \"MaxDelaySeconds\": 3.125,\n"
                              "          \"JitterStrategy\": \"FULL\"\n"
                              "        }\n"
                              "      ],\n"
                              "      \"Catch\": [\n"
                              "        {\n"
                              "          \"ErrorEquals\": [\n"
                              "            \"\\\"\\\\\"\n"
                              "          ],\n"
                              "          \"Next\": \"$error\"\n"
                              "        }\n"
                              "      ],\n"
                              "      \"Pivot\": false,\n"
                              "      \"OnExhausted\": \"compensate\"\n"
                              "    },\n"
                              "    {\n"
                              "      \"Name\": \"C\",\n"
                              "      \"Agent\": \"z\",\n"
                              "      \"After\": [\n"
                              "        \"A\",\n"
                              "        \"B\"\n"
                              "      ],\n"
                              "      \"TimeoutSeconds\": 0.001,\n"
                              "      \"Retry\": [],\n"
                              "      \"Catch\": [],\n"
                              "      \"Pivot\": true,\n"
                              "      \"OnExhausted\": \"error\"\n"
                              "    }\n"
                              "  ]\n"
                              "}\n";

Test(workflow_print, everything_is_said)
{
    struct text text = workflow_print(kit_workflow(full), kit_arena());
    cr_assert(text_equal(text, TEXT(printed)), "%.*s", TEXT_ARG(text));
}

Test(workflow_print, what_is_printed_compiles_to_the_same)
{
    struct workflow *workflow = kit_workflow(full);
    struct text text = workflow_print(workflow, kit_arena());
    struct parsed again = kit_parse(text, WORKFLOW_JSON);
    cr_assert_str_eq(again.problems, "");
    cr_assert(text_equal(workflow_print(again.workflow, kit_arena()), text));
    struct content_hash first = workflow_hash(workflow);
    struct content_hash second = workflow_hash(again.workflow);
    cr_assert(memcmp(&first, &second, sizeof(first)) == 0);
}

Test(workflow_print, the_longest_times_are_exact)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 31622399.999}\n");
    cr_assert(workflow->steps[0].timeout_ms == DURATION_MS_MAX - 1);
    struct parsed again = kit_parse(workflow_print(workflow, kit_arena()), WORKFLOW_JSON);
    cr_assert(again.workflow != NULL);
    cr_assert(again.workflow->steps[0].timeout_ms == DURATION_MS_MAX - 1);
}

Test(workflow_print, equal_definitions_have_equal_hashes)
{
    struct content_hash hash = workflow_hash(kit_workflow(HEAD "  - {Name: A, Agent: x}\n"));
    struct content_hash same = workflow_hash(
        kit_workflow("{Version: 1, Comment: other,\n Steps: [{Agent: x, TimeoutSeconds: 60.000, "
                     "Name: A}], Name: 'w'}"));
    struct content_hash other =
        workflow_hash(kit_workflow(HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 61}\n"));
    cr_assert(memcmp(&hash, &same, sizeof(hash)) == 0);
    cr_assert(memcmp(&hash, &other, sizeof(hash)) != 0);
}

Test(workflow_print, several_agents_and_extensions_are_kept)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - {Name: A, Agents: [x, y], MaxExtensionSeconds: 60.5,\n"
                          "     Compensate: {Action: U, MaxExtensionSeconds: 7}}\n");
    struct text text = workflow_print(workflow, kit_arena());
    struct parsed again = kit_parse(text, WORKFLOW_JSON);
    cr_assert_str_eq(again.problems, "");
    const struct workflow_step *step = &again.workflow->steps[0];
    cr_assert(step->agent_count == 2 && text_equal(step->agents[1], TEXT("y")));
    cr_assert_eq(step->max_extension_ms, 60500);
    cr_assert_eq(step->compensate.max_extension_ms, 7000);
    cr_assert(text_equal(workflow_print(again.workflow, kit_arena()), text));
}

/* One agent, however it is named, is what it was before there could be several: what is deployed
 * keeps its hash. */
Test(workflow_print, one_agent_is_one_agent)
{
    struct content_hash one = workflow_hash(kit_workflow(HEAD "  - {Name: A, Agent: x}\n"));
    struct content_hash list =
        workflow_hash(kit_workflow(HEAD "  - {Name: A, Agents: [x], MaxExtensionSeconds: 0}\n"));
    struct content_hash two = workflow_hash(kit_workflow(HEAD "  - {Name: A, Agents: [x, y]}\n"));
    struct content_hash turned =
        workflow_hash(kit_workflow(HEAD "  - {Name: A, Agents: [y, x]}\n"));
    cr_assert(memcmp(&one, &list, sizeof(one)) == 0);
    cr_assert(memcmp(&one, &two, sizeof(one)) != 0);
    cr_assert(memcmp(&two, &turned, sizeof(one)) != 0);
}
