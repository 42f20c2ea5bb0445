/* SPDX-License-Identifier: Apache-2.0 */
/* SignalOrder: what an Await waits for has come, or has come before the Await's turn. The checks
 * stand in the order of docs/use/workflows.md; the log settles which signal came first. */
#include "engine/decide.h"

#include "base/json.h"
#include "base/names.h"
#include "base/utf8.h"
#include "engine/message.h"

#include <assert.h>

enum { GIVEN_SHOWN_BYTES = 100 };

/* ---- the step ---- */

/* The Await of that name, or -1. The workflow may be another one than the order's. */
static int find_await(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; workflow != NULL && i < workflow->step_count; i++) {
        const struct workflow_step *plan = &workflow->steps[i];
        if (plan->kind == STEP_KIND_AWAIT && text_equal(plan->name, name))
            return (int)i;
    }
    return -1;
}

/* A token that may follow only what was submitted with it passes the steps of no other order, but
 * those of a group that it belongs to. */
static bool is_of_others(const struct decide_ctx *ctx)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    int index = find_await(ctx->workflow, cmd->step);
    if (text_empty(cmd->submitted_by) ||
        text_equal(cmd->submitted_by, ctx->order->details.submitted_by))
        return false;
    return index < 0 || text_empty(ctx->workflow->steps[index].await.from) ||
           !text_list_has(cmd->groups, ctx->workflow->steps[index].await.from);
}

/* "Approve, Confirm" */
static struct text list_awaits(const struct decide_ctx *ctx)
{
    enum { SHOWN_MAX = 8 };
    uint32_t count = 0;
    struct text list = TEXT("none");
    for (uint32_t i = 0; i < ctx->workflow->step_count; i++) {
        const struct workflow_step *plan = decide_plan_of(ctx, i);
        if (plan->kind != STEP_KIND_AWAIT || count > SHOWN_MAX)
            continue;
        if (count == 0)
            list = plan->name;
        else
            list = message_format(ctx->arena, "%.*s, %.*s", TEXT_ARG(list),
                                  TEXT_ARG(count < SHOWN_MAX ? plan->name : TEXT("...")));
        count++;
    }
    return list;
}

/* Whether the step's newest signal had the id. Its row keeps that after the order's end: a sender
 * that heard nothing of the signal that ended the order repeats it, and learns that it counted. */
static bool is_repeated(const struct decide_ctx *ctx)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    int index = text_empty(cmd->id) ? -1 : order_find_step(ctx->order, cmd->step);
    const struct awaiting *awaiting = index < 0 ? NULL : ctx->order->steps[index].awaiting;
    return awaiting != NULL && text_equal(cmd->id, awaiting->signal_id);
}

/* False after it rejected: no signal counts for the order, or not this one again. */
static bool takes_signals(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    if (!ctx->exists) {
        decide_reject_unknown_order(ctx);
        return false;
    }
    if (is_of_others(ctx)) {
        decide_reject(ctx, CODE_ANOTHER_SUBMITTER,
                      "the order was not submitted with the token %.*s",
                      TEXT_ARG(ctx->cmd->signal_order.submitted_by));
        return false;
    }
    if (is_repeated(ctx)) {
        const struct signal_order *cmd = &ctx->cmd->signal_order;
        decide_reject(ctx, CODE_SIGNAL_REPEATED, "step %.*s has had the signal %.*s",
                      TEXT_ARG(cmd->step), TEXT_ARG(cmd->id));
        return false;
    }
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    if (order_ended(order) || phase == ORDER_COMPENSATING || phase == ORDER_HELD) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s",
                      phase == ORDER_COMPENSATING ? "being undone" : order_state_name(phase));
        return false;
    }
    return decide_require_order(ctx);
}

/* False after it rejected: the step takes none, or none of this sender. */
static bool step_takes(struct decide_ctx *ctx, uint32_t index)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    if (step->state != STEP_PENDING && step->state != STEP_WAITING) {
        decide_reject(ctx, CODE_TOO_LATE, "step %.*s is %s", TEXT_ARG(step->name),
                      step->state == STEP_ERROR ? "in Error" : step_state_name(step->state));
        return false;
    }
    if (!text_empty(plan->await.from) && !text_list_has(cmd->groups, plan->await.from)) {
        decide_reject(ctx, CODE_NOT_ALLOWED,
                      "step %.*s awaits a signal of %.*s, and %.*s is not known to belong to it: "
                      "http.groups.file says who does",
                      TEXT_ARG(step->name), TEXT_ARG(plan->await.from),
                      TEXT_ARG(text_empty(cmd->by) ? TEXT("its sender") : cmd->by));
        return false;
    }
    assert(step->direction == DIRECTION_DO);
    return true;
}

