/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of engine_decide() share. Inside the engine only.
 *
 * The order in the context is a scratch copy: decide_emit() appends an event to the Decision and
 * applies it to the copy, so that the rules that follow see the state as the readers of the log
 * will. */
#ifndef ENGINE_DECIDE_H
#define ENGINE_DECIDE_H

#include "base/error.h"
#include "engine/engine.h"
#include "engine/expression/evaluate.h"

#include <assert.h>

struct decide_ctx {
    struct order *order; /* zeroed until OrderAccepted when there is none */
    bool exists;         /* there was an order before this command */
    const struct command *cmd;
    const struct decide_input *input;
    const struct workflow *workflow; /* NULL: see struct decide_input */
    struct arena *arena;             /* of what the Decision has */
    struct arena *scratch;           /* of what `order` has, and the order before it had not */
    struct decision *decision;
    uint32_t capacity;     /* of decision->events */
    uint64_t next_version; /* of the order, if this Decision changes it */
    /* Work that expressions took: of each step, and of all that began. */
    uint32_t step_units[WORKFLOW_STEPS_MAX];
    uint32_t units_used;
    struct expression_order_members order_members; /* that expressions have read */
    uint64_t item_bytes;                           /* that items have in the Decision */
    /* Each change of a list makes a new one: the numbers of items, by state, of the one counted
     * last. */
    const struct suborders *counted;
    uint32_t counts[ITEM_STATE_COUNT];
};

void decide_emit(struct decide_ctx *ctx, const struct event *event);

/* For tests: engine_decide() that also hands out the order as the decision leaves it: what
 * order_apply_decision() must make of the log. Its texts are borrowed; zeroed when there is
 * none. */
void engine_decide_and_apply(const struct order *order, const struct command *cmd,
                             const struct decide_input *input, struct arena *arena,
                             struct decision *ret_decision, struct order *ret_seen);

/* ---- refusing (decide.c): nothing but the one event is in the Decision ---- */

/* With whose sub-order it is about: `settle` for that one, or, with SETTLE_NONE, what its parent is
 * to know. */
void decide_reject_of_parent(struct decide_ctx *ctx, enum error_code code,
                             const struct order_parent *parent, enum settle settle,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));
