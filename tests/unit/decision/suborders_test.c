/* SPDX-License-Identifier: Apache-2.0 */
/* What the expressions of a step of sub-orders decide: Items, Input, StopWhen. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(decision_suborders);

#define BODY "  Steps: [{Name: A, Agent: agent}]\n"
#define OUTPUT "  Output: ${output.A}\n"
#define STARTED "OrderAccepted OrderStarted SubordersStarted"

Test(decision_suborders, have_the_input_that_is_made_of_their_item)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: input.l, MaxConcurrency: 1}\n"
                  "  Input: {n: '${item.n}', i: '${index}'}\n" BODY,
             NULL,
             "submit with {\"l\":[{\"n\":7},{\"n\":8}]} => " STARTED
             "(W do 1 x2 [{\"n\":7},{\"n\":8}]) "
             "SubordersSubmitted(W do 1 0={\"i\":0,\"n\":7} +3600000)\n"
             "messages submit o-1~W~0 with {\"i\":0,\"n\":7}\n"
             "report W.0 final with {} => SuborderEnded(W 0 final {}) "
             "SubordersSubmitted(W do 1 1={\"i\":1,\"n\":8} +3600000)\n"
             "messages submit o-1~W~1 with {\"i\":1,\"n\":8}\n"
             "report W.1 final => SuborderEnded(W 1 final) StepSucceeded(W do 1) OrderProcessed\n"
             "output W {\"failed\":0,\"items\":[{},null],\"processed\":2}\n");
}

Test(decision_suborders, have_the_steps_input_without_items)
{
    kit_tell(HEAD "- Name: W\n"
                  "  Input: {n: '${input.n + 1}'}\n" BODY,
             NULL,
             "submit with {\"n\":7} => " STARTED
             "(W do 1 x1) SubordersSubmitted(W do 1 -1={\"n\":8} +3600000)\n"
             "messages submit o-1~W with {\"n\":8}\n");
}

Test(decision_suborders, whose_input_cannot_be_made_have_failed)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: [{n: 1}, {}, {n: 3}], ToleratedFailureCount: 1}\n"
                  "  Input: {n: '${item.n}'}\n" BODY,
             NULL,
             "submit => " STARTED "(W do 1 x3 [{\"n\":1},{},{\"n\":3}]) "
             "SubordersSubmitted(W do 1 0={\"n\":1} 1!States.QueryEvaluationError 2={\"n\":3} "
             "+3600000)\n"
             "messages submit o-1~W~0 with {\"n\":1}, submit o-1~W~2 with {\"n\":3}\n"
             "order Processing W=Processing(do 1)[sxs]\n");
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: [{n: 1}, {}, {n: 3}]}\n"
                  "  Input: {n: '${item.n}'}\n" BODY,
             NULL,
             "submit => " STARTED "(W do 1 x3 [{\"n\":1},{},{\"n\":3}]) "
             "SubordersSubmitted(W do 1 0={\"n\":1} 1!States.QueryEvaluationError +3600000) "
             "SubordersRecalled(W do 1 States.QueryEvaluationError +3600000)\n"
             "messages submit o-1~W~0 with {\"n\":1}, undo o-1~W~0\n");
    kit_tell(HEAD "- Name: W\n"
                  "  Input: {n: '${input.n}'}\n" BODY,
             NULL,
             "submit with {} => " STARTED
             "(W do 1 x1) SubordersSubmitted(W do 1 -1!States.QueryEvaluationError +3600000) "
             "StepFailed(W do 1 States.QueryEvaluationError none x1) StepExhausted(W do 1) "
             "CompensationStarted(States.QueryEvaluationError) "
             "OrderCompensated(States.QueryEvaluationError)\n");
}

Test(decision_suborders, of_items_that_are_not_a_list_fail_the_step)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: input.l}\n"
                  "  OnExhausted: error\n" BODY,
             NULL,
             "submit with {\"l\":7} => OrderAccepted OrderStarted "
             "StepFailedUnstarted(W do 0 States.QueryEvaluationError x1) StepExhausted(W do 0) "
             "OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n"
             "error W States.QueryEvaluationError Items of step W are not a list\n");
}

Test(decision_suborders, stop_once_the_output_of_one_is_enough)
{
    kit_tell(
        HEAD
        "- Name: W\n"
        "  ForEach: {Items: [1, 2, 3], MaxConcurrency: 1, StopWhen: result.done}\n" OUTPUT BODY,
        NULL,
        "submit => " STARTED "(W do 1 x3 [1,2,3]) SubordersSubmitted(W do 1 0 +3600000)\n"
        "report W.0 held with {\"done\":false} => SuborderEnded(W 0 held {\"done\":false}) "
        "SubordersSubmitted(W do 1 1 +3600000)\n"
        "report W.1 held with {\"done\":true} => SuborderEnded(W 1 held {\"done\":true} stop) "
        "StepSucceeded(W do 1) OrderProcessed\n"
        "output W {\"failed\":0,\"items\":[{\"done\":false},{\"done\":true},null],"
        "\"processed\":2}\n"
        "messages keep o-1~W~0 held, keep o-1~W~1 held\n");
}

Test(decision_suborders, are_recalled_if_it_cannot_be_said)
{
    kit_tell(HEAD
             "- Name: W\n"
             "  ForEach: {Items: [1, 2], MaxConcurrency: 1, StopWhen: result.done}\n" OUTPUT BODY,
             NULL,
             "submit => " STARTED "(W do 1 x2 [1,2]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "report W.0 held with {} => "
             "SuborderEnded(W 0 held {} States.QueryEvaluationError stop) "
             "SubordersRecalled(W do 1 States.QueryEvaluationError +3600000)\n"
             "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled) "
             "StepFailed(W do 1 States.QueryEvaluationError none x1) StepExhausted(W do 1) "
             "CompensationStarted(States.QueryEvaluationError) "
             "OrderCompensated(States.QueryEvaluationError)\n");
}

/* At the pivot, what runs ends; then the step has failed. */
Test(decision_suborders, fail_at_the_pivot_if_it_cannot_be_said)
{
    kit_tell(
        HEAD
        "- Name: W\n"
        "  Pivot: true\n"
        "  ForEach: {Items: [1, 2, 3], MaxConcurrency: 2, StopWhen: result.done}\n" OUTPUT BODY,
        NULL,
        "submit => " STARTED "(W do 1 x3 [1,2,3]) SubordersSubmitted(W do 1 0 1 +3600000)\n"
        "report W.0 final with {} => "
        "SuborderEnded(W 0 final {} States.QueryEvaluationError stop)\n"
        "report W.1 final with {\"done\":false} => SuborderEnded(W 1 final {\"done\":false}) "
        "StepFailed(W do 1 States.QueryEvaluationError applied x1) StepExhausted(W do 1) "
        "OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n");
}

