/* SPDX-License-Identifier: Apache-2.0 */
/* engine_decide(): one command, one Decision, without exception. */
#include "engine/decide.h"

#include "base/suggest.h"
#include "engine/apply.h"
#include "engine/message.h"

#include <assert.h>

enum { EVENTS_AT_FIRST = 8 };

static struct event *next_event(struct decide_ctx *ctx)
{
    struct decision *decision = ctx->decision;
    assert(decision->event_count < DECISION_EVENTS_MAX);
    assert(decision->event_count <= ctx->capacity);
    if (decision->event_count == ctx->capacity) {
        uint32_t capacity = ctx->capacity * 2;
        struct event *events = ARENA_ARRAY(ctx->arena, struct event, capacity);
        memcpy(events, decision->events, sizeof(*events) * decision->event_count);
        decision->events = events;
        ctx->capacity = capacity;
    }
    assert(decision->event_count < ctx->capacity);
    return &decision->events[decision->event_count++];
}

void decide_emit(struct decide_ctx *ctx, const struct event *event)
{
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    assert(ctx->decision->event_count == 0 ||
           event_changes_order(ctx->decision->events[0].kind)); /* a rejection stands alone */
    *next_event(ctx) = *event;
    if (!event_changes_order(event->kind)) {
        assert(ctx->decision->event_count == 1);
        return;
    }
    struct apply_ctx apply_ctx = {.order = ctx->order,
                                  .version = ctx->next_version,
                                  .decided_at = ctx->input->now,
                                  .arena = ctx->scratch,
                                  .borrow = true};
    apply_event(&apply_ctx, event);
    assert(ctx->order->version == ctx->next_version);
}

/* ---- refusing ---- */

static void emit_rejected(struct decide_ctx *ctx, enum error_code code, struct text reason,
                          int64_t due_at, const struct order_parent *parent, enum settle settle)
{
    assert(ctx->decision->event_count == 0);
    assert(code != CODE_NONE);
    assert(reason.size > 0 && reason.size <= MESSAGE_BYTES_MAX);
    assert(due_at >= 0);
    decide_emit(ctx, &(struct event){.kind = EVENT_COMMAND_REJECTED,
                                     .command_rejected = {.command = ctx->cmd->kind,
                                                          .code = error_code_text(code),
                                                          .reason = reason,
                                                          .by = command_asker(ctx->cmd),
                                                          .ref = command_attempt(ctx->cmd),
                                                          .due_at = due_at,
                                                          .parent = parent,
                                                          .settle = settle}});
    assert(ctx->decision->event_count == 1);
}

void decide_reject(struct decide_ctx *ctx, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct text reason = message_vformat(ctx->arena, format, arguments);
    va_end(arguments);
    emit_rejected(ctx, code, reason, 0, NULL, SETTLE_NONE);
}

void decide_reject_of_parent(struct decide_ctx *ctx, enum error_code code,
                             const struct order_parent *parent, enum settle settle,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct text reason = message_vformat(ctx->arena, format, arguments);
    va_end(arguments);
    emit_rejected(ctx, code, reason, 0, parent, settle);
}

void decide_reject_early(struct decide_ctx *ctx, int64_t due_at)
{
    assert(due_at > ctx->input->now);
    struct text reason = message_format(ctx->arena, "not due for another %lld ms",
                                        (long long)(due_at - ctx->input->now));
    emit_rejected(ctx, CODE_NOT_YET_DUE, reason, due_at, NULL, SETTLE_NONE);
}

void decide_reject_unknown_order(struct decide_ctx *ctx)
{
    assert(!ctx->exists && ctx->order->version == 0);
    decide_reject(ctx, CODE_UNKNOWN_ORDER, "there is no order %.*s", TEXT_ARG(ctx->cmd->order_id));
}

/* Another definition under the pinned name and version, as in a recreated topic, is not the order's
 * workflow. */