/* ---- the payload ---- */

/* "approve, decline" */
static struct text list_options(const struct decide_ctx *ctx, struct text_list options)
{
    struct text list = options.items[0];
    for (uint32_t i = 1; i < options.count; i++)
        list = message_format(ctx->arena, "%.*s%s%.*s", TEXT_ARG(list),
                              i + 1 < options.count ? ", " : " or ", TEXT_ARG(options.items[i]));
    return list;
}

/* The members of {"choice", "comment"}; false: it is not one, or has others. */
static bool read_choice(struct text payload, struct json_value *ret_choice,
                        struct json_value *ret_comment)
{
    struct json_items items;
    struct json_value map = json_value_of(payload);
    *ret_choice = (struct json_value){0};
    *ret_comment = (struct json_value){0};
    if (json_value_kind(map) != JSON_KIND_MAP)
        return false;
    for (json_items_begin(&items, map); json_items_next(&items, NULL);) {
        if (json_escaped_equal(items.name, TEXT("choice")))
            *ret_choice = items.value;
        else if (json_escaped_equal(items.name, TEXT("comment")))
            *ret_comment = items.value;
        else
            return false;
        if (json_value_kind(items.value) != JSON_KIND_TEXT)
            return false;
    }
    return json_value_kind(*ret_choice) == JSON_KIND_TEXT;
}

/* What the step makes of a choice. False after it rejected. */
static bool make_choice(struct decide_ctx *ctx, uint32_t index, struct text *ret_result)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    struct text_list options = decide_plan_of(ctx, index)->await.options;
    struct json_value choice, comment;
    struct json_writer writer;
    bool known = false;
    if (!read_choice(cmd->payload, &choice, &comment)) {
        decide_reject(ctx, CODE_BAD_PAYLOAD,
                      "step %.*s takes {\"choice\": %.*s}, and perhaps a \"comment\", both texts",
                      TEXT_ARG(cmd->step), TEXT_ARG(list_options(ctx, options)));
        return false;
    }
    for (uint32_t i = 0; i < options.count && !known; i++)
        known = json_escaped_equal(json_value_escaped(choice, NULL), options.items[i]);
    if (!known) {
        struct text given = json_value_text(choice, NULL);
        decide_reject(ctx, CODE_BAD_PAYLOAD, "step %.*s takes the choice %.*s, not %.*s",
                      TEXT_ARG(cmd->step), TEXT_ARG(list_options(ctx, options)),
                      TEXT_ARG(utf8_cut(given, GIVEN_SHOWN_BYTES)));
        return false;
    }
    json_writer_init(&writer, UINT32_MAX, ctx->arena);
    json_write_map(&writer);
    json_write_name(&writer, TEXT("by"));
    json_write_text(&writer, cmd->by);
    json_write_name(&writer, TEXT("choice"));
    json_write_canonical(&writer, json_value_text(choice, NULL));
    json_write_name(&writer, TEXT("comment"));
    if (json_value_kind(comment) == JSON_KIND_TEXT)
        json_write_canonical(&writer, json_value_text(comment, NULL));
    else
        json_write_text(&writer, (struct text){0});
    json_write_close(&writer);
    bool done = json_writer_done(&writer, ret_result);
    assert(done); /* of three texts without a limit */
    return done;
}

/* False after it rejected: the step makes nothing of it. */
static bool make_result(struct decide_ctx *ctx, uint32_t index, struct text *ret_result)
{
    struct text payload = ctx->cmd->signal_order.payload;
    bool chooses = decide_plan_of(ctx, index)->await.options.count > 0;
    assert(!text_empty(payload));
    *ret_result = payload;
    if (payload.size <= SIGNAL_BYTES_MAX && chooses && !make_choice(ctx, index, ret_result))
        return false;
    if (payload.size <= SIGNAL_BYTES_MAX && ret_result->size <= SIGNAL_BYTES_MAX)
        return true;
    decide_reject(ctx, CODE_TOO_LARGE, "the signal for step %.*s is %u bytes; the limit is %d",
                  TEXT_ARG(ctx->cmd->signal_order.step),
                  payload.size <= SIGNAL_BYTES_MAX ? ret_result->size : payload.size,
                  SIGNAL_BYTES_MAX);
    return false;
}

static void reject_fault(struct decide_ctx *ctx, const char *what, const struct decide_fault *fault)
{
    bool large = text_equal(fault->error_name, TEXT(ERROR_DATA_LIMIT));
    decide_reject(ctx, large ? CODE_TOO_LARGE : CODE_BAD_PAYLOAD, "%s of step %.*s: %.*s: %.*s",
                  what, TEXT_ARG(ctx->cmd->signal_order.step), TEXT_ARG(fault->error_name),
                  TEXT_ARG(fault->message));
}

