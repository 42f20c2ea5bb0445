/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: steps that an agent performs. See engine/kinds.def.
 *
 * Each attempt is a request to one agent, the healthy one with the most free capacity. If there is
 * none, the step is queued: it stays Pending, without an attempt and without a deadline of its own,
 * so that an agent that is away or paused does not time out and undo its whole backlog. */
#include "base/utf8.h"
#include "engine/decide.h"
#include "engine/message.h"
#include "engine/output.h"

#include <assert.h>

/* How much of an error's message an alert repeats, so that the advice after it also fits. */
enum { ALERT_ERROR_BYTES = 400 };

/* An agent that could do the step, as it stands now. */
struct candidate {
    struct text agent;
    const struct agent_capacity *capacity; /* NULL: the agent is unknown */
    int64_t taken;                         /* of its capacity, by this Decision */
};

struct candidates {
    struct candidate of[STEP_AGENTS_MAX];
    uint32_t count;
};

static const struct agent_capacity *find_capacity(const struct routing *routing, struct text agent)
{
    assert(routing->count == 0 || routing->agents != NULL);
    for (uint32_t i = 0; i < routing->count; i++) {
        if (text_equal(routing->agents[i].agent, agent))
            return &routing->agents[i];
    }
    return NULL;
}

static int64_t taken_by(const struct decision *decision, struct text agent)
{
    int64_t taken = 0;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        taken += event->kind == EVENT_STEP_STARTED && text_equal(event->step_started.agent, agent);
    }
    assert(taken >= 0 && taken <= decision->event_count);
    return taken;
}

static bool is_healthy(const struct candidate *candidate)
{
    return candidate->capacity != NULL && candidate->capacity->healthy;
}

static int64_t free_capacity(const struct candidate *candidate)
{
    assert(candidate->taken >= 0);
    return is_healthy(candidate) ? candidate->capacity->free - candidate->taken : 0;
}

/* Only the service that was called remembers what the step may have done. */
static bool sticks(const struct step *step, enum direction direction)
{
    return direction == DIRECTION_UNDO || step->effect != EFFECT_NONE;
}

static void list_candidates(const struct decide_ctx *ctx, uint32_t index, enum direction direction,
                            struct candidates *candidates)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    bool only_one = sticks(step, direction);
    assert(index < ctx->order->step_count);
    assert(plan->agent_count >= 1 && plan->agent_count <= STEP_AGENTS_MAX);
    candidates->count = only_one || ctx->input->routing->first_only ? 1 : plan->agent_count;
    for (uint32_t i = 0; i < candidates->count; i++) {
        struct text agent = only_one ? step->agent : plan->agents[i];
        candidates->of[i] =
            (struct candidate){.agent = agent,
                               .capacity = find_capacity(ctx->input->routing, agent),
                               .taken = taken_by(ctx->decision, agent)};
    }
}

/* Index of the candidate that gets the step, or -1. */
static int choose(const struct candidates *candidates)
{
    assert(candidates->count >= 1 && candidates->count <= STEP_AGENTS_MAX);
    int chosen = -1;
    for (uint32_t i = 0; i < candidates->count; i++) {
        const struct candidate *candidate = &candidates->of[i];
        if (free_capacity(candidate) <= 0)
            continue;
        const struct candidate *best = chosen >= 0 ? &candidates->of[chosen] : NULL;
        if (best == NULL || free_capacity(candidate) > free_capacity(best) ||
            (free_capacity(candidate) == free_capacity(best) &&
             candidate->capacity->latency_p95_ms < best->capacity->latency_p95_ms))
            chosen = (int)i;
    }
    assert(chosen < (int)candidates->count);
    assert(chosen < 0 || free_capacity(&candidates->of[chosen]) > 0);
    return chosen;
}

/* ---- why ---- */

/* Texts one after the other, as long as they fit. */
struct reasons {
    char data[MESSAGE_BYTES_MAX];
    uint32_t size;
    bool full;
};

static void add_text(struct reasons *reasons, struct text text)
{
    assert(reasons->size <= MESSAGE_BYTES_MAX);
    struct text fits = utf8_cut(text, reasons->full ? 0 : MESSAGE_BYTES_MAX - reasons->size);
    if (fits.size > 0)
        memcpy(reasons->data + reasons->size, fits.data, fits.size);
    reasons->size += fits.size;
    assert(reasons->size <= MESSAGE_BYTES_MAX);
    reasons->full = reasons->full || fits.size < text.size;
}

static void add_reason(struct reasons *reasons, const struct candidate *candidate)
{
    if (reasons->size > 0)
        add_text(reasons, TEXT("; "));
    add_text(reasons, candidate->agent);
    add_text(reasons, TEXT(": "));
    if (candidate->capacity == NULL)
        add_text(reasons, TEXT("unknown agent"));
    else
        add_text(reasons, candidate->capacity->why);
    if (candidate->taken > 0)
        add_text(reasons, TEXT(", less what starts with it"));
}

