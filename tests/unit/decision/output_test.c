/* SPDX-License-Identifier: Apache-2.0 */
/* Output: what a step keeps of an answer, and what an order ends with. */
#include "kit.h"

#include <criterion/criterion.h>

Test(decision_output, keeps_a_part_of_an_answer)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Output: {id: \"${result.list[0].id}\"}}\n"
                  "  - {Name: B, Set: \"${output.A.id}\"}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with {\"list\":[{\"id\":7}],\"rest\":\"large\"} => StepSucceeded(A do 1)"
             " StepPassed(B do 0 7) OrderProcessed\n"
             "output A {\"id\":7}\n");
}

Test(decision_output, takes_a_part_of_more_than_is_kept)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Output: {size: \"${result.size()}\"}}\n"
                  "  - {Name: B, Agent: agent, Compensate: {Action: UndoB}}\n"
                  "  - {Name: C, Agent: agent}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 262144 bytes => StepSucceeded(A do 1) StepStarted(B do 1)\n"
             "output A {\"size\":262142}\n"
             "ok B 1 65537 bytes => StepSucceeded(B do 1) StepStarted(C do 1)\n"
             "output B {\"bytes\":65537,\"truncated\":true}\n"
             "fail C 1 => StepFailed(C do 1 States.TaskFailed none x1) StepExhausted(C do 1)"
             " CompensationStarted(States.TaskFailed) StepStarted(B undo 1)\n"
             "ok B 1 undo 65537 bytes => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
             " OrderCompensated(States.TaskFailed)\n");
}

/* The service has done its work: it is undone, and not asked again. */
Test(decision_output, that_fails_fails_the_step_with_its_effect)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n    Output: {id: \"${result.id}\"}\n"
                  "    Retry: [{ErrorEquals: [States.ALL], JitterStrategy: NONE}]\n"
                  "    Compensate: {Action: UndoA}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with {} => StepFailed(A do 1 States.QueryEvaluationError applied x1)"
             " StepExhausted(A do 1) CompensationStarted(States.QueryEvaluationError)"
             " StepStarted(A undo 1)\n"
             "said there is no member id: column 8 of result.id\n"
             /* An undo keeps nothing. */
             "ok A 1 undo with {} => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
             " OrderCompensated(States.QueryEvaluationError)\n");
}

Test(decision_output, that_is_too_large_to_be_kept_is_missed_where_it_is_read)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Output: \"${result + result}\"}\n"
                  "  - {Name: B, Agent: agent}\n"
                  "  - {Name: C, Set: \"${output.A.size()}\", OnExhausted: error}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 40000 bytes => StepSucceeded(A do 1) StepStarted(B do 1)\n"
             "output A {\"bytes\":79998,\"truncated\":true}\n"
             "ok B 1 => StepSucceeded(B do 1)"
             " StepFailedUnstarted(C do 0 States.DataLimitExceeded x1) StepExhausted(C do 0)"
             " OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n"
             "error C States.DataLimitExceeded the output of step A was too large to be kept: "
             "column 8 of output.A.size()\n");
}

#define ORDER_OUTPUT \
    HEAD "  - {Name: A, Agent: agent}\n  - {Name: B, Agent: agent, When: output.A.go}\n"

Test(decision_output, of_an_order_is_in_its_end)
{
    kit_tell(ORDER_OUTPUT "Output: {a: \"${output.A.id}\", b: \"${has(output.B)}\"}\n", NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with {\"go\":false,\"id\":7} => StepSucceeded(A do 1) StepSkipped(B do 0)"
             " OrderProcessed {\"a\":7,\"b\":false}\n"
             "result {\"a\":7,\"b\":false}\n"
             "status Processed A=Processed(do 1) B=Skipped(do 0) {\"a\":7,\"b\":false}\n");
}

Test(decision_output, of_an_order_that_fails_does_not_keep_it_from_ending)
{
    kit_tell(ORDER_OUTPUT "Output: {a: \"${output.A.id}\"}\n", NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with {\"go\":false} => StepSucceeded(A do 1) StepSkipped(B do 0)"
             " OrderProcessed\n"
             "problem States.QueryEvaluationError: there is no member id: column 10 of "
             "output.A.id\n"
             "status Processed A=Processed(do 1) B=Skipped(do 0)\n"
             "message States.QueryEvaluationError: there is no member id: column 10 of "
             "output.A.id\n"
             "result \n");
}
