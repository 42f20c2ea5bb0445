/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of commands.def say about a command. */
#include "engine/decide.h"

#include "base/json.h"
#include "base/names.h"
#include "base/utf8.h"
#include "engine/output.h"

#include <assert.h>
#include <stddef.h>

#define INVALID(...) error_set(ret_error, CODE_INVALID_COMMAND, __VA_ARGS__)

/* Of members, the offsets within struct command; 0: it has none. */
struct command_info {
    unsigned from; /* a set of enum command_sender */
    uint32_t asker;
    uint32_t reply_to;
    uint32_t step;
    uint32_t direction;
    uint32_t attempt;
    bool all_steps; /* an empty step stands for all */
    enum error_class (*check)(const struct command *cmd, struct error *ret_error); /* or NULL */
};

#define OFFSET(member, field) offsetof(struct command, member.field)
#define APPLICATION(member) .from = COMMAND_FROM_APPLICATION, .reply_to = OFFSET(member, reply_to)
#define OPERATOR(member) .from = COMMAND_FROM_OPERATOR, .asker = OFFSET(member, by)
#define SUPERVISOR(member) .from = COMMAND_FROM_SUPERVISOR, .asker = OFFSET(member, by)
#define SCHEDULER(member) .from = COMMAND_FROM_SCHEDULER
#define SCHEDULER_OR_OPERATOR(member) \
    .from = COMMAND_FROM_SCHEDULER | COMMAND_FROM_OPERATOR, .asker = OFFSET(member, by)
#define AGENT(member) .from = COMMAND_FROM_AGENT, .asker = OFFSET(member, instance)
#define APPLICATION_OR_OPERATOR(member)                       \
    .from = COMMAND_FROM_APPLICATION | COMMAND_FROM_OPERATOR, \
    .reply_to = OFFSET(member, reply_to), .asker = OFFSET(member, by)
#define ORDER(member) .step = 0
#define STEP(member) .step = OFFSET(member, step)
#define STEP_OR_ALL(member) .step = OFFSET(member, step), .all_steps = true
#define ATTEMPT(member)                                                   \
    .step = OFFSET(member, step), .direction = OFFSET(member, direction), \
    .attempt = OFFSET(member, attempt)
#define UNCHECKED NULL
#define CHECK(function) function

static const struct command_info infos[COMMAND_KIND_COUNT] = {
#define COMMAND(number, kind, record, type, member, sender, about, own_check, decide) \
    [COMMAND_##kind] = {sender(member), about(member), .check = (own_check)},
#include "engine/commands.def"
};

static const struct command_info *info_of(enum command_kind kind)
{
    assert((unsigned)kind < COMMAND_KIND_COUNT);
    return &infos[kind];
}

static struct text text_at(const struct command *cmd, uint32_t offset)
{
    assert(offset < sizeof(*cmd));
    return offset > 0 ? *(const struct text *)((const char *)cmd + offset) : (struct text){0};
}

bool command_kind_is_from(enum command_kind kind, enum command_sender sender)
{
    return (info_of(kind)->from & sender) != 0;
}

struct text undecodable_code(const struct undecodable *undecodable)
{
    if (!text_empty(undecodable->code))
        return undecodable->code;
    return error_code_text(undecodable->quarantined ? CODE_QUARANTINED : CODE_UNDECODABLE);
}

struct text command_asker(const struct command *cmd)
{
    return text_at(cmd, info_of(cmd->kind)->asker);
}

struct text command_reply_to(const struct command *cmd)
{
    return text_at(cmd, info_of(cmd->kind)->reply_to);
}

struct attempt_ref command_attempt(const struct command *cmd)
{
    const struct command_info *info = info_of(cmd->kind);
    const char *at = (const char *)cmd;
    if (info->attempt == 0)
        return (struct attempt_ref){0};
    return (struct attempt_ref){text_at(cmd, info->step),
                                *(const enum direction *)(at + info->direction),
                                *(const uint32_t *)(at + info->attempt)};
}

enum error_class command_check(const struct command *cmd, struct error *ret_error)
{
    const struct command_info *info = info_of(cmd->kind);
    struct text step = text_at(cmd, info->step);
    assert(cmd->kind != COMMAND_UNDECODABLE);
    if (info->step > 0 && !(info->all_steps && text_empty(step)) && !name_valid(step))
        return INVALID("step must be 1 to %d letters, digits, '.', '_' and '-'", NAME_BYTES_MAX);
    if (info->check != NULL && info->check(cmd, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if ((info->from & COMMAND_FROM_OPERATOR) != 0 && !utf8_printable(command_asker(cmd)))
        return INVALID("who asks must be printable UTF-8");
    return ERROR_OK;
}

void command_make_canonical(struct command *cmd, struct arena *arena)
{
    struct text *report = &cmd->report_step.output;
    struct text *by_hand = &cmd->complete_step.output;
    struct report_step *failure = &cmd->report_step;
    struct report_suborder *suborder = &cmd->report_suborder;
    if (cmd->kind == COMMAND_REPORT_STEP && !text_empty(*report))
        *report = output_canonical(*report, REPORT_OUTPUT_BYTES_READ_MAX, arena);
    if (cmd->kind == COMMAND_COMPLETE_STEP && !text_empty(*by_hand))
        *by_hand = output_canonical(*by_hand, STEP_OUTPUT_BYTES_READ_MAX, arena);
    if (cmd->kind == COMMAND_AMEND_ORDER && !text_empty(cmd->amend_order.input) &&
        !json_canonical(cmd->amend_order.input, ORDER_INPUT_BYTES_MAX, arena,
                        &cmd->amend_order.input, NULL))
        cmd->amend_order.input = TEXT("?"); /* begins as no JSON does */
    if (cmd->kind == COMMAND_SIGNAL_ORDER &&
        !json_canonical(cmd->signal_order.payload, UINT32_MAX, arena, &cmd->signal_order.payload,
                        NULL))
        cmd->signal_order.payload = (struct text){0}; /* which no JSON is */
    if (cmd->kind == COMMAND_REPORT_STEP) {
        failure->error_name = utf8_clean(failure->error_name, ERROR_NAME_BYTES_READ_MAX, arena);
        failure->error_message = utf8_clean(failure->error_message, MESSAGE_BYTES_READ_MAX, arena);
    } else if (cmd->kind == COMMAND_REPORT_SUBORDER) {
        suborder->output = output_canonical(suborder->output, STEP_OUTPUT_BYTES_READ_MAX, arena);
        suborder->error_name = utf8_clean(suborder->error_name, ERROR_NAME_BYTES_READ_MAX, arena);
        suborder->error_message =
            utf8_clean(suborder->error_message, MESSAGE_BYTES_READ_MAX, arena);
    } else if (cmd->kind == COMMAND_FAIL_STEP) {
        cmd->fail_step.reason = utf8_clean(cmd->fail_step.reason, MESSAGE_BYTES_READ_MAX, arena);
    }
}