/* CommandRejected; the sender and the attempt are the command's. */
void decide_reject(struct decide_ctx *ctx, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void decide_reject_early(struct decide_ctx *ctx, int64_t due_at);
void decide_reject_unknown_order(struct decide_ctx *ctx);
/* False after it rejected a command for an order that is unknown, or without its workflow. */
bool decide_require_order(struct decide_ctx *ctx);
/* The index of the step; -1 after it rejected the command, with the name that was perhaps meant. */
int decide_find_step(struct decide_ctx *ctx, struct text name);
/* The step that the command names, or NULL after it rejected, as above or because that attempt is
 * not current. */
const struct step *decide_require_attempt(struct decide_ctx *ctx, struct text name,
                                          enum direction direction, uint32_t attempt,
                                          uint32_t *ret_index);

/* ---- the commands ---- */

/* Each is in a file of its own; those of one subject share one. */
#define UNCHECKED
#define CHECK(function) \
    enum error_class function(const struct command *cmd, struct error *ret_error);
#define COMMAND(number, kind, record, type, member, from, about, check, decide) \
    void decide(struct decide_ctx *ctx);                                        \
    check
#include "engine/commands.def"
#undef UNCHECKED
#undef CHECK

/* ---- operators (decide_operator.c) ---- */

/* False after it rejected: the order can no longer be turned back. */
bool decide_may_turn_back(struct decide_ctx *ctx);
void decide_turn_back(struct decide_ctx *ctx, const struct order_marked *marked);
/* The order in Error goes on: OrderResumed, a new deadline (`timeout_ms` from now; 0: the
 * workflow's), AlertClosed. What may start now is yet to be started. */
void decide_leave_error(struct decide_ctx *ctx, const struct order_marked *marked,
                        int64_t timeout_ms);

/* ---- what follows ---- */

/* decide_progress.c: starts whatever may start now, ends the order when nothing is left. */
void decide_advance(struct decide_ctx *ctx);
/* The steps after which others may start: Processed, Skipped or Caught. */
uint64_t decide_finished_steps(const struct order *order);

/* The steps whose outputs an attempt in that direction is sent, as StepStarted has them. */
int64_t decide_inputs(const struct decide_ctx *ctx, uint32_t index, enum direction direction);

/* decide_begin.c: the turn of the Pending step has come, or its wait may be over; or that of the
 * Waiting step is. False where it waits as it did. */
bool decide_proceed(struct decide_ctx *ctx, uint32_t index);

/* decide_failure.c: after StepFailed or StepTimedOut of this step: retry, go on, compensate or
 * Error. */
void decide_follow_failure(struct decide_ctx *ctx, uint32_t index, struct text error_name);
/* The same without a retry, which would change nothing. */
void decide_give_up(struct decide_ctx *ctx, uint32_t index, struct text error_name);
/* Why a step fails that no agent failed. */
struct decide_fault {
    struct text error_name;
    struct text message;
};
/* StepFailedUnstarted and what follows, without a retry. */
void decide_fail_unstarted(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                           const struct decide_fault *fault);
/* What is known of an attempt's direction after one more report or timeout. */
enum effect step_effect_after(const struct step *step, enum effect reported);
/* OrderFailed and AlertRaised. `step` is empty when the order as a whole is at fault. */
void decide_fail_order(struct decide_ctx *ctx, struct text code, struct text step,
                       struct text reason);

/* Whatever a Catch says: a step that cannot be undone is in Error, and so is its order. */
void decide_stop(struct decide_ctx *ctx, uint32_t index, struct text error_name);

/* decide_compensation.c. `marked` says why; it becomes CompensationStarted. */
void decide_begin_compensation(struct decide_ctx *ctx, const struct order_marked *marked);
void decide_advance_compensation(struct decide_ctx *ctx);
/* StepSkipped for a step that is Pending or Waiting and leaves nothing to be undone. */
void decide_skip_if_no_effect(struct decide_ctx *ctx, uint32_t index);
/* Whether a compensation would undo something. */
bool decide_undoes_any(const struct decide_ctx *ctx);
/* The steps that wait for the pivot, directly or not; the workflow has one. */
uint64_t workflow_behind_pivot(const struct workflow *workflow);
/* The step that leaves no way back, or -1: an attempt of it runs or may have had an effect, and it
 * is the pivot, or one behind a pivot that an operator skipped. */
int order_past_pivot(const struct order *order, const struct workflow *workflow);
static inline bool order_can_be_undone(const struct order *order, const struct workflow *workflow)
{
    return order_past_pivot(order, workflow) < 0;
}

/* ---- sub-orders ---- */

/* decide_suborders.c: of a step of orders that runs, or of any other one, which stays as it is:
 * recalls what must be undone, submits what may go, ends the step once all have answered. */
void decide_go_on_suborders(struct decide_ctx *ctx, uint32_t index);
/* The step, which is Pending, fails again: what one of its items did was not undone. */
void decide_fail_undo(struct decide_ctx *ctx, uint32_t index);
/* SubordersRecalled in the direction, whether one is to be undone or not. */
void decide_recall(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                   struct text error_name, struct text reason);
/* When an order asks again, or is asked: the longer ago `since` is, the later. */
int64_t decide_next_ask(const struct decide_ctx *ctx, int64_t since);
int64_t decide_next_step_ask(const struct decide_ctx *ctx, uint32_t index);
/* Whether the step can be recalled: it is neither the pivot nor behind it. */
bool decide_may_recall(const struct decide_ctx *ctx, uint32_t index);
/* The order is being undone, or was before its Error. */
bool decide_is_undone(const struct order *order);
/* decide_report_suborder.c: FailStep of an item. */
void decide_fail_item(struct decide_ctx *ctx);

/* ---- expressions (decide_evaluate.c) ---- */

/* Each is false after it filled *ret_fault, and nothing else. Texts may be borrowed from the order
 * and the workflow. */

/* Whether expressions have left time for another step. */
bool decide_has_units(const struct decide_ctx *ctx);
/* The step's When, which it has. */
bool decide_test_when(struct decide_ctx *ctx, uint32_t index, bool *ret_yes,
                      struct decide_fault *ret_fault);
/* A template of the step, as canonical JSON of at most `bytes_max` bytes; `result`: what it may
 * read by this name. */
bool decide_make_json(struct decide_ctx *ctx, uint32_t index,
                      const struct expression_template *template, struct text result,
                      uint32_t bytes_max, struct text *ret_json, struct decide_fault *ret_fault);
/* The same as a text. */
bool decide_make_text(struct decide_ctx *ctx, uint32_t index,
                      const struct expression_template *template, uint32_t bytes_max,
                      struct text *ret_text, struct decide_fault *ret_fault);
/* A number of seconds, at most DURATION_MS_MAX; and a time of RFC 3339. In milliseconds. */
bool decide_make_duration(struct decide_ctx *ctx, uint32_t index,
                          const struct expression *expression, int64_t *ret_ms,
                          struct decide_fault *ret_fault);
bool decide_make_moment(struct decide_ctx *ctx, uint32_t index, const struct expression *expression,
                        int64_t *ret_ms, struct decide_fault *ret_fault);
/* The list of a ForEach: of any length. */
bool decide_make_list(struct decide_ctx *ctx, uint32_t index, struct text *ret_json,
                      struct decide_fault *ret_fault);
/* The step's Input, which it has, for a sub-order; `item` is empty without ForEach. It has a budget
 * of its own. */
bool decide_make_item_input(struct decide_ctx *ctx, uint32_t index, struct text item,
                            int64_t number, struct text *ret_json, struct decide_fault *ret_fault);
/* The step's StopWhen, which it has, of what a sub-order put out. */
bool decide_test_stop_when(struct decide_ctx *ctx, uint32_t index, struct text result,
                           bool *ret_yes, struct decide_fault *ret_fault);
/* The step's Until, which it has, of an answer. */
bool decide_test_until(struct decide_ctx *ctx, uint32_t index, struct text result, bool *ret_yes,
                       struct decide_fault *ret_fault);
/* The workflow's Output, which it has. */
bool decide_make_order_output(struct decide_ctx *ctx, struct text *ret_json,
                              struct decide_fault *ret_fault);
/* Outputs that are null are kept as an empty text. */
struct text decide_without_null(struct text json);
/* Whether the order can keep this output of the step, or this input of its attempts. */
bool decide_keeps_output(const struct decide_ctx *ctx, uint32_t index, struct text output,
                         struct decide_fault *ret_fault);
bool decide_keeps_input(const struct decide_ctx *ctx, uint32_t index, enum direction direction,
                        struct text input, struct decide_fault *ret_fault);

/* ---- small questions ---- */

/* False after it rejected: the order is Held, and its parent decides. */
bool decide_is_free(struct decide_ctx *ctx);
/* AlertClosed, if an alert is open. */
void decide_close_alert(struct decide_ctx *ctx, const struct order_marked *marked);

/* decide_cancel.c: a token asks to cancel an order that was submitted without it. */
bool decide_cancels_anothers(const struct decide_ctx *ctx);

static inline struct attempt_ref step_attempt_ref(const struct step *step)
{
    return (struct attempt_ref){step->name, step->direction, step->attempt};
}

/* Whether a step that is Pending or Waiting is to be looked at now: it does not wait for its next
 * attempt, nor for a moment or a signal. */
static inline bool decide_may_start(const struct decide_ctx *ctx, const struct step *step)
{
    assert(step->state == STEP_PENDING || step->state == STEP_WAITING);
    struct wait wait = step_wait(step);
    if (wait.kind == WAIT_SIGNAL)
        return wait.until != 0 && wait.until <= ctx->input->now;
    bool timed = wait.kind == WAIT_RETRY || wait.kind == WAIT_TIME;
    return !timed || wait.until <= ctx->input->now;
}

static inline const struct workflow_step *decide_plan_of(const struct decide_ctx *ctx,
                                                         uint32_t index)
{
    assert(index < ctx->workflow->step_count);
    return &ctx->workflow->steps[index];
}

/* ---- the kinds of steps ---- */

/* A row of engine/kinds.def, which explains the columns. */
struct step_kind_row {
    void (*start)(struct decide_ctx *ctx, uint32_t index);
    bool (*due)(struct decide_ctx *ctx, uint32_t index);
    void (*end)(struct decide_ctx *ctx, uint32_t index);
    void (*undo)(struct decide_ctx *ctx, uint32_t index);
    const char *(*differs)(const struct step *step, const struct workflow_step *plan,
                           const struct workflow_step *target);
    struct text (*describe)(struct decide_ctx *ctx, uint32_t index);
};

#define STEP_KIND(kind, start, due, end, undo, differs, describe)                  \
    void start(struct decide_ctx *ctx, uint32_t index);                            \
    bool due(struct decide_ctx *ctx, uint32_t index);                              \
    void end(struct decide_ctx *ctx, uint32_t index);                              \
    void undo(struct decide_ctx *ctx, uint32_t index);                             \
    const char *differs(const struct step *step, const struct workflow_step *plan, \
                        const struct workflow_step *target);                       \
    struct text describe(struct decide_ctx *ctx, uint32_t index);
#include "engine/kinds.def"

/* decide.c */
const struct step_kind_row *decide_kind_of(const struct decide_ctx *ctx, uint32_t index);

#endif
