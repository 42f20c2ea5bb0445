/* SPDX-License-Identifier: Apache-2.0 */
/* See rehearsal.h. What happens next is whatever is due first: of what is due at the same time, an
 * operator's command goes before what agents and orders send, in the order in which it was sent,
 * and that before a deadline. */
#include "rehearsal/rehearsal.h"

#include "rehearsal/run.h"
#include "schemas/details.h"

#include <assert.h>

enum { SCRATCH_SIZE = 64 * 1024, ORDERS_SIZE = 64 * 1024 };

/* ---- what orders tell each other ---- */

static const struct order_parent *parent_copy(const struct order_parent *parent,
                                              struct arena *arena)
{
    struct order_details details = {.parent = parent};
    order_details_copy(&details, arena, &details);
    return details.parent;
}

/* What the engine sends outlives the Decision. */
static struct command *message_copy(const struct command *cmd, struct arena *arena)
{
    struct command *copy = ARENA_NEW(arena, struct command);
    struct report_suborder *report = &copy->report_suborder;
    struct settle_suborder *settle = &copy->settle_suborder;
    *copy = *cmd;
    copy->order_id = arena_text(arena, cmd->order_id);
    if (cmd->kind == COMMAND_SUBMIT_ORDER) {
        order_details_copy(&cmd->submit_order, arena, &copy->submit_order);
        copy->submit_order.content_hash = details_content_hash(&copy->submit_order);
    } else if (cmd->kind == COMMAND_REPORT_SUBORDER) {
        report->order_id = copy->order_id;
        report->step = arena_text(arena, report->step);
        report->output = arena_text(arena, report->output);
        report->error_name = arena_text(arena, report->error_name);
        report->error_message = arena_text(arena, report->error_message);
    } else {
        assert(cmd->kind == COMMAND_SETTLE_SUBORDER);
        settle->order_id = copy->order_id;
        settle->parent = parent_copy(settle->parent, arena);
        settle->reason = arena_text(arena, settle->reason);
    }
    return copy;
}

static void send_message(struct rehearsal_run *run, const struct order_message *message)
{
    struct pending pending = {.due_at = run->now,
                              .message = message_copy(&message->cmd, run->arena)};
    run_add_pending(run, &pending);
}

/* ---- deciding ---- */

/* The one that it is about; NULL: there is none. */
static struct run_order *order_of(struct rehearsal_run *run, const struct command *cmd)
{
    struct run_order *known = run_find_order(run, cmd->order_id);
    if (known != NULL || cmd->kind != COMMAND_SUBMIT_ORDER)
        return known;
    return run_add_order(run, &cmd->submit_order);
}

static void decide(struct rehearsal_run *run, struct command *cmd, bool outside)
{
    struct arena *scratch = &run->scratch.arena;
    struct decision decision;
    struct effects effects;
    struct run_order *order = order_of(run, cmd);
    struct decide_input input = {.now = run->now,
                                 .margin_ms = REHEARSAL_MARGIN_MS,
                                 .instance = TEXT("scheduler"),
                                 .workflow = order != NULL ? order->workflow : NULL,
                                 .command_offset = run->decisions,
                                 .command_time = run->now};
    heap_arena_reset(&run->scratch);
    command_make_canonical(cmd, scratch);
    engine_decide(run_is_accepted(order) ? &order->order : NULL, cmd, &input, scratch, &decision);
    decision.offset = run->decisions++;
    if (order != NULL)
        run_apply(run, order, &decision);
    run_tell(run, order, &decision, outside);
    effects_of(&decision, 0, run_is_accepted(order) ? &order->order : NULL, scratch, &effects);
    for (uint32_t i = 0; i < effects.request_count; i++)
        run_answer_request(run, order, &effects.requests[i]);
    for (uint32_t i = 0; i < effects.message_count; i++)
        send_message(run, &effects.messages[i]);
    run_move_orders(run);
}

/* ---- what happens next ---- */

static void advance_clock(struct rehearsal_run *run, int64_t to)
{
    if (to > run->now)
        run->now = to;
}

/* What is pending, or what the deadline of an order asks for. *ret_send false: an agent gave up
 * without a word. */
