/* SPDX-License-Identifier: Apache-2.0 */
/* Remote services that remember keys: a repeated do is answered as the first one, and a do after
 * its undo is refused. See trees_world.h. */
#include "tests/property/trees_world.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t generation_of(struct text key)
{
    const char *digits = key.data + key.size;
    uint32_t number = 0;
    while (digits[-1] != '/')
        digits--;
    for (; digits < key.data + key.size; digits++)
        number = number * 10 + (uint32_t)(*digits - '0');
    assert(number < KEYS_MAX);
    return number;
}

static struct call *find_call(const struct member *member, uint32_t step,
                              const struct attempt_ref *ref)
{
    for (uint32_t i = 0; i < world.call_count; i++) {
        struct call *call = &world.calls[i];
        if (call->member == member && call->step == step && call->direction == ref->direction &&
            call->attempt == ref->attempt)
            return call;
    }
    return NULL;
}

void agents_request(const struct step_request *request)
{
    struct member *member = world_find(request->order_id);
    int step = member != NULL ? order_find_step(&member->order, request->ref.step) : -1;
    if (step < 0 || find_call(member, (uint32_t)step, &request->ref) != NULL)
        return;
    if (world.call_count == world.call_room) {
        struct call *before = world.calls;
        world.call_room = world.call_room == 0 ? 64 : 2 * world.call_room;
        world.calls = ARENA_ARRAY(&world.memory.arena, struct call, world.call_room);
        if (world.call_count > 0)
            memcpy(world.calls, before, world.call_count * sizeof(*before));
    }
    world.calls[world.call_count++] = (struct call){.member = member,
                                                    .step = (uint32_t)step,
                                                    .direction = request->ref.direction,
                                                    .attempt = request->ref.attempt,
                                                    .key = generation_of(request->do_key),
                                                    .complete_by = request->complete_by};
}

static void report(struct call *call, bool succeeded, enum effect effect)
{
    const struct member *member = call->member;
    call->reports = true;
    call->report = (struct report_step){
        .order_id = member->id,
        .step = member->workflow->steps[call->step].name,
        .direction = call->direction,
        .attempt = call->attempt,
        .succeeded = succeeded,
        .agent = TEXT("agent"),
        .instance = TEXT("agent-1"),
    };
    if (succeeded)
        return;
    call->report.error_name = random_error(&world.dice);
    call->report.effect = effect;
}

/* The call reaches the service now, in time; what the agent hears of it is another matter. */
static void land(struct call *call)
{
    uint64_t bit = UINT64_C(1) << call->key;
    bool undo = call->direction == DIRECTION_UNDO;
    uint64_t *done = undo ? &call->member->undone[call->step] : &call->member->applied[call->step];
    uint32_t roll = world.healthy ? 0 : dice_roll(&world.dice, 100);
    call->landed = true;
    if (world.now > call->complete_by)
        return; /* an agent starts no call later */
    if (!undo && (call->member->undone[call->step] & bit) != 0) {
        report(call, false, EFFECT_NONE);
        return;
    }
    if (roll < 70) {
        *done |= bit;
        report(call, true, EFFECT_APPLIED);
    } else if (roll < 85) {
        report(call, (*done & bit) != 0, EFFECT_NONE);
    } else {
        *done |= dice_percent(&world.dice, 50) ? bit : 0;
        if (roll < 92)
            report(call, false, EFFECT_UNKNOWN);
    }
}

static bool is_busy(const struct call *call)
{
    return !call->landed || call->reports;
}

bool agents_step(void)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < world.call_count; i++)
        busy += is_busy(&world.calls[i]);
    if (busy == 0)
        return false;
    uint32_t left = dice_roll(&world.dice, busy);
    struct call *call = world.calls;
    while (!is_busy(call) || left-- > 0)
        call++;
    if (!call->landed) {
        land(call);
        return true;
    }
    call->reports = !world.healthy && dice_percent(&world.dice, 10); /* it may repeat */
    if (call->member->expired)
        return true;
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = call->member->id};
    cmd.report_step = call->report;
    world_send(&cmd);
    return true;
}

uint32_t agents_net(const struct member *member, uint32_t step)
{
    return (uint32_t)__builtin_popcountll(member->applied[step] & ~member->undone[step]);
}
