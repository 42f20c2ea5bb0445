/* SPDX-License-Identifier: Apache-2.0 */
/* Operators, and senders of signals, as the case has them. */
#include "rehearsal/run.h"

void run_command_of_operator(struct rehearsal_run *run, const struct case_act *act,
                             struct command *ret_cmd)
{
    struct text id = run_order_id(run, &act->order);
    struct text by = TEXT("operator");
    *ret_cmd = (struct command){.kind = act->kind, .order_id = id};
    if (act->kind == COMMAND_CANCEL_ORDER)
        ret_cmd->cancel_order =
            (struct cancel_order){.order_id = id, .by = by, .reason = act->reason};
    else if (act->kind == COMMAND_COMPENSATE_ORDER)
        ret_cmd->compensate_order = (struct compensate_order){id, by, act->reason};
    else if (act->kind == COMMAND_RESUBMIT_STEP)
        ret_cmd->resubmit_step =
            (struct resubmit_step){id, act->step, by, act->reason, act->new_key, 0};
    else if (act->kind == COMMAND_COMPLETE_STEP)
        ret_cmd->complete_step =
            (struct complete_step){id, act->step, act->output, by, act->reason};
    else if (act->kind == COMMAND_SKIP_STEP)
        ret_cmd->skip_step =
            (struct skip_step){id, act->step, act->nothing_applied, by, act->reason};
    else if (act->kind == COMMAND_FAIL_STEP)
        ret_cmd->fail_step =
            (struct fail_step){id, act->step, act->error_name, by, act->reason, act->item};
    else if (act->kind == COMMAND_PAUSE_ORDER)
        ret_cmd->pause_order = (struct pause_order){id, by, act->reason};
    else if (act->kind == COMMAND_AMEND_ORDER)
        ret_cmd->amend_order = (struct amend_order){id, act->input, by, act->reason};
    else
        ret_cmd->resume_order = (struct resume_order){id, by, act->reason};
}

const struct case_act *run_next_act(const struct rehearsal_run *run, int64_t *ret_at)
{
    if (run->acts_done == run->test->act_count)
        return NULL;
    const struct case_act *act = &run->test->acts[run->acts_done];
    *ret_at = act->at_ms < 0 ? INT64_MAX : REHEARSAL_START_MS + act->at_ms;
    return act;
}

/* ---- signals ---- */

static bool waits_for(const struct rehearsal_run *run, const struct case_signal *signal)
{
    const struct run_place *place = run_find_place(run, &signal->order);
    if (place == NULL || !run_is_accepted(place->newest))
        return false;
    const struct order *order = &place->newest->order;
    int step = order_find_step(order, signal->step);
    return step >= 0 && order->steps[step].state == STEP_WAITING;
}

static bool is_sent(const struct rehearsal_run *run, uint32_t signal)
{
    return (run->signals_sent >> signal & 1) != 0;
}

/* One without a time comes as soon as its step waits. */
int run_next_signal(const struct rehearsal_run *run, int64_t until, int64_t *ret_at)
{
    int found = -1;
    for (uint32_t i = 0; i < run->test->signal_count && run_is_accepted(run->orders[0]); i++) {
        const struct case_signal *signal = &run->test->signals[i];
        bool timed = signal->at_ms >= 0;
        int64_t at = timed ? REHEARSAL_START_MS + signal->at_ms : run->now;
        if (is_sent(run, i) || at > until || !(timed || waits_for(run, signal)))
            continue;
        until = at - 1; /* of those of one time the first */
        *ret_at = at;
        found = (int)i;
    }
    return found;
}

bool run_has_signals(const struct rehearsal_run *run)
{
    for (uint32_t i = 0; i < run->test->signal_count; i++) {
        if (!is_sent(run, i) && run->test->signals[i].at_ms >= 0)
            return true;
    }
    return false;
}

void run_command_of_signal(struct rehearsal_run *run, const struct case_signal *signal,
                           struct command *ret_cmd)
{
    struct text id = run_order_id(run, &signal->order);
    *ret_cmd = (struct command){.kind = COMMAND_SIGNAL_ORDER,
                                .order_id = id,
                                .signal_order = {.order_id = id,
                                                 .step = signal->step,
                                                 .id = signal->id,
                                                 .payload = signal->payload,
                                                 .by = signal->by,
                                                 .groups = signal->groups}};
}