/* Whether the step's Until is true of it, and if so, its output, which is never empty. False after
 * it rejected. */
static bool evaluate(struct decide_ctx *ctx, uint32_t index, struct text result, bool *ret_ready,
                     struct text *ret_output)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct decide_fault fault;
    *ret_ready = true;
    *ret_output = result;
    if (plan->until != NULL && !decide_test_until(ctx, index, result, ret_ready, &fault)) {
        reject_fault(ctx, "Until", &fault);
        return false;
    }
    if (!*ret_ready)
        return true;
    if (plan->output != NULL &&
        !decide_make_json(ctx, index, plan->output, result, SIGNAL_BYTES_MAX, ret_output, &fault)) {
        reject_fault(ctx, "Output", &fault);
        return false;
    }
    if (!decide_keeps_output(ctx, index, *ret_output, &fault)) {
        reject_fault(ctx, "the signal", &fault);
        return false;
    }
    return true;
}

/* False after it rejected: it has had enough. */
static bool has_room(struct decide_ctx *ctx, const struct step *step)
{
    if (step_has_early_signal(step)) {
        decide_reject(ctx, CODE_ALREADY_SIGNALLED,
                      "step %.*s has a signal%s%.*s, which it takes when its turn comes",
                      TEXT_ARG(step->name), text_empty(step->awaiting->by) ? "" : " of ",
                      TEXT_ARG(step->awaiting->by));
        return false;
    }
    if (step->awaiting != NULL && step->awaiting->signals >= SIGNALS_MAX) {
        decide_reject(ctx, CODE_TOO_MANY_SIGNALS, "step %.*s has had %u signals; the limit is %d",
                      TEXT_ARG(step->name), (unsigned)step->awaiting->signals, SIGNALS_MAX);
        return false;
    }
    return true;
}

/* ---- the signal ---- */

enum error_class command_check_signal(const struct command *cmd, struct error *ret_error)
{
    const struct signal_order *signal = &cmd->signal_order;
    if (text_empty(signal->payload))
        return error_set(ret_error, CODE_INVALID_COMMAND,
                         "payload must be JSON, with at most %d lists and maps within each other",
                         JSON_DEPTH_MAX);
    if (!utf8_printable(signal->id))
        return error_set(ret_error, CODE_INVALID_COMMAND, "id must be printable UTF-8");
    for (uint32_t i = 0; i < signal->groups.count; i++) {
        if (!name_valid(signal->groups.items[i]))
            return error_set(ret_error, CODE_INVALID_COMMAND,
                             "each of groups must be " NAME_EXPECTED);
    }
    return ERROR_OK;
}

static void receive(struct decide_ctx *ctx, const struct step *step, struct text payload, bool kept)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    decide_emit(ctx, &(struct event){.kind = EVENT_SIGNAL_RECEIVED,
                                     .signal_received = {.step = step->name,
                                                         .signal_id = cmd->id,
                                                         .payload = payload,
                                                         .by = cmd->by,
                                                         .kept = kept}});
    assert(step_has_early_signal(step) == kept);
}

static void pass(struct decide_ctx *ctx, const struct step *step, struct text output)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_PASSED,
                                     .step_passed = {.ref = step_attempt_ref(step),
                                                     .output = decide_without_null(output),
                                                     .signal_id = cmd->id,
                                                     .by = cmd->by}});
    assert(step->state == STEP_PROCESSED && step->effect == EFFECT_NONE);
    decide_advance(ctx);
}

void decide_signal(struct decide_ctx *ctx)
{
    const struct signal_order *cmd = &ctx->cmd->signal_order;
    struct text result, output;
    bool ready = false;
    assert(cmd->payload.size <= SIGNAL_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    if (!takes_signals(ctx))
        return;
    int index = find_await(ctx->workflow, cmd->step);
    if (index < 0) {
        decide_reject(ctx, CODE_UNKNOWN_STEP,
                      "the order has no Await %.*s; those that it has: %.*s", TEXT_ARG(cmd->step),
                      TEXT_ARG(list_awaits(ctx)));
        return;
    }
    assert((uint32_t)index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    if (!step_takes(ctx, (uint32_t)index) || !make_result(ctx, (uint32_t)index, &result) ||
        !evaluate(ctx, (uint32_t)index, result, &ready, &output) || !has_room(ctx, step))
        return;
    if (!ready)
        receive(ctx, step, result, false);
    else if (step->state == STEP_WAITING)
        pass(ctx, step, output);
    else
        receive(ctx, step, output, true);
}
