/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve resubmit`: an operator has the failed steps of an order in Error tried again. */
#include "base/numbers.h"
#include "cli/console/console_client.h"
#include "cli/console/operator_command.h"
#include "engine/limits.h"

#include <string.h>

static enum error_class add_fields(struct cli *cli, char **last, json_t *body,
                                   struct error *ret_error)
{
    const char *step = cli_flag_value(cli, "step");
    const char *timeout = cli_flag_value(cli, "timeout");
    int64_t timeout_ms = 0;
    (void)last;
    if (step != NULL && json_object_set_new(body, "step", json_string(step)) != 0)
        return error_set(ret_error, CODE_USAGE, "--step must be UTF-8");
    if (cli_flag_given(cli, "nothing-applied"))
        json_object_set_new(body, "new_generation", json_true());
    if (timeout == NULL)
        return ERROR_OK;
    if (!number_parse_duration(text_of(timeout), &timeout_ms) || timeout_ms < 1 ||
        timeout_ms > DURATION_MS_MAX)
        return error_set(ret_error, CODE_USAGE,
                         "--timeout %.40s: expected a duration such as 90s, 30m, 2h or 1d, at most "
                         "366d",
                         timeout);
    json_object_set_new(body, "timeout_ms", json_integer(timeout_ms));
    return ERROR_OK;
}

/* An operator verifies what one step has done, not all that failed anywhere. */
static bool check(struct cli *cli, char **last, int *ret_code)
{
    bool one = cli->argument_count == 1 && strcmp(cli->arguments[0], "-") != 0;
    (void)last;
    if (!cli_flag_given(cli, "nothing-applied") || cli_flag_given(cli, "step") || one)
        return true;
    *ret_code = cli_usage(cli, "--nothing-applied, for several orders, is about one step: name it "
                               "with --step");
    return false;
}

static const struct cli_flag flags[] = {
    {"step", "NAME",
     "Names a step in Error, and without ORDER the orders; all their steps in Error are tried "
     "again in any case."},
    {"timeout", "DURATION",
     "The order's new deadline, such as 2h; by default its workflow's TimeoutSeconds from now on."},
    {"nothing-applied", NULL,
     "You verified that no attempt of the step had an effect, and none was reported as applied: it "
     "gets a new idempotency key. With one ORDER and without --step: of any step in Error."},
    OPERATOR_FLAGS,
    TARGET_FLAGS,
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[ORDER...|-]",
        .summary = "Tries the failed steps of orders in Error again. Exit code 1: the scheduler "
                   "refused.",
        .examples = "reeve resubmit 536365 --reason 'the bank is back' --timeout 2h\n"
                    "# a hundred orders that one outage has stopped\n"
                    "reeve resubmit --state Error --step TakePayment --reason 'the bank is back'",
        .flags = flags,
        .run = operator_command_run,
        .of =
            &(const struct operator_verb){
                .action = "resubmit", .step_flag = true, .check = check, .add_fields = add_fields},
    },
};

const struct cli_noun cli_resubmit = {"resubmit", "Trying failed steps again.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
