/* SPDX-License-Identifier: Apache-2.0 */
/* See engine_distort.h. */
#include "tests/property/engine_distort.h"

#include "tests/lib/engine_memory.h"

static void distort_attempt(struct dice *dice, struct attempt_ref *ref)
{
    uint32_t kind = dice_roll(dice, 3);
    if (kind == 0)
        ref->attempt = dice_roll(dice, 4);
    else if (kind == 1)
        ref->direction = (enum direction)dice_roll(dice, DIRECTION_COUNT);
    else
        ref->step = TEXT("elsewhere");
}

static void distort_time(struct event *event)
{
    if (event->kind == EVENT_STEP_STARTED)
        event->step_started.complete_by = 0;
    else if (event->kind == EVENT_STEP_EXTENDED)
        event->step_extended.complete_by = 1;
    else if (event->kind == EVENT_STEP_RETRY_SCHEDULED)
        event->step_retry_scheduled.retry_at = 0;
    else if (event->kind == EVENT_STEP_WAITING)
        event->step_waiting.due_at = 0;
    else if (event->kind == EVENT_STEP_FAILED)
        event->step_failed.not_yet = !event->step_failed.not_yet;
    else if (event->kind == EVENT_SIGNAL_RECEIVED)
        event->signal_received.kept = !event->signal_received.kept;
}

/* One field of the Decision is another one than it was. */
static void distort(struct dice *dice, uint64_t version, const struct event *other,
                    struct decision *decision)
{
    struct event *event = &decision->events[dice_roll(dice, decision->event_count)];
    switch (dice_roll(dice, 6)) {
    case 0:
        decision->order_version = version + dice_roll(dice, 3);
        break;
    case 1:
        decision->order_state = (enum order_state)dice_roll(dice, ORDER_STATE_COUNT);
        break;
    case 2:
        decision->event_count = dice_roll(dice, decision->event_count + 1);
        break;
    case 3:
        *event = *other;
        break;
    case 4:
        if (event_is_of_step(event->kind))
            distort_attempt(dice, &event->step_marked.ref);
        break;
    default:
        distort_time(event);
        break;
    }
}

/* ---- what follows ---- */

