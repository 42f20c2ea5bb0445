/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_senders.h"

#include "base/goods.h"
#include "tests/property/engine_data.h"
#include "tests/property/engine_other_version.h"

enum { OLD_COMMANDS = 16, BIG_STEPS = 8 };

struct order_details senders_submission(void)
{
    static const struct goods goods = {.currency = TEXT_CONST("GBP")};
    struct order_details details = {.order_id = TEXT("order-7"),
                                    .customer = TEXT("17850"),
                                    .goods = &goods,
                                    .reply_to = TEXT("orders.replies.shop"),
                                    .workflow = TEXT("random")};
    details.content_hash.bytes[0] = dice_percent(&history.dice, 70) ? 1 : 2;
    details.input =
        data_input(&history.dice, &history.memory.arena, history.workflow->step_count < BIG_STEPS);
    return details;
}

void senders_customer(void)
{
    struct command cmd = {.order_id = TEXT("order-7")};
    if (dice_percent(&history.dice, 50)) {
        cmd.kind = COMMAND_SUBMIT_ORDER;
        cmd.submit_order = senders_submission();
    } else {
        cmd.kind = COMMAND_CANCEL_ORDER;
        cmd.cancel_order = (struct cancel_order){
            .order_id = cmd.order_id, .by = TEXT("customer"), .reason = TEXT("changed my mind")};
    }
    history_command(&cmd);
}

void senders_resubmit(struct text step, bool new_generation, int64_t timeout_ms)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = TEXT("order-7")};
    cmd.resubmit_step = (struct resubmit_step){cmd.order_id,           step,           TEXT("anna"),
                                               TEXT("it is repaired"), new_generation, timeout_ms};
    history_command(&cmd);
}

void senders_compensate(void)
{
    struct command cmd = {.kind = COMMAND_COMPENSATE_ORDER, .order_id = TEXT("order-7")};
    cmd.compensate_order = (struct compensate_order){cmd.order_id, TEXT("anna"), TEXT("no hope")};
    history_command(&cmd);
}

/* Whether an operator may end the step by hand: then one that does it does it outside first. */
static bool may_be_ended(const struct step *step)
{
    return step->state == STEP_PENDING || step->state == STEP_WAITING || step->state == STEP_ERROR;
}

void senders_complete(uint32_t index, struct text output)
{
    struct command cmd = {.kind = COMMAND_COMPLETE_STEP, .order_id = TEXT("order-7")};
    cmd.complete_step = (struct complete_step){cmd.order_id, history.workflow->steps[index].name,
                                               output, TEXT("anna"), TEXT("done by hand")};
    history_command(&cmd);
    const struct decision *decision = &history.log[history.count - 1];
    if (decision->events[0].kind == EVENT_STEP_COMPLETED_BY_HAND &&
        history.workflow->steps[index].kind == STEP_KIND_TASK)
        services_by_hand(
            &history.services, index, decision->events[0].step_completed_by_hand.ref.direction,
            history.order.steps[index].agent, history.order.steps[index].generation[DIRECTION_DO]);
}

static void end_by_hand(uint32_t index)
{
    struct command cmd = {.kind = COMMAND_SKIP_STEP, .order_id = TEXT("order-7")};
    struct text name = history.workflow->steps[index].name;
    uint32_t roll = dice_roll(&history.dice, 3);
    if (roll == 0) {
        senders_complete(index,
                         dice_percent(&history.dice, 70) ? (struct text){0} : TEXT("{\"n\":4}"));
        return;
    }
    if (roll == 1) {
        cmd.skip_step = (struct skip_step){cmd.order_id, name,
                                           services_nothing_applied(&history.services, index),
                                           TEXT("anna"), TEXT("not needed")};
    } else {
        cmd.kind = COMMAND_FAIL_STEP;
        cmd.fail_step = (struct fail_step){cmd.order_id,
                                           name,
                                           random_error(&history.dice),
                                           TEXT("anna"),
                                           TEXT("it will not work"),
                                           -1};
    }
    history_command(&cmd);
}

void senders_pause(bool pause)
{
    struct command cmd = {.order_id = TEXT("order-7")};
    cmd.kind = pause ? COMMAND_PAUSE_ORDER : COMMAND_RESUME_ORDER;
    if (pause)
        cmd.pause_order = (struct pause_order){cmd.order_id, TEXT("anna"), TEXT("to look at it")};
    else
        cmd.resume_order = (struct resume_order){cmd.order_id, TEXT("anna"), TEXT("it is right")};
    history_command(&cmd);
}

