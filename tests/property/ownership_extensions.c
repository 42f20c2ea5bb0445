/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_extensions.h"

enum { EXTENSION_MS_MAX = 10000, ACTS_MAX = 4 };

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.own[CHAOS_EXTENSIONS], n);
}

/* Lint may refuse it, because the order's time would be too short: then no step gets more. */
void extensions_begin(struct world *world)
{
    const struct workflow *usual = world->workflow;
    struct workflow *longer = ARENA_NEW(&world->arena.arena, struct workflow);
    struct workflow_step *steps =
        ARENA_ARRAY(&world->arena.arena, struct workflow_step, usual->step_count);
    *longer = *usual;
    longer->version++;
    longer->steps = steps;
    for (uint32_t i = 0; i < usual->step_count; i++) {
        steps[i] = usual->steps[i];
        steps[i].max_extension_ms = roll(world, EXTENSION_MS_MAX);
        if (steps[i].has_compensate)
            steps[i].compensate.max_extension_ms = roll(world, EXTENSION_MS_MAX);
    }
    if (deploy_if_sound(world, longer))
        world->workflow = longer;
}

static void ask(struct world *world, const struct request *request)
{
    struct command cmd = {.kind = COMMAND_EXTEND_STEP, .order_id = text_of(request->order_id)};
    cmd.extend_step =
        (struct extend_step){.order_id = cmd.order_id,
                             .step = text_of(request->step),
                             .direction = request->direction,
                             .attempt = request->attempt,
                             .complete_by = request->complete_by + roll(world, EXTENSION_MS_MAX),
                             .progress = TEXT("half of it"),
                             .agent = TEXT("agent"),
                             .instance = TEXT("agent-1")};
    send_command(world, &cmd);
}

void extensions_act(struct world *world)
{
    uint32_t known = world->request_count < REQUESTS_MAX ? world->request_count : REQUESTS_MAX;
    for (uint32_t acts = 1 + roll(world, ACTS_MAX); acts > 0 && known > 0; acts--) {
        uint32_t latest = roll(world, known < 2 * ACTS_MAX ? known : 2 * ACTS_MAX);
        ask(world, &world->requests[(world->request_count - 1 - latest) % REQUESTS_MAX]);
    }
}
