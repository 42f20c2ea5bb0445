/* SPDX-License-Identifier: Apache-2.0 */
/* Work that a Decision does: a budget for each step, and one after which no step begins. */
#include "kit.h"

#include "base/goods.h"
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "workflow/workflow_file.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* 20 elements, each compared with each of 20, and so on: more than any budget. */
#define ENDLESS                                                                                   \
    "\"${input.l.all(a, input.l.all(b, input.l.all(c, input.l.all(d, input.l.all(e, a + b + c + " \
    "d + e >= 0)))))}\""
#define LIST "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]"

Test(decision_budget, is_each_steps_own)
{
    kit_tell(HEAD "  - {Name: A, Set: " ENDLESS ", "
                  "Catch: [{ErrorEquals: [States.QueryEvaluationError], Next: $continue}]}\n"
                  "  - {Name: B, Set: \"${input.l.size()}\"}\n",
             NULL,
             "submit with {\"l\":" LIST "} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepCaught(A do 0)"
             " StepPassed(B do 0 20) OrderProcessed\n");
}

/* The fourth step begins in another Decision, which the supervisor asks for at once. */
Test(decision_budget, of_a_decision_is_spent_after_three_steps)
{
#define CAUGHT ", Catch: [{ErrorEquals: [States.QueryEvaluationError], Next: $continue}]}\n"
    kit_tell(HEAD "  - {Name: A, After: [], Set: " ENDLESS CAUGHT
                  "  - {Name: B, After: [], Set: " ENDLESS CAUGHT
                  "  - {Name: C, After: [], Set: " ENDLESS CAUGHT
                  "  - {Name: D, After: [], When: has(input.l), Set: 4}\n"
                  "  - {Name: E, After: [], Agent: agent}\n"
                  "  - {Name: F, After: [A, B, C], Set: 6}\n",
             NULL,
             "submit with {\"l\":" LIST "} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepCaught(A do 0)"
             " StepFailedUnstarted(B do 0 States.QueryEvaluationError x1) StepCaught(B do 0)"
             " StepFailedUnstarted(C do 0 States.QueryEvaluationError x1) StepCaught(C do 0)"
             " StepQueued(D do 0 +0 since-1000000) StepQueued(E do 0 +0 since-1000000)"
             " StepQueued(F do 0 +0 since-1000000)\n"
             "said the expressions of other steps have taken their time\n"
             "deadlines start(D)+0 start(E)+0 start(F)+0\n"
             "queued \n"
             "start D => StepPassed(D do 0 4) StepStarted(E do 1) StepPassed(F do 0 6)\n"
             "start E => CommandRejected(Stale)\n"
             "ok E 1 => StepSucceeded(E do 1) OrderProcessed\n");
}

/* Its Input is evaluated as it leaves the queue, and agents may have capacity for many at once. */
Test(decision_budget, keeps_steps_in_their_queue_once_it_is_spent)
{
#define GREEDY(name) "  - {Name: " name ", After: [], Agent: agent, Input: " ENDLESS CAUGHT
    kit_tell(
        HEAD GREEDY("A") GREEDY("B") GREEDY("C") GREEDY("D"), NULL,
        "capacity agent=0\n"
        "submit with {\"l\":" LIST "} => OrderAccepted OrderStarted StepQueued(A do 0 capacity)"
        " StepQueued(B do 0 capacity) StepQueued(C do 0 capacity) StepQueued(D do 0 capacity)\n"
        "capacity agent=9\n"
        "start A => StepFailedUnstarted(A do 0 States.QueryEvaluationError x1)"
        " StepCaught(A do 0)"
        " StepFailedUnstarted(B do 0 States.QueryEvaluationError x1) StepCaught(B do 0)"
        " StepFailedUnstarted(C do 0 States.QueryEvaluationError x1) StepCaught(C do 0)\n"
        "queued D\n"
        "start D => StepFailedUnstarted(D do 0 States.QueryEvaluationError x1)"
        " StepCaught(D do 0) OrderProcessed\n");
}

/* ---- the lines of the order ---- */

enum { STEPS = 40, LINES = 2000 };

/* Bytes that the Decision on an order takes whose first `reading` steps read its lines. */
static size_t bytes_of(uint32_t reading)
{
    static struct order_line lines[LINES];
    static const struct goods goods = {TEXT_CONST("EUR"), lines, LINES};
    char source[8192];
    int size = snprintf(source, sizeof(source), HEAD);
    for (uint32_t i = 0; i < STEPS; i++)
        size += snprintf(source + size, sizeof(source) - (size_t)size,
                         "  - {Name: S%u, After: [], Set: \"${%s}\"}\n", i,
                         i < reading ? "order.lines[0].sku" : "order.id");
    for (uint32_t i = 0; i < LINES; i++)
        lines[i] = (struct order_line){TEXT("sku"), TEXT("lamp"), 1, {50000}};
    struct test_arena memory;
    struct workflow_problems problems;
    struct workflow *workflow = NULL;
    struct decision decision;
    test_arena_init(&memory);
    cr_assert(workflow_parse((struct text){source, (uint32_t)size}, WORKFLOW_YAML, &memory.arena,
                             &problems, &workflow));
    struct decide_input input = {.now = 1000, .command_offset = 1, .workflow = workflow};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o")};
    cmd.submit_order = (struct order_details){.order_id = TEXT("o"),
                                              .customer = TEXT("c"),
                                              .goods = &goods,
                                              .workflow = TEXT("test"),
                                              .workflow_version = 1};
    size_t before = memory.arena.used;
    engine_decide(NULL, &cmd, &input, &memory.arena, &decision);
    cr_assert_eq(decision.event_count, 2 + STEPS + 1, "%u", decision.event_count);
    size_t used = memory.arena.used - before;
    test_arena_deinit(&memory);
    return used;
}

/* Written once, however many expressions read them; each pays a unit for each line. */
Test(decision_budget, writes_the_lines_of_an_order_once)
{
    size_t none = bytes_of(0), one = bytes_of(1), all = bytes_of(STEPS);
    cr_assert_gt(one - none, LINES * 40);
    cr_assert_lt(all, one + (one - none) / 2, "%zu %zu %zu", none, one, all);
}
