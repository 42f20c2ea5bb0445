/* SPDX-License-Identifier: Apache-2.0 */
/* The deadlines that a supervisor watches, as a function of the order alone. */
#include "engine/engine.h"

#include <assert.h>

/* Which direction may start attempts in a state of the order; DIRECTION_COUNT = none. */
static const enum direction startable[] = {
    [ORDER_PENDING] = DIRECTION_DO,        [ORDER_PROCESSING] = DIRECTION_DO,
    [ORDER_PROCESSED] = DIRECTION_COUNT,   [ORDER_COMPENSATING] = DIRECTION_UNDO,
    [ORDER_COMPENSATED] = DIRECTION_COUNT, [ORDER_ERROR] = DIRECTION_COUNT,
    [ORDER_HELD] = DIRECTION_COUNT,
};
_Static_assert(sizeof(startable) / sizeof(startable[0]) == ORDER_STATE_COUNT,
               "one row per state of an order");

static bool step_deadline(const struct order *order, uint32_t index, struct deadline *ret_deadline)
{
    assert(index < order->step_count);
    const struct step *step = &order->steps[index];
    struct wait wait = step_wait(step);
    assert(wait.kind == WAIT_NONE || step->state == STEP_PENDING || step->state == STEP_WAITING);
    if (step->state == STEP_PROCESSING) {
        assert(step->complete_by > 0);
        assert(step->margin_ms >= 0 && step->margin_ms <= DURATION_MS_MAX);
        *ret_deadline =
            (struct deadline){DEADLINE_RECOVER, step->complete_by + step->margin_ms, index};
        return true;
    }
    if (wait.until != 0 && order->paused_at == 0 && step->direction == startable[order->state]) {
        *ret_deadline = (struct deadline){DEADLINE_START, wait.until, index};
        return true;
    }
    return false;
}

uint32_t deadlines_of(const struct order *order, struct deadline ret_deadlines[DEADLINES_MAX])
{
    if (order_ended(order))
        return 0;
    assert(order->step_count <= WORKFLOW_STEPS_MAX);
    assert(order->complete_by >= 0 && order->margin_ms >= 0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (step_deadline(order, i, &ret_deadlines[count]))
            count++;
    }
    bool watched = startable[order->state] == DIRECTION_DO || order->state == ORDER_HELD;
    if (order->complete_by != 0 && watched)
        ret_deadlines[count++] =
            (struct deadline){DEADLINE_ORDER, order->complete_by + order->margin_ms, UINT32_MAX};
    assert(count <= DEADLINES_MAX);
    return count;
}

void deadline_command(const struct order *order, const struct deadline *deadline, struct text by,
                      struct command *ret_cmd)
{
    struct text order_id = order->details.order_id;
    *ret_cmd = (struct command){.order_id = order_id};
    const struct step *step = NULL;
    if (deadline->kind != DEADLINE_ORDER) {
        assert(deadline->step < order->step_count);
        step = &order->steps[deadline->step];
    }
    switch (deadline->kind) {
    case DEADLINE_RECOVER:
        ret_cmd->kind = COMMAND_RECOVER_STEP;
        ret_cmd->recover_step = (struct recover_step){
            order_id, step->name, step->direction, step->attempt, step->complete_by, by};
        return;
    case DEADLINE_START:
        ret_cmd->kind = COMMAND_START_STEP;
        ret_cmd->start_step = (struct start_step){
            order_id, step->name, step->direction, step->attempt, step_wait(step).until, by};
        return;
    case DEADLINE_ORDER:
        ret_cmd->kind = COMMAND_TIME_OUT_ORDER;
        ret_cmd->time_out_order = (struct time_out_order){order_id, order->complete_by, by};
        return;
    case DEADLINE_KIND_COUNT:
        break;
    }
    assert(false && "a kind of deadline");
}