static void take_due(struct rehearsal_run *run, const struct run_order *order,
                     struct command *ret_cmd, bool *ret_send)
{
    struct pending *pending = run->pending;
    struct deadline deadline;
    if (order != NULL) {
        run_deadline(order, &deadline);
        advance_clock(run, deadline.due_at);
        deadline_command(&order->order, &deadline, TEXT("supervisor"), ret_cmd);
        return;
    }
    advance_clock(run, pending->due_at);
    run->pending = pending->next;
    if (pending->message != NULL) {
        *ret_cmd = *pending->message;
        return;
    }
    run_command_of_agent(run, pending, ret_cmd);
    *ret_send = run_still_reports(run, pending);
}

/* The order whose deadline is next; NULL: what is pending is. *ret_due_at INT64_MAX: nothing is. */
static const struct run_order *find_next(struct rehearsal_run *run, int64_t *ret_due_at)
{
    const struct pending *pending = run->pending;
    const struct run_order *order = NULL;
    *ret_due_at = pending != NULL ? pending->due_at : INT64_MAX;
    if (*ret_due_at > run->due_from)
        order = run_find_due(run);
    if (order == NULL || order->due_at >= *ret_due_at)
        return NULL;
    *ret_due_at = order->due_at;
    return order;
}

/* False: nothing happens any more. Orders that only ask each other have come to rest: nothing is
 * lost that they might ask for. */
static bool take_next(struct rehearsal_run *run, struct command *ret_cmd, bool *ret_send,
                      bool *ret_outside)
{
    int64_t due_at = 0;
    int64_t act_at = INT64_MAX;
    int64_t signal_at = 0;
    const struct case_act *act = run_next_act(run, &act_at);
    const struct run_order *order = find_next(run, &due_at);
    bool works = run->pending != NULL || run->working > 0;
    int signal = run_next_signal(run, due_at < act_at ? due_at : act_at, &signal_at);
    *ret_send = *ret_outside = true;
    if (signal >= 0) {
        run->signals_sent |= UINT64_C(1) << signal;
        advance_clock(run, signal_at);
        run_command_of_signal(run, &run->test->signals[signal], ret_cmd);
        return true;
    }
    if (act != NULL && (act_at != INT64_MAX ? act_at <= due_at : !works)) {
        run->acts_done++;
        advance_clock(run, act_at != INT64_MAX ? act_at : run->now);
        run_command_of_operator(run, act, ret_cmd);
        return true;
    }
    if (due_at == INT64_MAX ||
        (!works && run->limited == 0 && act == NULL && !run_has_signals(run)))
        return false;
    *ret_outside = false;
    take_due(run, order, ret_cmd, ret_send);
    return true;
}

static void run_init(struct rehearsal_run *run, const struct test_case *test,
                     const struct workflow *workflow, struct arena *arena, struct rehearsal *result)
{
    *run = (struct rehearsal_run){.test = test,
                                  .workflow = workflow,
                                  .arena = arena,
                                  .result = result,
                                  .now = REHEARSAL_START_MS,
                                  .due_from = INT64_MAX};
    *result = (struct rehearsal){0};
    run->story_end = &result->story;
    heap_arena_init(&run->scratch, SCRATCH_SIZE);
    for (int i = 0; i < 2; i++)
        heap_arena_init(&run->orders_of[i], ORDERS_SIZE);
}

void rehearse(const struct test_case *test, const struct workflow *workflow, struct arena *arena,
              struct rehearsal *ret_rehearsal)
{
    struct rehearsal_run run;
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER,
                          .order_id = test->details.order_id,
                          .submit_order = test->details};
    bool send = true, outside = true;
    run_init(&run, test, workflow, arena, ret_rehearsal);
    do {
        if (send)
            decide(&run, &cmd, outside);
    } while (run.decisions < REHEARSAL_DECISIONS_MAX && take_next(&run, &cmd, &send, &outside));
    ret_rehearsal->endless = run.decisions == REHEARSAL_DECISIONS_MAX;
    run_keep_orders(&run);
    for (int i = 0; i < 2; i++)
        heap_arena_deinit(&run.orders_of[i]);
    heap_arena_deinit(&run.scratch);
}
