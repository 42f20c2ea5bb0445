/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with a body: what is compiled of Steps and ForEach. */
#include "kit.h"

#include "base/names.h"
#include "workflow/bodies.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(workflow_bodies, compiles_a_group_of_steps)
{
    struct workflow *workflow = kit_workflow(
        "Name: trip\nVersion: 7\nTimeoutSeconds: 600\nInputShape: {n: number}\nSteps:\n"
        "  - Name: Car\n"
        "    Steps:\n"
        "      - {Name: Book, Agent: car, Compensate: {Action: Cancel}}\n"
        "      - {Name: Tell, Agent: mail, After: Book, Input: \"${input.n}\"}\n"
        "    Output: {id: \"${output.Book.id}\"}\n"
        "    Catch: [{ErrorEquals: [States.ALL], Next: $continue}]\n"
        "Output: \"${has(output.Car)}\"\n");
    const struct workflow_step *step = &workflow->steps[0];
    const struct workflow *body = step->suborders.body;
    cr_assert(!workflow->is_body && workflow->step_count == 1);
    cr_assert(step->kind == STEP_KIND_SUBORDERS && step->agent_count == 0);
    cr_assert(!step->suborders.for_each && step->suborders.items == NULL);
    cr_assert(step->suborders.list == NULL && step->suborders.stop_when == NULL);
    cr_assert(step->input == NULL && step->output == NULL);
    cr_assert_eq(step->timeout_ms, DURATION_MS_MAX);
    cr_assert_eq(step->catchers[0].next, OUTCOME_CONTINUE);
    cr_assert(text_equal(body->name, TEXT("trip/Car")) && body->version == 7 && body->is_body);
    cr_assert(body->timeout_ms == 0 && body->input_shape == NULL && body->pivot == -1);
    cr_assert_eq(body->step_count, 2);
    cr_assert(text_equal(body->steps[0].name, TEXT("Book")) && body->steps[0].has_compensate);
    cr_assert_eq(body->steps[1].after, 1);
    cr_assert_eq(body->output->kind, TEMPLATE_MAP);
}

Test(workflow_bodies, compiles_a_step_for_each_item)
{
    struct workflow *workflow = kit_workflow(
        HEAD "  - Name: A\n"
             "    TimeoutSeconds: 90\n"
             "    ForEach:\n"
             "      Comment: c\n"
             "      Items: input.parts\n"
             "      MaxConcurrency: 3\n"
             "      ToleratedFailureCount: 2\n"
             "      StopWhen: result.done\n"
             "      Priority: high\n"
             "    Input: {part: \"${item}\", nr: \"${index}\"}\n"
             "    Steps: [{Name: B, Agent: x}]\n"
             "    Output: {done: \"${output.B.done}\"}\n"
             "  - Name: C\n"
             "    ForEach: {Items: [3, {a: \"${input.n}\"}], ToleratedFailureCount: all}\n"
             "    Steps: [{Name: D, Agent: x}]\n"
             "  - Name: E\n"
             "    ForEach: {Items: [3, 7]}\n"
             "    Steps: [{Name: F, Agent: x}]\n");
    const struct workflow_step *steps = workflow->steps;
    cr_assert(steps[0].suborders.for_each && steps[0].suborders.list == NULL);
    cr_assert(text_equal(steps[0].suborders.items->source, TEXT("input.parts")));
    cr_assert_eq(steps[0].suborders.max_concurrency, 3);
    cr_assert_eq(steps[0].suborders.tolerated_failures, 2);
    cr_assert(text_equal(steps[0].suborders.stop_when->source, TEXT("result.done")));
    cr_assert(steps[0].suborders.has_priority && steps[0].suborders.priority == PRIORITY_HIGH);
    cr_assert_eq(steps[0].input->kind, TEMPLATE_MAP);
    cr_assert_eq(steps[0].timeout_ms, 90000);
    cr_assert_null(steps[0].output);
    cr_assert_not_null(steps[0].suborders.body->output);
    cr_assert(steps[1].suborders.items == NULL);
    cr_assert_eq(steps[1].suborders.list->kind, TEMPLATE_LIST);
    cr_assert_eq(steps[1].suborders.max_concurrency, 0);
    cr_assert_eq(steps[1].suborders.tolerated_failures, UINT32_MAX);
    cr_assert(!steps[1].suborders.has_priority && steps[1].suborders.stop_when == NULL);
    cr_assert_eq(steps[2].suborders.list->kind, TEMPLATE_DATA);
    cr_assert(text_equal(steps[2].suborders.list->data, TEXT("[3,7]")));
    cr_assert_eq(steps[2].suborders.tolerated_failures, 0);
}

