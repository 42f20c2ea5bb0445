/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in Retry, Catch, OnExhausted and error names. */
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>

#define RETRY(retriers) HEAD "  - Name: A\n    Agent: x\n    Retry: [" retriers "]\n"
#define CATCH(catchers) HEAD "  - Name: A\n    Agent: x\n    Catch: [" catchers "]\n"

Test(workflow_policy_lint, checks_retriers)
{
    LINT({RETRY("{MaxAttempts: 0, ErrorEquals: [X]}"),
          "6:27: error: MaxAttempts 0 never retries, but the next matching retrier would: remove "
          "this one\n"},
         {RETRY("{MaxAttempts: 1001, ErrorEquals: [X]}"),
          "6:27: error: MaxAttempts must be from 0 to 1000, not 1001\n"},
         {RETRY("{MaxAttempts: -1, ErrorEquals: [X]}"),
          "6:27: error: MaxAttempts must be from 0 to 1000, not -1\n"},
         {RETRY("{BackoffRate: 0.999, ErrorEquals: [X]}"),
          "6:27: error: BackoffRate must be a number from 1 to 1000, not 0.999\n"},
         {RETRY("{IntervalSeconds: 0, ErrorEquals: [X]}"),
          "6:31: error: IntervalSeconds must be a number of seconds from 0.001 to 31622400, not "
          "0\n"},
         {RETRY("{IntervalSeconds: 5, MaxDelaySeconds: 4, ErrorEquals: [X]}"),
          "6:51: error: MaxDelaySeconds is shorter than IntervalSeconds\n"},
         {RETRY("{JitterStrategy: full, ErrorEquals: [X]}"),
          "6:30: error: JitterStrategy \"full\" is unknown: did you mean FULL?\n"},
         {RETRY("{JitterStrategy: 1, ErrorEquals: [X]}"),
          "6:30: error: JitterStrategy must be FULL or NONE, not a number (1)\n"},
         {RETRY("{MaxAttempts: 1}"), "6:13: error: a retrier has no ErrorEquals\n"},
         {RETRY("{ErrorEquals: X}"),
          "6:27: error: ErrorEquals must be a list of error names, not a text\n"},
         {RETRY("{ErrorEquals: []}"),
          "6:27: error: ErrorEquals names 0 errors; it must name 1 to 8\n"},
         {RETRY("{ErrorEquals: [a, b, c, d, e, f, g, h, i]}"),
          "6:27: error: ErrorEquals names 9 errors; it must name 1 to 8\n"},
         {RETRY("{ErrorEquals: [X, X, 404]}"),
          "6:31: warning: X is named twice\n"
          "6:34: error: an error name must be a text: put 404 in quotes\n"},
         {RETRY("7"), "6:13: error: a retrier must be a mapping of fields, not a number\n"},
         {HEAD "  - {Name: A, Agent: x, Retry: 3}\n",
          "4:32: error: Retry must be a list, not a number\n"},
         {RETRY("{ErrorEquals: [a]}, {ErrorEquals: [a]}, {ErrorEquals: [a]}, {ErrorEquals: [a]}, "
                "{ErrorEquals: [a]}, {ErrorEquals: [a]}, {ErrorEquals: [a]}, {ErrorEquals: [a]}, "
                "{ErrorEquals: [a]}"),
          "6:12: error: Retry has 9 elements; the limit is 8\n"});
}

Test(workflow_policy_lint, checks_reserved_error_names)
{
    LINT({RETRY("{ErrorEquals: [States.Timout]}"),
          "6:28: error: States.Timout is not one of the reserved errors: did you mean "
          "States.Timeout?\n"},
         {RETRY("{ErrorEquals: [states.all]}"),
          "6:28: error: states.all is not one of the reserved errors: did you mean States.ALL?\n"},
         {RETRY("{ErrorEquals: [States.Permissions]}"),
          "6:28: error: States.Permissions is not one of the reserved errors: States.ALL, "
          "States.Timeout, States.TaskFailed, States.NotYet, States.QueryEvaluationError and "
          "States.DataLimitExceeded\n"},
         {RETRY("{ErrorEquals: [Timeout]}"), "6:28: warning: Timeout counts as an error of the "
                                             "agent's own: did you mean States.Timeout?\n"},
         {RETRY("{ErrorEquals: [State.TaskFailed]}"),
          "6:28: warning: State.TaskFailed counts as an error of the agent's own: did you mean "
          "States.TaskFailed?\n"},
         {RETRY("{ErrorEquals: [Http.Timeout, PaymentDeclined]}"), ""},
         {RETRY("{ErrorEquals: [States.ALL, X]}"),
          "6:27: error: States.ALL must stand alone: it matches every error\n"},
         {RETRY("{ErrorEquals: [States.ALL]}, {ErrorEquals: [X]}"),
          "6:42: error: this retrier follows one for States.ALL, which must come last\n"},
         /* Phases of one policy. */
         {RETRY("{ErrorEquals: [States.ALL]}, {ErrorEquals: [States.ALL]}"), ""});
}

Test(workflow_policy_lint, checks_catchers)
{
    LINT({CATCH("{ErrorEquals: [X], Next: compensate}"),
          "6:38: error: Next \"compensate\" is unknown: did you mean $compensate?\n"},
         {CATCH("{ErrorEquals: [X], Next: B}"),
          "6:38: error: Next must be $compensate, $error or $continue, not a step: write "
          "$continue, and When: has(error.STEP) in step B, which comes after this one\n"},
         {CATCH("{ErrorEquals: [X]}"), "6:13: error: a catcher has no Next\n"},
         {CATCH("{ErrorEquals: [States.ALL], Next: $error}, {ErrorEquals: [X], Next: $error}"),
          "6:56: error: this catcher is never reached: earlier ones catch all that it names\n"},
         {CATCH("{ErrorEquals: [X, Y], Next: $error}, {ErrorEquals: [Y], Next: $compensate}"),
          "6:50: error: this catcher is never reached: earlier ones catch all that it names\n"},
         {CATCH("{ErrorEquals: [States.TaskFailed], Next: $error}, "
                "{ErrorEquals: [States.Timeout], Next: $compensate}"),
          ""});
}

Test(workflow_policy_lint, checks_on_exhausted)
{
    LINT({HEAD "  - {Name: A, Agent: x, OnExhausted: compensated}\n",
          "4:38: error: OnExhausted \"compensated\" is unknown: did you mean compensate?\n"},
         {HEAD "  - {Name: A, Agent: x, OnExhausted: [error]}\n",
          "4:38: error: OnExhausted must be compensate or error, not a list\n"});
}

Test(workflow_policy_lint, checks_policies_in_defaults)
{
    LINT({"Name: w\nVersion: 1\n"
          "Defaults:\n"
          "  TimeoutSecond: 4\n"
          "  Retry: {}\n"
          "  Catch: 1\n"
          "  OnExhausted: x\n"
          "  Compensate: {Action: U, TimeoutSeconds: never}\n"
          "  Agent: x\n"
          "Steps: [{Name: A, Agent: x}]\n",
          "4:3: error: TimeoutSecond is an unknown field of Defaults: did you mean "
          "TimeoutSeconds?\n"
          "5:10: error: Retry must be a list, not a mapping\n"
          "6:10: error: Catch must be a list, not a number\n"
          "7:16: error: OnExhausted must be compensate or error, not a text (x)\n"
          "8:16: error: Action does not belong here; it belongs to Compensate of a step\n"
          "8:43: error: TimeoutSeconds must be a number of seconds, not a text (never)\n"
          "9:3: error: Agent does not belong here; it belongs to a step\n"});
}
