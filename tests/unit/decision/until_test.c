/* SPDX-License-Identifier: Apache-2.0 */
/* Until: an agent asks its service again, under a new key, until the answer is what the step waits
 * for. */
#include "kit.h"

#include <criterion/criterion.h>

#define POLL(more)                                                                      \
    HEAD "  - Name: Poll\n"                                                             \
         "    Agent: agent\n"                                                           \
         "    Until: result.ready\n"                                                    \
         "    Retry:\n"                                                                 \
         "      - {ErrorEquals: [States.NotYet], IntervalSeconds: 5, BackoffRate: 1,\n" \
         "         MaxAttempts: 3, JitterStrategy: NONE}\n"                             \
         "      - {ErrorEquals: [States.ALL], IntervalSeconds: 1, BackoffRate: 1,\n"    \
         "         MaxAttempts: 2, JitterStrategy: NONE}\n" more "  - {Name: Use, Agent: agent}\n"
#define ASKED "submit => OrderAccepted OrderStarted StepStarted(Poll do 1)\n"
#define NOT_YET(n) "StepFailed(Poll do " #n " States.NotYet none x" #n " not yet)"

Test(decision_until, asks_again_under_a_new_key)
{
    kit_tell(POLL("    Output: {at: \"${result.at}\"}\n"), NULL,
             ASKED "ok Poll 1 with {\"ready\":false} => " NOT_YET(
                 1) " StepRetryScheduled(Poll do 1"
                    " +5000)\n"
                    "said Until is not true of the answer\n"
                    "status none\n"
                    "deadlines start(Poll)+5000\n"
                    "wait 5000\n"
                    "start Poll => StepStarted(Poll do 2 g1)\n"
                    "status StepChanged Poll=Processing(do 2)\n"
                    "ok Poll 1 with {\"ready\":true} => ReportIgnored(Superseded)\n"
                    "ok Poll 2 with {\"at\":7,\"ready\":true} => StepSucceeded(Poll do 2)"
                    " StepStarted(Use do 1)\n"
                    "output Poll {\"at\":7}\n");
}

Test(decision_until, gives_up_when_no_retry_is_left)
{
    kit_tell(POLL("    Catch: [{ErrorEquals: [States.NotYet], Next: $continue}]\n"), NULL,
             ASKED "ok Poll 1 with {\"ready\":false} => " NOT_YET(
                 1) " StepRetryScheduled(Poll do 1"
                    " +5000)\n"
                    "wait 5000\n"
                    "start Poll => StepStarted(Poll do 2 g1)\n"
                    "ok Poll 2 with {\"ready\":false} => " NOT_YET(
                        2) " StepRetryScheduled(Poll do 2"
                           " +5000)\n"
                           "wait 5000\n"
                           "start Poll => StepStarted(Poll do 3 g2)\n"
                           "ok Poll 3 with {\"ready\":false} => " NOT_YET(
                               3) " StepRetryScheduled(Poll do 3"
                                  " +5000)\n"
                                  "wait 5000\n"
                                  "start Poll => StepStarted(Poll do 4 g3)\n"
                                  /* The second retrier matches as well. */
                                  "ok Poll 4 with {\"ready\":false} => " NOT_YET(
                                      4) " StepRetryScheduled(Poll do 4"
                                         " +1000)\n"
                                         "wait 1000\n"
                                         "start Poll => StepStarted(Poll do 5 g4)\n"
                                         "ok Poll 5 with {\"ready\":false} => " NOT_YET(
                                             5) " StepRetryScheduled(Poll do 5"
                                                " +1000)\n"
                                                "wait 1000\n"
                                                "start Poll => StepStarted(Poll do 6 g5)\n"
                                                "ok Poll 6 with {\"ready\":false} => " NOT_YET(
                                                    6) " StepCaught(Poll do 6)"
                                                       " StepStarted(Use do 1)\n"
                                                       "status StepChanged Poll=Caught(do 6 "
                                                       "States.NotYet) Use=Processing(do 1)\n");
}