static bool is_orders_workflow(const struct workflow *workflow, const struct order *order)
{
    assert(order->version > 0 && order->step_count >= 1);
    if (workflow == NULL || workflow->step_count != order->step_count)
        return false;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        const struct workflow_step *plan = &workflow->steps[i];
        bool undo = step->direction == DIRECTION_UNDO;
        bool acts = step->state == STEP_PROCESSING || undo;
        bool splits = plan->kind == STEP_KIND_SUBORDERS;
        bool waits = step->state == STEP_WAITING;
        bool awaits = plan->kind == STEP_KIND_AWAIT;
        /* An order names an agent of each step that has any, as of its acceptance or migration. */
        bool unlike = text_empty(step->agent) && plan->agent_count > 0;
        if (!text_equal(plan->name, step->name) || unlike ||
            (acts && plan->agent_count == 0 && !splits) ||
            (undo && !plan->has_compensate && !splits) || (waits && !workflow_step_waits(plan)) ||
            (step->awaiting != NULL ? !awaits : waits && awaits))
            return false;
        if (step->suborders == NULL
                ? splits && acts
                : !splits || text_empty(step->suborders->list) == plan->suborders.for_each)
            return false;
    }
    return true;
}

bool decide_require_order(struct decide_ctx *ctx)
{
    if (!ctx->exists) {
        decide_reject_unknown_order(ctx);
        return false;
    }
    if (!is_orders_workflow(ctx->workflow, ctx->order)) {
        const struct order_details *details = &ctx->order->details;
        decide_reject(ctx, CODE_UNKNOWN_WORKFLOW,
                      "version %u of the order's workflow %.*s is not available",
                      (unsigned)details->workflow_version, TEXT_ARG(details->workflow));
        return false;
    }
    assert(ctx->order->version > 0 && ctx->order->version + 1 == ctx->next_version);
    assert(ctx->workflow->step_count == ctx->order->step_count); /* one index for both */
    return true;
}

int decide_find_step(struct decide_ctx *ctx, struct text name)
{
    const struct order *order = ctx->order;
    int index = order_find_step(order, name);
    if (index >= 0)
        return index;
    struct text *names = ARENA_ARRAY(ctx->arena, struct text, order->step_count);
    for (uint32_t i = 0; i < order->step_count; i++)
        names[i] = order->steps[i].name;
    const struct text *nearest = suggest_text(name, names, order->step_count);
    if (nearest != NULL)
        decide_reject(ctx, CODE_UNKNOWN_STEP, "the order has no step %.*s; did you mean %.*s?",
                      TEXT_ARG(name), TEXT_ARG(*nearest));
    else
        decide_reject(ctx, CODE_UNKNOWN_STEP, "the order has no step %.*s", TEXT_ARG(name));
    return -1;
}