/* Of all candidates, the chosen one first. */
static struct text reason_of(const struct decide_ctx *ctx, const struct candidates *candidates,
                             int chosen)
{
    assert(chosen >= -1 && chosen < (int)candidates->count);
    struct reasons reasons = {.size = 0};
    if (chosen >= 0)
        add_reason(&reasons, &candidates->of[chosen]);
    for (uint32_t i = 0; i < candidates->count; i++) {
        if ((int)i != chosen)
            add_reason(&reasons, &candidates->of[i]);
    }
    assert(reasons.size > 0);
    return arena_text(ctx->arena, (struct text){reasons.data, reasons.size});
}

/* ---- starting and queueing ---- */

/* What Input makes for the first attempt of a direction, and of a generation: the step keeps it for
 * those that follow. Empty where there is nothing to make. */
static bool make_input(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                       struct text *ret_input, struct decide_fault *ret_fault)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    bool undo = direction == DIRECTION_UNDO;
    bool own = undo && plan->compensate.input != NULL;
    const struct expression_template *template = own ? plan->compensate.input : plan->input;
    *ret_input = (struct text){0};
    if (template == NULL || (step->direction == direction && !text_empty(step->input)))
        return true;
    return decide_make_json(ctx, index, template, undo ? step->output : (struct text){0},
                            STEP_INPUT_BYTES_MAX, ret_input, ret_fault) &&
           decide_keeps_input(ctx, index, direction, *ret_input, ret_fault);
}

static void start(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                  struct text agent, struct text reason)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    bool undo = direction == DIRECTION_UNDO;
    int64_t timeout = undo ? plan->compensate.timeout_ms : plan->timeout_ms;
    uint32_t last = step->direction == direction ? step->attempt : 0;
    struct decide_fault fault;
    struct text input;
    assert(step->state != STEP_PROCESSING);
    assert(timeout > 0 && timeout <= DURATION_MS_MAX);
    if (!make_input(ctx, index, direction, &input, &fault)) {
        decide_fail_unstarted(ctx, index, direction, &fault);
        return;
    }
    decide_emit(
        ctx, &(struct event){.kind = EVENT_STEP_STARTED,
                             .step_started = {.ref = {step->name, direction, last + 1},
                                              .generation = step->generation[direction],
                                              .agent = agent,
                                              .action = undo ? plan->compensate.action : plan->name,
                                              .locked_by = ctx->input->instance,
                                              .complete_by = ctx->input->now + timeout,
                                              .margin_ms = ctx->input->margin_ms,
                                              .routing_reason = reason,
                                              .inputs = decide_inputs(ctx, index, direction),
                                              .input = input}});
    assert(step->state == STEP_PROCESSING);
    assert(step->direction == direction && step->attempt == last + 1);
    assert(step->complete_by > ctx->input->now);
}

/* Since when the step has been waiting for an agent in this direction; now, if it has not. */
static int64_t waiting_since(const struct decide_ctx *ctx, const struct step *step,
                             enum direction direction)
{
    struct wait wait = step_wait(step);
    bool waits = step->direction == direction && wait.kind == WAIT_QUEUE;
    return waits ? wait.since : ctx->input->now;
}

/* When to ask again: 0 if a healthy agent only lacks capacity, or is paused. Otherwise, the longer
 * the step has waited, the later. */
static int64_t ask_again_at(const struct decide_ctx *ctx, const struct candidates *candidates,
                            int64_t since)
{
    const struct routing *routing = ctx->input->routing;
    assert(routing != NULL && candidates->count >= 1);
    for (uint32_t i = 0; i < candidates->count; i++) {
        if (is_healthy(&candidates->of[i]))
            return 0;
    }
    int64_t wait = (ctx->input->now - since) / 2;
    if (wait > routing->retry_ms_max)
        wait = routing->retry_ms_max;
    if (wait < routing->retry_ms_min)
        wait = routing->retry_ms_min;
    assert(wait > 0 && wait <= routing->retry_ms_max);
    return ctx->input->now + wait;
}

/* False, and nothing else, where the step is queued as it is. */
static bool queue(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                  const struct candidates *candidates)
{
    const struct step *step = &ctx->order->steps[index];
    assert(step->state != STEP_PROCESSING);
    bool same = step->direction == direction;
    struct wait wait = step_wait(step);
    bool over = wait.until != 0 && wait.until <= ctx->input->now;
    if (same && wait.kind == WAIT_QUEUE && !over)
        return false;
    int64_t since = waiting_since(ctx, step, direction);
    decide_emit(ctx, &(struct event){
                         .kind = EVENT_STEP_QUEUED,
                         .step_queued = {.ref = {step->name, direction, same ? step->attempt : 0},
                                         .queued_at = since,
                                         .retry_at = ask_again_at(ctx, candidates, since),
                                         .reason = reason_of(ctx, candidates, -1)}});
    assert(step->state == STEP_PENDING);
    assert(step->direction == direction && step_wait(step).since == since);
    return true;
}