/* One whose attempts had no effect, where there is one. */
static struct text step_that_failed(void)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        const struct step *step = &history.order.steps[i];
        if (step->attempt > 0 && step->effect == EFFECT_NONE && step->direction == DIRECTION_DO &&
            (step->state == STEP_PENDING || step->state == STEP_ERROR))
            return step->name;
    }
    return (struct text){0};
}

void senders_migrate(void)
{
    struct command cmd = {.kind = COMMAND_MIGRATE_ORDER, .order_id = TEXT("order-7")};
    uint32_t roll = dice_roll(&history.dice, 20);
    history.target = roll == 0
                         ? NULL
                         : mappings_of_version(&history.dice, &history.memory.arena,
                                               other_version(&history.dice, &history.memory.arena,
                                                             history.workflow),
                                               history.workflow, step_that_failed());
    cmd.migrate_order = (struct migrate_order){.order_id = cmd.order_id,
                                               .version = history.workflow->version + (roll != 1),
                                               .by = TEXT("anna"),
                                               .reason = TEXT("it was wrong")};
    history_command(&cmd);
}

static bool any_effect(void)
{
    bool any = false;
    for (uint32_t i = 0; i < history.order.step_count; i++)
        any = any || history.order.steps[i].effect != EFFECT_NONE;
    return any;
}

/* Of the input; '\0': none. */
static char member_read_by(const struct term *term)
{
    char member = term != NULL && term->kind == TERM_INPUT ? term->members[0] : '\0';
    for (uint32_t i = 0; term != NULL && i < TERM_CHILDREN_MAX && member == '\0'; i++)
        member = member_read_by(term->of[i]);
    return member;
}

/* What steps with an effect may have read through it. */
static char member_read_by_a_set(void)
{
    char member = '\0';
    for (uint32_t i = 0; history.rules.mapped && i < history.order.step_count; i++) {
        bool made = history.order.steps[i].state == STEP_PROCESSED;
        if (made && member == '\0')
            member = member_read_by(mapped_of(history.workflow)->steps[i].set);
    }
    return member;
}

/* Mostly of one member, where steps have had effects: what those have read must stay. */
void senders_amend(void)
{
    bool set = dice_percent(&history.dice, 80);
    struct command cmd = {.kind = COMMAND_AMEND_ORDER, .order_id = TEXT("order-7")};
    bool whole = dice_percent(&history.dice, any_effect() ? 20 : 70);
    cmd.amend_order = (struct amend_order){
        cmd.order_id,
        whole ? data_input(&history.dice, &history.memory.arena, false)
              : data_amended(&history.dice, &history.memory.arena, history.rules.input,
                             set ? member_read_by_a_set() : '\0'),
        TEXT("anna"), TEXT("a typing error")};
    history_command(&cmd);
}

/* Mostly of a step that can be ended. */
void senders_end_a_step(void)
{
    uint32_t index = dice_roll(&history.dice, history.workflow->step_count);
    for (uint32_t i = 0; i < history.order.step_count && dice_percent(&history.dice, 80); i++) {
        if (may_be_ended(&history.order.steps[index]))
            break;
        index = (index + 1) % history.order.step_count;
    }
    end_by_hand(index);
}

/* What the operator says of the step: what is true, or what the log knows better. */
static bool vouches(uint32_t index)
{
    bool known = index < history.order.step_count;
    const struct step *step = known ? &history.order.steps[index] : NULL;
    if (known && step->direction == DIRECTION_DO && step->effect == EFFECT_APPLIED)
        return true;
    return services_nothing_applied(&history.services, index);
}

static bool a_moment_is_waited_for(void)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        if (history.order.steps[i].state == STEP_WAITING)
            return true;
    }
    return false;
}

/* And, mostly, has the steps tried again that failed of the old data. */
static void correct(struct text step)
{
    senders_amend();
    if (dice_percent(&history.dice, 70))
        senders_resubmit(dice_percent(&history.dice, 30) ? step : (struct text){0}, false, 0);
}

void senders_operator(void)
{
    const struct workflow *workflow = history.workflow;
    uint32_t step = dice_roll(&history.dice, workflow->step_count + 1);
    bool all = step == workflow->step_count;
    int64_t timeout_ms = dice_percent(&history.dice, 30) ? 60000 : 0;
    if (dice_percent(&history.dice, 15))
        senders_compensate();
    else if (dice_percent(&history.dice, a_moment_is_waited_for() ? 70 : 25))
        correct(all ? (struct text){0} : workflow->steps[step].name);
    else if (dice_percent(&history.dice, 25))
        senders_end_a_step();
    else if (!all && dice_percent(&history.dice, 50))
        senders_resubmit(workflow->steps[step].name, vouches(step), timeout_ms);
    else
        senders_resubmit(all ? (struct text){0} : workflow->steps[step].name, false, timeout_ms);
}