/* A command that has ended its owners evaluates nothing: the items fail, and the order goes on. */
Test(decision_suborders, fail_where_no_expressions_are_evaluated)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: [1, 2], ToleratedFailureCount: all}\n"
                  "  Input: '${item}'\n" BODY,
             NULL,
             "spared submit => OrderAccepted OrderStarted "
             "StepFailedUnstarted(W do 0 States.QueryEvaluationError x1) StepExhausted(W do 0) "
             "CompensationStarted(States.QueryEvaluationError) "
             "OrderCompensated(States.QueryEvaluationError)\n");
}

/* ---- what a Decision has room for ---- */

/* An Input of about 75,000 units: a Decision has time for four such, the next one for more. */
Test(decision_suborders, that_a_decision_has_no_time_for_wait_for_the_next)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: [0, 0, 0, 0, 0, 0]}\n"
                  "  Input: '${input.l.map(x, input.l.map(y, x == y).size()).sum() + item}'\n" BODY,
             NULL,
             "submit with {\"l\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,"
             "25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,"
             "53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,"
             "81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,"
             "106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125]} => "
             "" STARTED "(W do 1 x6 [0,0,0,0,0,0]) "
             "SubordersSubmitted(W do 1 0=15625 1=15625 2=15625 3=15625 +0)\n"
             "order Processing W=Processing(do 1)[sssstt]\n"
             "recover W => SubordersSubmitted(W do 1 4=15625 5=15625 +3600000)\n"
             "order Processing W=Processing(do 1)[ssssss]\n");
}

/* Decides and folds; the order at first has an input of 100 numbers and a text of 300 bytes. */
static void decide(struct kit_order *at, const struct command *cmd, struct test_arena *memory)
{
    struct decide_input input = {.now = 1000000, .workflow = at->workflow};
    struct decision decision;
    engine_decide(at->order.version > 0 ? &at->order : NULL, cmd, &input, &memory->arena,
                  &decision);
    order_apply_decision(&at->order, &decision, &memory->arena);
}

static struct text large_input(void)
{
    static char text[1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"l\":[0");
    for (int i = 1; i < 100; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, ",%d", i);
    size += (size_t)snprintf(text + size, sizeof(text) - size, "],\"t\":\"%0300d\"}", 0);
    return (struct text){text, (uint32_t)size};
}

