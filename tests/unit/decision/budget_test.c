/* SPDX-License-Identifier: Apache-2.0 */
/* Work that a Decision does: a budget for each step, and one after which no step begins. */
#include "kit.h"

#include <criterion/criterion.h>

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
