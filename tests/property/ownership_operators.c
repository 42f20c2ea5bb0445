/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_operators.h"

enum { COMMANDS_MAX = 4, PAUSED_PERCENT = 60, LONG_MS = 3600 * 1000 };

#define WHO TEXT("ann")

static struct text some_step(struct world *world)
{
    const struct workflow *newest = world->versions[world->version_count - 1];
    return newest->steps[dice_roll(&world->chaos.last, newest->step_count)].name;
}

static void pause_or_resume(struct world *world, struct text order_id, bool pause)
{
    struct command cmd = {.order_id = order_id};
    cmd.kind = pause ? COMMAND_PAUSE_ORDER : COMMAND_RESUME_ORDER;
    if (pause)
        cmd.pause_order = (struct pause_order){order_id, WHO, TEXT("to look at it")};
    else
        cmd.resume_order = (struct resume_order){order_id, WHO, TEXT("it is right")};
    send_command(world, &cmd);
}

static void end_step(struct world *world, struct text order_id)
{
    struct command cmd = {.order_id = order_id};
    struct text step = some_step(world);
    uint32_t roll = dice_roll(&world->chaos.last, world->ledger == NULL ? 3 : 2);
    switch (roll) {
    case 0:
        cmd.kind = COMMAND_FAIL_STEP;
        cmd.fail_step = (struct fail_step){
            order_id, step, random_error(&world->chaos.last), WHO, TEXT("it will not work"), -1};
        break;
    case 1:
        cmd.kind = COMMAND_SKIP_STEP;
        cmd.skip_step = (struct skip_step){order_id, step, false, WHO, TEXT("not needed")};
        break;
    default:
        cmd.kind = COMMAND_COMPLETE_STEP;
        cmd.complete_step = (struct complete_step){order_id, step, TEXT("{\"by\":\"hand\"}"), WHO,
                                                   TEXT("done by hand")};
        break;
    }
    send_command(world, &cmd);
}

static void resubmit(struct world *world, struct text order_id)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = order_id};
    cmd.resubmit_step = (struct resubmit_step){
        .order_id = order_id, .by = WHO, .reason = TEXT("repaired"), .timeout_ms = LONG_MS};
    send_command(world, &cmd);
}

void operators_act(struct world *world)
{
    uint32_t commands = 1 + dice_roll(&world->chaos.last, COMMANDS_MAX);
    for (uint32_t i = 0; i < commands && world->orders > 0; i++) {
        struct text order_id = order_name(world, dice_roll(&world->chaos.last, world->orders));
        uint32_t roll = dice_roll(&world->chaos.last, 10);
        if (roll < 4)
            pause_or_resume(world, order_id, dice_percent(&world->chaos.last, PAUSED_PERCENT));
        else if (roll < 8)
            end_step(world, order_id);
        else
            resubmit(world, order_id);
    }
    world_count(world, SOMETIMES_OPERATED);
}

void operators_end(struct world *world)
{
    for (uint32_t i = 0; i < world->orders; i++)
        pause_or_resume(world, order_name(world, i), false);
}