/* An Input of 30,301 bytes, and 16 more: 8 of them are within 256 KiB. */
Test(decision_suborders, that_an_order_has_no_room_for_wait_until_others_end)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct kit_order at = {
        .workflow = kit_compile(&memory, HEAD "- Name: W\n"
                                              "  ForEach: {Items: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}\n"
                                              "  Input: '${input.l.map(x, input.t)}'\n" BODY)};
    struct command submit = {.kind = COMMAND_SUBMIT_ORDER,
                             .order_id = TEXT("o-1"),
                             .submit_order = {.order_id = TEXT("o-1"),
                                              .workflow = TEXT("test"),
                                              .input = large_input()}};
    struct command report = {
        .kind = COMMAND_REPORT_SUBORDER,
        .order_id = TEXT("o-1"),
        .report_suborder = {.order_id = TEXT("o-1"), .step = TEXT("W"), .outcome = SUBORDER_FINAL}};
    decide(&at, &submit, &memory);
    const struct step *step = &at.order.steps[0];
    cr_assert_eq(suborders_count(step->suborders, ITEM_SUBMITTED), 8);
    cr_assert_eq(step->suborders->items[7].input.size, 30301);
    cr_assert_eq(step->complete_by, 1000000 + 3600000, "it is not asked at once: nothing would go");
    decide(&at, &report, &memory);
    cr_assert_eq(step->suborders->items[8].state, ITEM_SUBMITTED);
    cr_assert_eq(step->suborders->items[9].state, ITEM_TO_DO);
    cr_assert(text_empty(step->suborders->items[0].input), "of one that has ended");
    test_arena_deinit(&memory);
}

/* ---- another version ---- */

Test(decision_suborders, keep_their_list_and_body_in_another_version)
{
    static const char first[] = HEAD "- Name: W\n"
                                     "  ForEach: {Items: [1, 2], MaxConcurrency: 1}\n" BODY;
    kit_tell(first,
             HEAD_2 "- Name: W\n"
                    "  ForEach: {Items: [5, 6, 7], MaxConcurrency: 2}\n"
                    "  Steps: [{Name: B, Agent: agent}]\n",
             "submit => " STARTED "(W do 1 x2 [1,2]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "migrate 2 => OrderMigrated SubordersSubmitted(W do 1 1 +3600000)\n"
             "messages submit o-1~W~1 with 2\n");
    kit_tell(first,
             HEAD_2 "- Name: W\n"
                    "  ForEach: {Items: [1, 2], MaxConcurrency: 1}\n"
                    "  Input: {n: '${item}'}\n" BODY,
             "submit => " STARTED "(W do 1 x2 [1,2]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said it has another Input\n");
    kit_tell(first, HEAD_2 "- Name: W\n" BODY,
             "submit => " STARTED "(W do 1 x2 [1,2]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said it has no ForEach\n");
    kit_tell(first, HEAD_2 "- {Name: W, Agent: agent}\n",
             "submit => " STARTED "(W do 1 x2 [1,2]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said it is of another kind\n");
}

/* ---- another input ---- */

Test(decision_suborders, keep_their_data_in_an_amended_order)
{
    kit_tell(HEAD "- Name: W\n"
                  "  ForEach: {Items: input.l}\n"
                  "  OnExhausted: error\n" BODY,
             NULL,
             "submit with {\"l\":[1]} => " STARTED
             "(W do 1 x1 [1]) SubordersSubmitted(W do 1 0 +3600000)\n"
             "report W.0 failed Bad => SuborderEnded(W 0 failed Bad) "
             "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) OrderFailed(Bad) "
             "AlertRaised(Bad)\n"
             "amend {\"l\":[2]} => CommandRejected(InputWasRead)\n"
             "amend {\"l\":[1],\"m\":2} => OrderAmended\n");
}

Test(decision_suborders, fail_after_stop_when_with_the_error_of_the_one_too_many)
{
    kit_tell(HEAD
             "- Name: W\n"
             "  ForEach: {Items: [0, 1, 2], MaxConcurrency: 2, StopWhen: result}\n" BODY OUTPUT,
             NULL,
             "submit => " STARTED "(W do 1 x3 [0,1,2]) SubordersSubmitted(W do 1 0 1 +3600000)\n"
             "report W.0 final with true => SuborderEnded(W 0 final true stop)\n"
             "report W.1 failed Bad => SuborderEnded(W 1 failed Bad) "
             "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) CompensationStarted(Bad) "
             "OrderCompensated(Bad)\n");
    kit_tell(HEAD
             "- Name: W\n"
             "  ForEach: {Items: [0, 1, 2], MaxConcurrency: 2, StopWhen: result}\n" BODY OUTPUT,
             NULL,
             "submit => " STARTED "(W do 1 x3 [0,1,2]) SubordersSubmitted(W do 1 0 1 +3600000)\n"
             "report W.0 held with true => SuborderEnded(W 0 held true stop)\n"
             "report W.1 failed Bad => SuborderEnded(W 1 failed Bad) "
             "SubordersRecalled(W do 1 Bad +3600000)\n"
             "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled) "
             "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) CompensationStarted(Bad) "
             "OrderCompensated(Bad)\n");
}