Test(workflow_bodies, nests_them_and_names_them_by_the_way_there)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - Name: A\n"
                          "    Steps:\n"
                          "      - Name: A\n"
                          "        Steps:\n"
                          "          - {Name: A, Steps: [{Name: A, Agent: x}]}\n");
    const struct workflow *body = workflow;
    static const char *const names[] = {"w", "w/A", "w/A/A", "w/A/A/A"};
    for (int i = 0; i < ORDER_DEPTH_MAX; i++) {
        cr_assert(text_equal(body->name, text_of(names[i])) && body->is_body == (i > 0));
        body = body->steps[0].suborders.body;
    }
    cr_assert_null(body);
}

/* Defaults are those of the file; its TimeoutSeconds are not those of orders of a body. */
Test(workflow_bodies, have_the_defaults_of_their_file)
{
    struct workflow *workflow = kit_workflow(
        "Name: w\nVersion: 1\nTimeoutSeconds: 100\n"
        "Defaults:\n"
        "  TimeoutSeconds: 5\n"
        "  Retry: [{ErrorEquals: [X]}]\n"
        "  Catch: [{ErrorEquals: [Y], Next: $error}]\n"
        "  OnExhausted: error\n"
        "  Compensate: {TimeoutSeconds: 7}\n"
        "Steps:\n"
        "  - Name: A\n"
        "    Steps:\n"
        "      - {Name: B, Agent: x, Compensate: {Action: U}}\n"
        "      - {Name: C, Steps: [{Name: D, Set: 1}], Catch: [], OnExhausted: compensate}\n");
    const struct workflow_step *step = &workflow->steps[0];
    cr_assert(step->retry.count == 0 && step->catcher_count == 1);
    cr_assert(step->on_exhausted == OUTCOME_ERROR && step->timeout_ms == DURATION_MS_MAX);
    const struct workflow *body = step->suborders.body;
    cr_assert_eq(body->timeout_ms, 0);
    step = &body->steps[0];
    cr_assert(step->timeout_ms == 5000 && step->retry.count == 1 && step->catcher_count == 1);
    cr_assert(step->on_exhausted == OUTCOME_ERROR && step->compensate.timeout_ms == 7000);
    step = &body->steps[1];
    cr_assert(step->catcher_count == 0 && step->on_exhausted == OUTCOME_COMPENSATE);
    step = &step->suborders.body->steps[0];
    cr_assert(step->catcher_count == 1 && step->on_exhausted == OUTCOME_ERROR);
}

Test(workflow_bodies, may_have_a_pivot_where_nothing_of_them_can_be_called_back)
{
    struct workflow *workflow = kit_workflow(
        HEAD "  - {Name: Pay, Agent: x, Compensate: {Action: Refund}}\n"
             "  - Name: Ship\n"
             "    Pivot: true\n"
             "    Steps:\n"
             "      - {Name: Pack, Agent: x, Compensate: {Action: Unpack}}\n"
             "      - {Name: Send, Agent: x, Pivot: true}\n"
             "      - {Name: Tell, Agent: x}\n"
             "  - Name: Close\n"
             "    Steps:\n"
             "      - {Name: Book, Agent: x, Pivot: true}\n"
             "      - {Name: File, Steps: [{Name: Archive, Agent: x, Pivot: true}]}\n");
    cr_assert_eq(workflow->pivot, 1);
    cr_assert_eq(workflow->steps[1].on_exhausted, OUTCOME_ERROR);
    cr_assert_eq(workflow->steps[1].suborders.body->pivot, 1);
    const struct workflow *close = workflow->steps[2].suborders.body;
    cr_assert_eq(close->pivot, 0);
    cr_assert_eq(close->steps[1].on_exhausted, OUTCOME_ERROR);
    cr_assert_eq(close->steps[1].suborders.body->pivot, 0);
}

/* What was deployed once is compiled again without the checks of new texts. */
Test(workflow_bodies, compiles_deployed_texts)
{
    static const char source[] =
        HEAD "  - Name: A\n"
             "    ForEach: {Items: input.l, StopWhen: result > 1}\n"
             "    Steps: [{Name: B, Agent: x, When: order.currency == ''}]\n"
             "    Output: 1\n"
             "  - {Name: C, Set: \"${output.A.item}\"}\n";
    static struct workflow_problems problems;
    struct workflow *workflow = NULL;
    cr_assert(
        workflow_parse_deployed(text_of(source), WORKFLOW_YAML, kit_arena(), &problems, &workflow));
    cr_assert(problems.count == 0 && workflow->steps[0].suborders.body->is_body);
    cr_assert(!workflow_parse(text_of(source), WORKFLOW_YAML, kit_arena(), &problems, &workflow));
}

