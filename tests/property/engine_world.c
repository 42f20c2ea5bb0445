/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_world.h"

#include "tests/property/engine_data.h"

#include <assert.h>
#include <stdlib.h>

void services_request(struct services *services, uint32_t step, const struct step_request *request)
{
    assert(services->call_count < CALLS_MAX);
    const char *digits = request->do_key.data + request->do_key.size;
    while (digits[-1] != '/')
        digits--;
    char number[12] = "";
    memcpy(number, digits, (size_t)(request->do_key.data + request->do_key.size - digits));
    uint32_t do_generation = (uint32_t)strtoul(number, NULL, 10);
    assert(do_generation < GENERATIONS_MAX);
    for (uint32_t i = 0; i < services->call_count; i++) {
        struct call *call = &services->calls[i];
        if (call->step == step && call->direction == request->ref.direction &&
            call->attempt == request->ref.attempt) {
            assert(call->agent == agents_index(request->agent));
            call->complete_by = request->complete_by;
            return;
        }
    }
    services->calls[services->call_count++] = (struct call){.step = step,
                                                            .agent = agents_index(request->agent),
                                                            .direction = request->ref.direction,
                                                            .attempt = request->ref.attempt,
                                                            .do_generation = do_generation,
                                                            .complete_by = request->complete_by};
}

static void answer(struct services *services, struct call *call, bool succeeded, enum effect effect)
{
    call->reports = true;
    call->report = (struct report_step){.order_id = TEXT("order-7"),
                                        .step = services->workflow->steps[call->step].name,
                                        .direction = call->direction,
                                        .attempt = call->attempt,
                                        .succeeded = succeeded,
                                        .agent = TEXT("agent"),
                                        .instance = TEXT("agent-1")};
    if (succeeded) {
        if (call->direction == DIRECTION_DO)
            call->report.output = data_answer(services->dice, services->arena);
        return;
    }
    call->report.error_name = random_error(services->dice);
    call->report.error_message = TEXT("said the service");
    call->report.effect = effect;
}

/* The call is applied or not, and reported or not. */
static void land_do(struct services *services, struct call *call)
{
    struct ledger *ledger = &services->ledgers[call->step][call->agent];
    bool *applied = &ledger->applied[call->do_generation];
    bool refused = ledger->undone[call->do_generation];
    uint32_t roll = services->healthy ? 0 : dice_roll(services->dice, 100);
    if (refused) {
        answer(services, call, false, EFFECT_NONE);
    } else if (roll < 60) {
        *applied = true;
        answer(services, call, true, EFFECT_APPLIED);
    } else if (roll < 75) {
        /* A definite rejection, unless the key was applied before: then that answer again. */
        answer(services, call, *applied, EFFECT_NONE);
    } else if (roll < 85) {
        *applied = *applied || dice_percent(services->dice, 50);
        answer(services, call, false, EFFECT_UNKNOWN);
    } else if (roll < 90) {
        *applied = true;
        answer(services, call, false, EFFECT_APPLIED);
    } else {
        *applied = *applied || dice_percent(services->dice, 50);
    }
}

static void land_undo(struct services *services, struct call *call)
{
    bool *undone = &services->ledgers[call->step][call->agent].undone[call->do_generation];
    uint32_t roll = services->healthy ? 0 : dice_roll(services->dice, 100);
    if (roll < 65) {
        *undone = true;
        answer(services, call, true, EFFECT_APPLIED);
    } else if (roll < 80) {
        answer(services, call, *undone, EFFECT_NONE);
    } else if (roll < 90) {
        *undone = *undone || dice_percent(services->dice, 50);
        answer(services, call, false, EFFECT_UNKNOWN);
    } else {
        *undone = *undone || dice_percent(services->dice, 50);
    }
}

static void land(struct services *services, struct call *call)
{
    call->landed = true;
    if (call->direction == DIRECTION_DO)
        land_do(services, call);
    else
        land_undo(services, call);
}

/* Mostly a recent call; old calls have little left to do. */
static struct call *pick(struct services *services)
{
    uint32_t recent = services->call_count < 8 ? services->call_count : 8;
    uint32_t among = dice_percent(services->dice, 90) ? recent : services->call_count;
    return &services->calls[services->call_count - 1 - dice_roll(services->dice, among)];
}

/* The first call that has anything left to do, or NULL. */
static struct call *busy(struct services *services)
{
    for (uint32_t i = 0; i < services->call_count; i++) {
        struct call *call = &services->calls[i];
        if (!call->landed || call->reports)
            return call;
    }
    return NULL;
}

bool services_idle(struct services *services)
{
    return busy(services) == NULL;
}

bool services_step(struct services *services, int64_t now, struct report_step *ret_report)
{
    if (services->call_count == 0)
        return false;
    struct call *call = services->healthy ? busy(services) : pick(services);
    if (call == NULL)
        return false;
    if (!call->started && !call->landed) {
        call->started = now <= call->complete_by; /* a call never starts later */
        call->landed = !call->started;
        return false;
    }
    if (!call->landed) {
        land(services, call);
        return false;
    }
    if (!call->reports)
        return false;
    call->reports = !services->healthy && dice_percent(services->dice, 15); /* it may repeat */
    *ret_report = call->report;
    return true;
}

void services_drain(struct services *services)
{
    for (uint32_t i = 0; i < services->call_count; i++) {
        if (services->calls[i].started && !services->calls[i].landed)
            land(services, &services->calls[i]);
    }
}

bool services_nothing_applied(const struct services *services, uint32_t step)
{
    for (uint32_t i = 0; i < services->call_count; i++) {
        if (services->calls[i].step == step && !services->calls[i].landed)
            return false;
    }
    return services_net(services, step) == 0;
}

void services_by_hand(struct services *services, uint32_t step, enum direction direction,
                      struct text agent, uint32_t do_generation)
{
    struct ledger *ledgers = services->ledgers[step];
    struct ledger *own = &ledgers[agents_index(agent)];
    assert(do_generation < GENERATIONS_MAX);
    if (direction == DIRECTION_DO) {
        if (services_net(services, step) == 0)
            own->applied[do_generation] = true;
        return;
    }
    own->undone[do_generation] = true;
}

uint32_t services_net(const struct services *services, uint32_t step)
{
    uint32_t net = 0;
    for (uint32_t agent = 0; agent < AGENTS_COUNT; agent++) {
        const struct ledger *ledger = &services->ledgers[step][agent];
        for (uint32_t i = 0; i < GENERATIONS_MAX; i++)
            net += ledger->applied[i] && !ledger->undone[i];
    }
    return net;
}
