/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_expiry.h"

#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_fold.h"

enum {
    RETENTION_MS_MIN = 200,
    RETENTION_MS_MAX = 6000,
    DUE_PERCENT = 80,
    EARLY_PERCENT = 15,
    OTHER_TIME_PERCENT = 5,
    ANEW_PERCENT = 50
};

static bool percent(struct world *world, uint32_t percent)
{
    return dice_percent(&world->chaos.own[CHAOS_EXPIRY], percent);
}

static void ask(struct world *world, const struct order *order)
{
    struct command cmd = {.kind = COMMAND_EXPIRE_ORDER, .order_id = order->details.order_id};
    cmd.expire_order = (struct expire_order){cmd.order_id, order->ended_at, TEXT("auditor")};
    if (percent(world, OTHER_TIME_PERCENT))
        cmd.expire_order.ended_at--;
    send_command(world, &cmd);
}

void expiry_begin(struct world *world)
{
    struct dice *dice = &world->chaos.own[CHAOS_EXPIRY];
    world->retention_ms = RETENTION_MS_MIN + dice_roll(dice, RETENTION_MS_MAX - RETENTION_MS_MIN);
}

void expiry_audit(struct world *world)
{
    static struct fold fold;
    for (int32_t p = 0; p < world->partitions; p++) {
        if (fold_log(world, p, log_end(world, "p.events", p), NULL, &fold) != NULL)
            continue; /* the comparison reports it */
        for (uint32_t i = 0; i < fold.order_count; i++) {
            const struct order *order = &fold.orders[i];
            bool due = order_ended(order) &&
                       world->clock.now_wall_ms >= order->ended_at + world->retention_ms;
            if (percent(world, due ? DUE_PERCENT : EARLY_PERCENT))
                ask(world, order);
        }
    }
}

void expiry_act(struct world *world)
{
    expiry_audit(world);
    if (percent(world, ANEW_PERCENT))
        submit_order(world, some_order(world, &world->chaos.own[CHAOS_EXPIRY]));
}