/* Whatever the order is doing. */
void senders_any_operator(void)
{
    uint32_t step = dice_roll(&history.dice, history.workflow->step_count);
    struct command cancel = {.kind = COMMAND_CANCEL_ORDER, .order_id = TEXT("order-7")};
    switch (dice_roll(&history.dice, 9)) {
    case 0:
        cancel.cancel_order = (struct cancel_order){
            .order_id = cancel.order_id, .by = TEXT("anna"), .reason = TEXT("a mistake")};
        history_command(&cancel);
        return;
    case 1:
        senders_compensate();
        return;
    case 2:
        senders_resubmit(history.workflow->steps[step].name, vouches(step), 0);
        return;
    case 3:
        senders_pause(dice_percent(&history.dice, 50));
        return;
    case 4:
        senders_migrate();
        return;
    case 5:
        end_by_hand(step);
        return;
    case 6:
        senders_amend();
        return;
    default: /* of what waits or has failed */
        senders_end_a_step();
        return;
    }
}

void senders_ask(const struct deadline *deadline)
{
    struct order lasting; /* the kept command borrows from it */
    struct command cmd;
    order_copy(&history.order, &history.memory.arena, &lasting);
    deadline_command(&lasting, deadline, TEXT("supervisor-1"), &cmd);
    history_command(&cmd);
}

void senders_supervisor(bool early)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    if (count == 0)
        return;
    const struct deadline *deadline = &deadlines[dice_roll(&history.dice, count)];
    if (deadline->due_at <= history.now || early)
        senders_ask(deadline);
}

void senders_owner(bool all)
{
    for (uint32_t i = 0; i < history.order.step_count && history.wrong == NULL; i++) {
        const struct step *step = &history.order.steps[i];
        if (!order_step_queued(&history.order, step) || (!all && dice_percent(&history.dice, 50)))
            continue;
        struct command cmd = {.kind = COMMAND_START_STEP, .order_id = TEXT("order-7")};
        cmd.start_step = (struct start_step){.order_id = cmd.order_id,
                                             .step = history.workflow->steps[i].name,
                                             .direction = step->direction,
                                             .attempt = step->attempt,
                                             .by = TEXT("scheduler-1")};
        history_command(&cmd);
    }
}

void senders_agent(void)
{
    if (history.order.step_count == 0)
        return;
    uint32_t index = dice_roll(&history.dice, history.order.step_count);
    const struct step *step = &history.order.steps[index];
    if (step->state != STEP_PROCESSING && dice_percent(&history.dice, 90))
        return;
    uint32_t other = dice_percent(&history.dice, 5); /* attempt */
    struct command cmd = {.kind = COMMAND_EXTEND_STEP, .order_id = TEXT("order-7")};
    cmd.extend_step =
        (struct extend_step){.order_id = cmd.order_id,
                             .step = history.workflow->steps[index].name,
                             .direction = step->direction,
                             .attempt = step->attempt == 0 ? other : step->attempt - other,
                             .complete_by = history.now + dice_roll(&history.dice, 15000) - 500,
                             .progress = TEXT("some of it"),
                             .agent = TEXT("agent"),
                             .instance = TEXT("agent-1")};
    history_command(&cmd);
}

void senders_retention(void)
{
    if (order_ended(&history.order) && history.now >= history.order.ended_at + RETENTION_MS)
        history_expire();
}

void senders_repeat(void)
{
    uint32_t back = history.count - history.since;
    if (back == 0)
        return;
    back = back < OLD_COMMANDS ? back : OLD_COMMANDS;
    struct command cmd = history.commands[history.count - 1 - dice_roll(&history.dice, back)];
    if (cmd.kind == COMMAND_RESUBMIT_STEP)
        cmd.resubmit_step.new_generation = false; /* nothing random confirms effect none */
    if (cmd.kind == COMMAND_COMPLETE_STEP || cmd.kind == COMMAND_SKIP_STEP)
        return; /* nor has anyone done it */
    history_command(&cmd);
}

void senders_garbage(void)
{
    struct command cmd = {.kind = COMMAND_UNDECODABLE};
    cmd.undecodable = (struct undecodable){
        .bytes = TEXT("\x01"), .key = TEXT("order-7"), .reason = TEXT("not Avro")};
    history_command(&cmd);
}

void senders_services(void)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("order-7")};
    if (services_step(&history.services, history.now, &cmd.report_step))
        history_command(&cmd);
}