/* At the healthy agent with the most free capacity. False where the step is queued as it is. */
static bool start_or_queue(struct decide_ctx *ctx, uint32_t index, enum direction direction)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    const struct routing *routing = ctx->input->routing;
    struct text no_reason = {0};
    assert(text_equal(step->name, plan->name));
    assert(ctx->order->state ==
           (direction == DIRECTION_DO ? ORDER_PROCESSING : ORDER_COMPENSATING));
    assert(step->direction <= direction); /* an undo is never turned back */
    assert(direction == DIRECTION_DO || plan->has_compensate);
    struct text first = sticks(step, direction) ? step->agent : plan->agents[0];
    if (routing == NULL || (routing->first_only && find_capacity(routing, first) == NULL)) {
        start(ctx, index, direction, first, no_reason);
        return true;
    }
    assert(routing->retry_ms_min > 0 && routing->retry_ms_max >= routing->retry_ms_min);
    struct candidates candidates;
    list_candidates(ctx, index, direction, &candidates);
    int chosen = choose(&candidates);
    if (chosen < 0)
        return queue(ctx, index, direction, &candidates);
    bool explained = (plan->agent_count > 1 && !routing->first_only) ||
                     (step->direction == direction && step_wait(step).kind == WAIT_QUEUE);
    start(ctx, index, direction, candidates.of[chosen].agent,
          explained ? reason_of(ctx, &candidates, chosen) : no_reason);
    return true;
}

void task_start(struct decide_ctx *ctx, uint32_t index)
{
    start_or_queue(ctx, index, DIRECTION_DO);
}

void task_undo(struct decide_ctx *ctx, uint32_t index)
{
    start_or_queue(ctx, index, DIRECTION_UNDO);
}

/* ---- the end of an attempt ---- */

static void time_out(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    uint32_t failures = step->failure_count + 1;
    assert(ctx->cmd->kind == COMMAND_RECOVER_STEP);
    assert(step->complete_by > 0 && step->margin_ms >= 0);
    decide_emit(
        ctx, &(struct event){.kind = EVENT_STEP_TIMED_OUT,
                             .step_timed_out = {.ref = step_attempt_ref(step),
                                                .effect = step_effect_after(step, EFFECT_UNKNOWN),
                                                .failure_count = failures,
                                                .complete_by = step->complete_by,
                                                .by = command_asker(ctx->cmd)}});
    assert(step->state == STEP_PENDING);
    assert(step->complete_by == 0);
    assert(step_effect_after(step, EFFECT_NONE) != EFFECT_NONE); /* it may have done something */
    decide_follow_failure(ctx, index, TEXT(ERROR_TIMEOUT));
}

bool task_due(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step->state != STEP_PROCESSING)
        return start_or_queue(ctx, index, step->direction);
    time_out(ctx, index);
    return true;
}

static void succeed(struct decide_ctx *ctx, const struct step *step, struct text output)
{
    const struct report_step *report = &ctx->cmd->report_step;
    struct attempt_ref ref = step_attempt_ref(step);
    assert(report->succeeded);
    assert(step->state == STEP_PROCESSING);
    decide_emit(ctx, &(struct event){
                         .kind = EVENT_STEP_SUCCEEDED,
                         .step_succeeded = {.ref = ref, .output = output, .by = report->instance}});
    if (ref.direction == DIRECTION_UNDO)
        decide_emit(ctx,
                    &(struct event){.kind = EVENT_STEP_COMPENSATED, .step_marked = {.ref = ref}});
    assert(step->state == (ref.direction == DIRECTION_DO ? STEP_PROCESSED : STEP_COMPENSATED));
    assert(step->complete_by == 0);
}

/* The answer was definite: under the same key, the service would repeat it for ever. */
static void ask_again(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    uint32_t generation = step->generation[DIRECTION_DO];
    assert(step->state == STEP_PROCESSING && step->direction == DIRECTION_DO);
    decide_emit(ctx, &(struct event){
                         .kind = EVENT_STEP_FAILED,
                         .step_failed = {.ref = step_attempt_ref(step),
                                         .error_name = TEXT(ERROR_NOT_YET),
                                         .error_message = TEXT("Until is not true of the answer"),
                                         .effect = EFFECT_NONE,
                                         .failure_count = step->failure_count + 1,
                                         .by = ctx->cmd->report_step.instance,
                                         .not_yet = true}});
    assert(step->effect == EFFECT_NONE && step->generation[DIRECTION_DO] == generation + 1);
    decide_follow_failure(ctx, index, TEXT(ERROR_NOT_YET));
}