/* Any command about the order, as it could stand in the log. */
static struct command any_command(struct dice *dice, const struct order *order)
{
    const struct step *step = &order->steps[dice_roll(dice, order->step_count)];
    struct text id = order->details.order_id;
    struct text by = TEXT("another writer");
    static const struct text managers[] = {TEXT_CONST("managers")};
    struct text_list groups = {managers, 1};
    struct command cmd = {.order_id = id};
    cmd.kind =
        (enum command_kind)(COMMAND_CANCEL_ORDER + dice_roll(dice, COMMAND_SIGNAL_ORDER - 1));
    if (cmd.kind == COMMAND_CANCEL_ORDER)
        cmd.cancel_order = (struct cancel_order){.order_id = id, .by = by};
    else if (cmd.kind == COMMAND_REPORT_STEP)
        cmd.report_step = (struct report_step){.order_id = id,
                                               .step = step->name,
                                               .direction = step->direction,
                                               .attempt = step->attempt,
                                               .succeeded = dice_percent(dice, 50),
                                               .error_name = TEXT("E"),
                                               .effect = (enum effect)dice_roll(dice, 3)};
    else if (cmd.kind == COMMAND_RECOVER_STEP)
        cmd.recover_step = (struct recover_step){
            id, step->name, step->direction, step->attempt, step->complete_by, by};
    else if (cmd.kind == COMMAND_START_STEP)
        cmd.start_step = (struct start_step){
            id, step->name, step->direction, step->attempt, step_wait(step).until, by};
    else if (cmd.kind == COMMAND_TIME_OUT_ORDER)
        cmd.time_out_order = (struct time_out_order){id, order->complete_by, by};
    else if (cmd.kind == COMMAND_COMPENSATE_ORDER)
        cmd.compensate_order = (struct compensate_order){.order_id = id, .by = by};
    else if (cmd.kind == COMMAND_RESUBMIT_STEP)
        cmd.resubmit_step = (struct resubmit_step){.order_id = id, .by = by};
    else if (cmd.kind == COMMAND_COMPLETE_STEP)
        cmd.complete_step = (struct complete_step){.order_id = id, .step = step->name, .by = by};
    else if (cmd.kind == COMMAND_SKIP_STEP)
        cmd.skip_step = (struct skip_step){id, step->name, dice_percent(dice, 50), by, {0}};
    else if (cmd.kind == COMMAND_FAIL_STEP)
        cmd.fail_step = (struct fail_step){id, step->name, TEXT("E"), by, {0}, -1};
    else if (cmd.kind == COMMAND_PAUSE_ORDER)
        cmd.pause_order = (struct pause_order){.order_id = id, .by = by};
    else if (cmd.kind == COMMAND_RESUME_ORDER)
        cmd.resume_order = (struct resume_order){.order_id = id, .by = by};
    else if (cmd.kind == COMMAND_MIGRATE_ORDER)
        cmd.migrate_order = (struct migrate_order){
            .order_id = id, .version = order->details.workflow_version + 1, .by = by};
    else if (cmd.kind == COMMAND_AMEND_ORDER)
        cmd.amend_order =
            (struct amend_order){.order_id = id, .input = TEXT("{\"n\":1}"), .by = by};
    else if (cmd.kind == COMMAND_SIGNAL_ORDER)
        cmd.signal_order = (struct signal_order){
            .order_id = id,
            .step = step->name,
            .payload = dice_percent(dice, 50) ? TEXT("{\"choice\":\"go\"}") : TEXT("{\"n\":1}"),
            .by = by,
            .groups = groups};
    else
        cmd.extend_step = (struct extend_step){.order_id = id,
                                               .step = step->name,
                                               .direction = step->direction,
                                               .attempt = step->attempt,
                                               .complete_by = step->complete_by + 1};
    return cmd;
}

/* The engine decides some commands about what the log made of the order. */
static void go_on(struct dice *dice, const struct workflow *workflow, struct order *order,
                  struct arena *arena)
{
    for (int i = 0; i < 3 && order->version > 0; i++) {
        struct deadline deadlines[DEADLINES_MAX];
        struct workflow next = *workflow;
        next.version = order->details.workflow_version + 1;
        struct decide_input input = {.now = INT64_MAX / 4,
                                     .margin_ms = 250,
                                     .instance = TEXT("scheduler-1"),
                                     .workflow = workflow,
                                     .target = &next,
                                     .command_offset = i};
        struct command cmd = any_command(dice, order);
        struct decision decision;
        struct effects effects;
        deadlines_of(order, deadlines);
        engine_decide(order, &cmd, &input, arena, &decision);
        order_apply_decision(order, &decision, arena);
        effects_of(&decision, 3, order->version > 0 ? order : NULL, arena, &effects);
    }
}

bool distort_and_apply(struct dice *dice, const struct workflow *workflow,
                       const struct order *order, const struct decision *log, uint32_t count)
{
    struct test_arena memory;
    struct event events[DECISION_EVENTS_MAX];
    struct order copy = {0};
    struct decision decision = log[dice_roll(dice, count)];
    memcpy(events, decision.events, decision.event_count * sizeof(events[0]));
    decision.events = events;
    if (dice_percent(dice, 80))
        decision.order_version = order->version + 1;
    if (dice_percent(dice, 80))
        distort(dice, order->version, &log[dice_roll(dice, count)].events[0], &decision);
    test_arena_init(&memory);
    const struct order *before = order->version > 0 ? order : NULL;
    bool applies = order_apply_problem(before, &decision, &memory.arena) == NULL;
    if (applies) {
        if (before != NULL)
            order_copy(order, &memory.arena, &copy);
        order_apply_decision(&copy, &decision, &memory.arena);
        go_on(dice, workflow, &copy, &memory.arena);
    }
    test_arena_deinit(&memory);
    return applies;
}
