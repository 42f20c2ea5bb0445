/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_expiry.h"

#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_trim.h"

#include <string.h>

enum {
    RETENTION_MS_MIN = 20,
    RETENTION_MS_MAX = 2000,
    ORDERS_MAX = 3, /* of a record */
    ZOMBIE_PERCENT = 20,
    DEATH_PERCENT = 40,
    AGAIN_PERCENT = 50
};

static bool percent(struct world *world, uint32_t percent)
{
    return dice_percent(&world->chaos.own[CHAOS_EXPIRY], percent);
}

void expiry_begin(struct world *world)
{
    struct dice *dice = &world->chaos.own[CHAOS_EXPIRY];
    world->retention_ms = RETENTION_MS_MIN + dice_roll(dice, RETENTION_MS_MAX - RETENTION_MS_MIN);
    world->expiry_max = 1 + dice_roll(dice, ORDERS_MAX);
}

void expiry_configure(const struct world *world, struct owner_options *options)
{
    options->retention_ms = world->retention_ms;
    options->expiry_max = world->retention_ms > 0 ? world->expiry_max : OWNER_EXPIRY_MAX;
}

/* If it counted, every order that has ended would be gone. */
static void expire_late(struct world *world)
{
    struct dice *dice = &world->chaos.own[CHAOS_EXPIRY];
    int32_t partition = (int32_t)dice_roll(dice, (uint32_t)world->partitions);
    struct expiry expiry = {.sequence = dice_roll(dice, 8),
                            .decided_at = world->clock.now_wall_ms,
                            .ended_at = world->clock.now_wall_ms,
                            .order_id = TEXT("z")};
    if (zombie_of(world, partition, &expiry.claim_id))
        send_record(world, "p.events", partition, TEXT("zombie-0"), RECORD_EXPIRY, &expiry);
}

bool expiry_dies(struct world *world, const char *failpoint)
{
    if (world->expiry_dies_at == NULL || strcmp(world->expiry_dies_at, failpoint) != 0)
        return false;
    world->expiry_dies_at = NULL;
    return true;
}

void expiry_end(struct world *world)
{
    world->expiry_dies_at = NULL;
}

void expiry_act(struct world *world)
{
    if (percent(world, DEATH_PERCENT))
        world->expiry_dies_at = percent(world, 50) ? "expiry.append" : "expiry.acknowledged";
    if (percent(world, ZOMBIE_PERCENT))
        expire_late(world);
    if (percent(world, AGAIN_PERCENT))
        submit_order(world, some_order(world, &world->chaos.own[CHAOS_EXPIRY]));
}