const struct step *decide_require_attempt(struct decide_ctx *ctx, struct text name,
                                          enum direction direction, uint32_t attempt,
                                          uint32_t *ret_index)
{
    if (!decide_require_order(ctx))
        return NULL;
    int index = decide_find_step(ctx, name);
    if (index < 0)
        return NULL;
    assert((uint32_t)index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    if (step->direction != direction || step->attempt != attempt) {
        decide_reject(ctx, CODE_STALE, "the current attempt of step %.*s is %u (%s)",
                      TEXT_ARG(name), (unsigned)step->attempt, direction_name(step->direction));
        return NULL;
    }
    *ret_index = (uint32_t)index;
    return step;
}

/* ---- the kinds of steps ---- */

const struct step_kind_row *decide_kind_of(const struct decide_ctx *ctx, uint32_t index)
{
    static const struct step_kind_row rows[STEP_KIND_COUNT] = {
#define STEP_KIND(kind, start, due, end, undo, differs, describe) \
    [STEP_KIND_##kind] = {start, due, end, undo, differs, describe},
#include "engine/kinds.def"
    };
    enum step_kind kind = decide_plan_of(ctx, index)->kind;
    assert((unsigned)kind < STEP_KIND_COUNT);
    return &rows[kind];
}

/* ---- one command ---- */

static void decide_undecodable(struct decide_ctx *ctx)
{
    assert(ctx->cmd->kind == COMMAND_UNDECODABLE);
    assert(ctx->decision->event_count == 0);
    decide_emit(ctx, &(struct event){.kind = EVENT_COMMAND_DEAD_LETTERED,
                                     .command_dead_lettered = ctx->cmd->undecodable});
}

static void (*const deciders[COMMAND_KIND_COUNT])(struct decide_ctx *ctx) = {
    [COMMAND_UNDECODABLE] = decide_undecodable,
#define COMMAND(number, kind, record, type, member, from, about, check, decide) \
    [COMMAND_##kind] = (decide),
#include "engine/commands.def"
};

static void dispatch(struct decide_ctx *ctx)
{
    assert((unsigned)ctx->cmd->kind < COMMAND_KIND_COUNT);
    assert(ctx->decision->event_count == 0);
    deciders[ctx->cmd->kind](ctx);
}

/* The order as it will be, with steps of its own and borrowed texts. */
static struct order scratch_copy(const struct order *order, struct arena *arena)
{
    struct order scratch = *order;
    assert(order->steps != NULL);
    assert(order->step_count >= 1 && order->step_count <= WORKFLOW_STEPS_MAX);
    scratch.steps = ARENA_ARRAY(arena, struct step, order->step_count);
    memcpy(scratch.steps, order->steps, sizeof(struct step) * order->step_count);
    return scratch;
}

static void check_workflow(const struct workflow *workflow)
{
    if (workflow == NULL)
        return;
    assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
    assert(workflow->pivot >= -1 && workflow->pivot < (int)workflow->step_count);
}

static void check_input(const struct decide_input *input)
{
    const struct workflow *workflow = input->workflow;
    assert(input->now > 0);
    assert(input->margin_ms >= 0);
    assert(input->submission_age_ms_max >= 0);
    if (input->routing != NULL) {
        assert(input->routing->retry_ms_min > 0);
        assert(input->routing->retry_ms_max >= input->routing->retry_ms_min);
    }
    check_workflow(workflow);
    check_workflow(input->target);
}

/* The answer goes to the order's application, or to another one whose command is refused. */
static struct text reply_to(const struct decide_ctx *ctx)
{
    const struct command *cmd = ctx->cmd;
    assert(ctx->decision->event_count > 0);
    bool anothers = cmd->kind == COMMAND_CANCEL_ORDER && decide_cancels_anothers(ctx);
    bool refused = cmd->kind == COMMAND_SUBMIT_ORDER &&
                   ctx->decision->events[0].kind == EVENT_COMMAND_REJECTED;
    bool signals = cmd->kind == COMMAND_SIGNAL_ORDER &&
                   ctx->decision->events[0].kind == EVENT_COMMAND_REJECTED;
    return ctx->order->version > 0 && !anothers && !refused && !signals
               ? ctx->order->details.reply_to
               : command_reply_to(cmd);
}

void engine_decide_and_apply(const struct order *order, const struct command *cmd,
                             const struct decide_input *input, struct arena *arena,
                             struct decision *ret_decision, struct order *ret_seen)
{
    check_input(input);
    struct arena *memory = input->scratch != NULL ? input->scratch : arena;
    struct order scratch = {0};
    if (order != NULL) {
        assert(order_problem(order) == NULL);
        scratch = scratch_copy(order, memory);
    }
    *ret_decision = (struct decision){.command_offset = input->command_offset,
                                      .command_time = input->command_time,
                                      .order_id = cmd->order_id,
                                      .decided_at = input->now,
                                      .emitted_through = -1,
                                      .events = ARENA_ARRAY(arena, struct event, EVENTS_AT_FIRST)};
    struct decide_ctx ctx = {.order = &scratch,
                             .exists = order != NULL,
                             .cmd = cmd,
                             .input = input,
                             .workflow = input->workflow,
                             .arena = arena,
                             .scratch = memory,
                             .decision = ret_decision,
                             .capacity = EVENTS_AT_FIRST,
                             .next_version = scratch.version + 1};
    dispatch(&ctx);
    assert(ret_decision->event_count >= 1 && ret_decision->event_count <= DECISION_EVENTS_MAX);
    assert(decision_changes_order(ret_decision) == (scratch.version == ctx.next_version));
    ret_decision->order_version = scratch.version;
    ret_decision->order_state = scratch.state;
    if (scratch.version > 0)
        assert(order_problem(&scratch) == NULL);
    ret_decision->reply_to = reply_to(&ctx);
    *ret_seen = scratch;
}

void engine_decide(const struct order *order, const struct command *cmd,
                   const struct decide_input *input, struct arena *arena,
                   struct decision *ret_decision)
{
    struct order seen;
    engine_decide_and_apply(order, cmd, input, arena, ret_decision, &seen);
}