static void fail(struct decide_ctx *ctx, uint32_t index, const struct decide_fault *fault,
                 enum effect effect)
{
    assert(index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    assert(step->state == STEP_PROCESSING);
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_FAILED,
                                     .step_failed = {.ref = step_attempt_ref(step),
                                                     .error_name = fault->error_name,
                                                     .error_message = fault->message,
                                                     .effect = step_effect_after(step, effect),
                                                     .failure_count = step->failure_count + 1,
                                                     .by = ctx->cmd->report_step.instance}});
}

/* Whether the answer is what the step waits for. */
static bool test_until(struct decide_ctx *ctx, uint32_t index, bool *ret_yes,
                       struct decide_fault *ret_fault)
{
    *ret_yes = true;
    if (ctx->order->steps[index].direction == DIRECTION_UNDO ||
        decide_plan_of(ctx, index)->until == NULL)
        return true;
    return decide_test_until(ctx, index, ctx->cmd->report_step.output, ret_yes, ret_fault);
}

/* What the step keeps of its service's answer. Agents report all of it and do not know what its
 * step keeps: the version of the order decides that, which may change while the service works, and
 * an agent in another language need not be told. */
static bool make_output(struct decide_ctx *ctx, uint32_t index, struct text *ret_output,
                        struct decide_fault *ret_fault)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct text answer = ctx->cmd->report_step.output;
    struct text output = answer;
    bool undo = ctx->order->steps[index].direction == DIRECTION_UNDO;
    if (!undo && plan->output != NULL &&
        !decide_make_json(ctx, index, plan->output, answer, REPORT_OUTPUT_BYTES_MAX, &output,
                          ret_fault))
        return false;
    if (output.size > STEP_OUTPUT_BYTES_MAX)
        output = output_truncated(output.size, ctx->arena);
    if (!undo && !decide_keeps_output(ctx, index, output, ret_fault))
        return false;
    *ret_output = decide_without_null(output);
    return true;
}

/* A service that has done its work does not do it again because of what the order makes of its
 * answer, and would answer the same. */
void task_end(struct decide_ctx *ctx, uint32_t index)
{
    const struct report_step *report = &ctx->cmd->report_step;
    const struct step *step = &ctx->order->steps[index];
    struct decide_fault fault = {report->error_name, report->error_message};
    struct text output;
    bool ready = true;
    if (!report->succeeded) {
        if (text_empty(fault.error_name))
            fault.error_name = TEXT(ERROR_TASK_FAILED);
        fail(ctx, index, &fault, report->effect);
        decide_follow_failure(ctx, index, fault.error_name);
    } else if (!test_until(ctx, index, &ready, &fault) ||
               (ready && !make_output(ctx, index, &output, &fault))) {
        fail(ctx, index, &fault, EFFECT_APPLIED);
        decide_give_up(ctx, index, fault.error_name);
    } else if (ready) {
        succeed(ctx, step, output);
    } else {
        ask_again(ctx, index);
    }
}

/* ---- another version ---- */

static bool has_agent(const struct workflow_step *plan, struct text agent)
{
    assert(plan->agent_count >= 1);
    for (uint32_t i = 0; i < plan->agent_count; i++) {
        if (text_equal(plan->agents[i], agent))
            return true;
    }
    return false;
}

/* The same action undoes it. */
static bool same_undo(const struct workflow_step *a, const struct workflow_step *b)
{
    if (a->has_compensate != b->has_compensate)
        return false;
    return !a->has_compensate || text_equal(a->compensate.action, b->compensate.action);
}

const char *task_differs(const struct step *step, const struct workflow_step *plan,
                         const struct workflow_step *target)
{
    if (!has_agent(target, step->agent))
        return "has other agents than the one that it was given to";
    if (!template_equal(plan->input, target->input))
        return "has another Input";
    if (!expression_equal(plan->until, target->until))
        return "has another Until";
    return same_undo(plan, target) ? NULL : "is undone in another way";
}

/* ---- words ---- */

/* "Step TakePayment failed: Declined: no funds", "Undoing step ..." */
struct text task_describe(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    assert(step->failure_count > 0);
    assert(!text_empty(step->error_name));
    struct text said = utf8_cut(step->error_message, ALERT_ERROR_BYTES);
    return message_format(ctx->arena, "%s %.*s failed: %.*s%s%.*s",
                          step->direction == DIRECTION_UNDO ? "undoing step" : "step",
                          TEXT_ARG(step->name), TEXT_ARG(step->error_name),
                          text_empty(said) ? "" : ": ", TEXT_ARG(said));
}