/* "Steps: [{Name: S0, Steps: [{Name: T0, Agent: x}, ...]}, ...]" */
static struct text wide_file(uint32_t bodies, uint32_t steps)
{
    static char text[WORKFLOW_BYTES_MAX];
    size_t size = (size_t)snprintf(text, sizeof(text), HEAD);
    for (uint32_t i = 0; i < bodies; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size,
                                 "  - Name: S%u\n    After: []\n    Steps:\n", i);
        for (uint32_t j = 0; j < steps; j++)
            size += (size_t)snprintf(text + size, sizeof(text) - size,
                                     "      - {Name: T%u, Agent: x}\n", j);
    }
    cr_assert(size < sizeof(text));
    return (struct text){text, (uint32_t)size};
}

Test(workflow_bodies, bounds_the_steps_of_a_file)
{
    struct parsed parsed = kit_parse(wide_file(4, 63), WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems, "");
    parsed = kit_parse(wide_file(5, 51), WORKFLOW_YAML);
    cr_assert_str_eq(parsed.problems,
                     "223:7: error: a file has at most 256 steps with those of its bodies, and "
                     "these are more: move a part to a workflow of its own\n");
    parsed = kit_parse(wide_file(64, 5), WORKFLOW_YAML); /* once */
    cr_assert(strstr(parsed.problems, "256 steps") != NULL);
    cr_assert_eq(strchr(parsed.problems, '\n')[1], '\0');
}

/* `step` letters in each of three levels. */
static const char *problems_of_names(uint32_t step, const char *more)
{
    static char text[2048];
    char name[65] = {0};
    memset(name, 'a', step);
    snprintf(text, sizeof(text),
             HEAD "  - Name: %s%s\n"
                  "    Steps:\n"
                  "      - Name: %s\n"
                  "        Steps:\n"
                  "          - {Name: %s, Steps: [{Name: Z, Agent: x}]}\n",
             name, more, name, name);
    return kit_yaml(text).problems;
}

Test(workflow_bodies, bounds_the_names_of_bodies)
{
    /* w/ + 59 + / + 59 + / + 59 = 181 */
    cr_assert_null(strstr(problems_of_names(59, ""), "error"));
    const char *found = problems_of_names(60, "");
    cr_assert_not_null(strstr(found, "8:20: error: the body of step "), "%s", found);
    cr_assert_not_null(strstr(found, "..., a name of 184 bytes; the limit is 181: shorten the "
                                     "names of steps\n"));
}

Test(workflow_bodies, warns_of_ids_that_leave_no_room)
{
    /* ~ + name + ~~9 for each level, and ~999 for one with items. */
    cr_assert_str_eq(problems_of_names(17, ""), "");
    const char *found = problems_of_names(18, "");
    cr_assert_not_null(strstr(found, "8:20: warning: the ids of the sub-orders of step "
                                     "aaaaaaaaaaaaaaaaaa add up to 66 bytes to the order's id, "
                                     "which leaves 62 bytes for it: shorten the names of steps\n"),
                       "%s", found);
    found = problems_of_names(17, "\n    ForEach: {Items: [1]}");
    cr_assert_not_null(strstr(found, "9:20: warning: "), "%s", found);
    found = problems_of_names(61, ""); /* once, and without a negative number */
    cr_assert_not_null(strstr(found, "4:11: warning: "), "%s", found);
    cr_assert_null(strstr(strstr(found, "warning") + 1, "warning"), "%s", found);
}

Test(workflow_bodies, are_found_in_their_own_file_alone)
{
    struct workflow *file =
        kit_workflow(HEAD "  - {Name: A, Steps: [{Name: B, Steps: [{Name: C, Agent: x}]}]}\n"
                          "  - {Name: D, Steps: [{Name: C, Agent: x}]}\n");
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    static const char *const names[] = {"w", "w/A", "w/A/B", "w/D"};
    cr_assert_eq(workflow_list_file(file, workflows), 4);
    for (int i = 0; i < 4; i++) {
        cr_expect(text_equal(workflows[i]->name, text_of(names[i])));
        cr_expect_eq(workflow_find_in_file(file, text_of(names[i])), workflows[i]);
        cr_expect(text_equal(workflow_name_file(text_of(names[i])), TEXT("w")));
    }
    cr_assert_null(workflow_find_in_file(file, TEXT("v/A")));
    cr_assert_null(workflow_find_in_file(file, TEXT("v")));
    cr_assert_null(workflow_find_in_file(file, TEXT("")));
}
