/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve step`: an operator ends a step by hand. */
#include "base/heap_arena.h"
#include "base/json.h"
#include "base/numbers.h"
#include "cli/console/operator_command.h"
#include "cli/console/orders.h"
#include "engine/workflow.h"
#include "schemas/json/json_codec.h"

#include <string.h>

static enum error_class put_text(json_t *body, const char *field, const char *text,
                                 struct error *ret_error)
{
    if (json_object_set_new(body, field, json_string(text)) == 0)
        return ERROR_OK;
    return error_set(ret_error, CODE_USAGE, "%s must be UTF-8", field);
}

static enum error_class put_json(json_t *body, const char *field, const char *json,
                                 struct error *ret_error)
{
    struct heap_arena scratch;
    struct text canonical;
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    heap_arena_init(&scratch, 4096);
    bool good = json_canonical(text_of(json), UINT32_MAX, &scratch.arena, &canonical, &problem);
    if (good)
        json_object_set_new(body, field, json_codec_json(canonical));
    else
        json_problem_format(&problem, "--step-output", line);
    heap_arena_deinit(&scratch);
    return good ? ERROR_OK : error_set(ret_error, CODE_USAGE, "%s", line);
}

static enum error_class add_completed(struct cli *cli, char **last, json_t *body,
                                      struct error *ret_error)
{
    const char *output = cli_flag_value(cli, "step-output");
    if (put_text(body, "step", last[0], ret_error) != ERROR_OK)
        return ERROR_REJECT;
    return output == NULL ? ERROR_OK : put_json(body, "output", output, ret_error);
}

static enum error_class add_skipped(struct cli *cli, char **last, json_t *body,
                                    struct error *ret_error)
{
    if (cli_flag_given(cli, "nothing-applied"))
        json_object_set_new(body, "nothing_applied", json_true());
    return put_text(body, "step", last[0], ret_error);
}

static enum error_class add_failed(struct cli *cli, char **last, json_t *body,
                                   struct error *ret_error)
{
    int64_t item;
    const char *given = cli_flag_value(cli, "item");
    if (put_text(body, "step", last[0], ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (given != NULL) {
        if (!number_parse(text_of(given), 0, SUBORDERS_MAX - 1, &item))
            return error_set(ret_error, CODE_USAGE, "--item %.40s: expected 0 to %d", given,
                             SUBORDERS_MAX - 1);
        json_object_set_new(body, "item", json_integer(item));
    }
    return put_text(body, "error_name", last[1], ret_error);
}

static bool check_step(struct cli *cli, char **last, int *ret_code)
{
    bool one = last - cli->arguments == 1 && strcmp(cli->arguments[0], "-") != 0;
    return orders_check_step(cli, one ? cli->arguments[0] : NULL, last[0], ret_code);
}

static bool check_failed(struct cli *cli, char **last, int *ret_code)
{
    if (!check_step(cli, last, ret_code))
        return false;
    if (error_name_valid(text_of(last[1])))
        return true;
    *ret_code = cli_usage(cli, "ERROR must be " ERROR_NAME_EXPECTED);
    return false;
}

static const struct cli_flag complete_flags[] = {
    {"step-output", "JSON", "The step's output, for the steps after it; not of an undo."},
    OPERATOR_FLAGS,
    TARGET_FLAGS,
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag skip_flags[] = {
    {"nothing-applied", NULL,
     "You verified that no attempt of the step had an effect, although one may have."},
    OPERATOR_FLAGS,
    TARGET_FLAGS,
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag fail_flags[] = {
    {"item", "N", "Of a step with sub-orders: its item N, from 0, fails alone."},
    OPERATOR_FLAGS,
    TARGET_FLAGS,
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "complete",
        .arguments = "[ORDER...|-] STEP",
        .summary = "Records that a step, or its undo, was done outside reeve: the order goes on. "
                   "Without ORDER: all orders that match the filter and in which the step is in "
                   "progress or in Error. Exit code 1: the scheduler refused.",
        .examples = "reeve step complete 536365 ShipOrder --reason 'sent by courier' "
                    "--step-output '{\"parcel\": 7}'\n"
                    "# all that wait for the carrier\n"
                    "reeve step complete ShipOrder --state Error --reason 'sent by courier' "
                    "--dry-run",
        .flags = complete_flags,
        .run = operator_command_run,
        .of = &(const struct operator_verb){.action = "complete",
                                            .last_count = 1,
                                            .check = check_step,
                                            .add_fields = add_completed},
    },
    {
        .name = "skip",
        .arguments = "[ORDER...|-] STEP",
        .summary =
            "Lets orders go on without a step that had no effect. Exit code 1: the scheduler "
            "refused.",
        .examples = "reeve step skip 536365 SendReceipt --reason 'the customer has it'",
        .flags = skip_flags,
        .run = operator_command_run,
        .of =
            &(const struct operator_verb){
                .action = "skip", .last_count = 1, .check = check_step, .add_fields = add_skipped},
    },
    {
        .name = "fail",
        .arguments = "[ORDER...|-] STEP ERROR",
        .summary = "Makes a waiting step fail as if its agent had reported ERROR: Retry, Catch and "
                   "OnExhausted of the workflow follow. Exit code 1: the scheduler refused.",
        .examples =
            "reeve step fail 536365 TakePayment PaymentDeclined --reason 'the bank called'\n"
            "reeve step fail 536365 Update Stuck --item 3 --reason 'it never answers'",
        .flags = fail_flags,
        .run = operator_command_run,
        .of =
            &(const struct operator_verb){
                .action = "fail", .last_count = 2, .check = check_failed, .add_fields = add_failed},
    },
};

const struct cli_noun cli_step = {"step", "Ending steps by hand.", verbs,
                                  sizeof(verbs) / sizeof(verbs[0])};