/* An answer is definite, whatever the attempt before it may have done; a timeout is not. */
Test(decision_until, keeps_the_key_after_a_timeout)
{
    kit_tell(POLL(""), NULL,
             ASKED
             "wait 61000\n"
             "recover Poll => StepTimedOut(Poll do 1 unknown x1) StepRetryScheduled(Poll do 1"
             " +1000)\n"
             "wait 1000\n"
             "start Poll => StepStarted(Poll do 2)\n"
             "ok Poll 2 with {\"ready\":false} => StepFailed(Poll do 2 States.NotYet none x2 not"
             " yet) StepRetryScheduled(Poll do 2 +5000)\n"
             "wait 5000\n"
             "start Poll => StepStarted(Poll do 3 g1)\n"
             "fail Poll 3 Busy unknown => StepFailed(Poll do 3 Busy unknown x3)"
             " StepRetryScheduled(Poll do 3 +1000)\n"
             "wait 1000\n"
             "start Poll => StepStarted(Poll do 4 g1)\n");
}

Test(decision_until, fails_without_a_retry_where_it_cannot_be_evaluated)
{
    kit_tell(POLL("    OnExhausted: error\n"), NULL,
             ASKED
             "ok Poll 1 with {\"x\":1} => StepFailed(Poll do 1 States.QueryEvaluationError applied"
             " x1) StepExhausted(Poll do 1) OrderFailed(States.QueryEvaluationError)"
             " AlertRaised(States.QueryEvaluationError)\n"
             "said there is no member ready\n"
             "resubmit => StepResubmitted(Poll do 1 g0) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepStarted(Poll do 2)\n");
    kit_tell(
        POLL("    OnExhausted: error\n"), NULL,
        ASKED
        "spared ok Poll 1 with {\"ready\":true} => StepFailed(Poll do 1"
        " States.QueryEvaluationError applied x1) StepExhausted(Poll do 1)"
        " OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n");
}

/* Nothing was done, so there is nothing to undo, and a resubmission takes the next key. */
Test(decision_until, leaves_nothing_behind)
{
    kit_tell(
        POLL(""), NULL,
        ASKED
        "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(Use do 0)\n"
        "ok Poll 1 with {\"ready\":false} => " NOT_YET(
            1) " StepSkipped(Poll do 1)"
               " OrderCompensated(Cancelled)\n"
               "said nothing to undo: no attempt had an effect\n");
    kit_tell(POLL(""), NULL,
             ASKED "ok Poll 1 with {\"ready\":false} => " NOT_YET(
                 1) " StepRetryScheduled(Poll do 1"
                    " +5000)\n"
                    "fail-step Poll Nope => StepFailedUnstarted(Poll do 1 Nope x2)"
                    " StepRetryScheduled(Poll do 1 +1000)\n"
                    "skip Poll => StepSkippedByHand(Poll do 1) StepStarted(Use do 1)\n");
}

Test(decision_until, keeps_its_input_over_all_attempts)
{
    kit_tell(HEAD "  - Name: Poll\n"
                  "    Agent: agent\n"
                  "    Input: {job: \"${input.job}\"}\n"
                  "    Until: result == input.job\n"
                  "    Retry: [{ErrorEquals: [States.NotYet], JitterStrategy: NONE}]\n",
             NULL,
             "submit with {\"job\":7} => OrderAccepted OrderStarted"
             " StepStarted(Poll do 1 with {\"job\":7})\n"
             "ok Poll 1 with 6 => " NOT_YET(
                 1) " StepRetryScheduled(Poll do 1 +1000)\n"
                    "wait 1000\n"
                    "start Poll => StepStarted(Poll do 2 g1)\n"
                    "requests Poll(do 2 o-1/Poll/do/1 with {\"job\":7})\n"
                    "ok Poll 2 with 7 => StepSucceeded(Poll do 2) OrderProcessed\n");
}

/* Once an attempt may have acted. */
Test(decision_until, is_the_same_in_another_version)
{
#define VERSION_2(until)                                        \
    HEAD_2 "  - {Name: Poll, Agent: agent, Until: " until ",\n" \
           "     Retry: [{ErrorEquals: [States.NotYet]}]}\n"    \
           "  - {Name: Use, Agent: agent}\n"
    kit_tell(POLL(""), VERSION_2("result.done"),
             ASKED "migrate 2 => CommandRejected(StepsDiffer)\n"
                   "said step Poll is Processing, and in version 2 it has another Until\n");
    kit_tell(POLL(""), VERSION_2("result.done"),
             ASKED "ok Poll 1 with {\"ready\":false} => " NOT_YET(
                 1) " StepRetryScheduled(Poll do 1"
                    " +5000)\n"
                    "migrate 2 => OrderMigrated StepStarted(Poll do 2 g2)\n"
                    "ok Poll 2 with {\"done\":true} => StepSucceeded(Poll do 2) StepStarted(Use do "
                    "1)\n");
}
