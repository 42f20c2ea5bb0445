/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_clock.h"

enum {
    NEAR_MS = MARGIN_MS / 2 - 100, /* a clock that is off by half the margin counts as bad */
    DRIFT_PPM_MAX = 200
};

/* The schedulers' and the supervisor's. */
enum { HOSTS = INSTANCES + 1 };

static struct host_clock *host_of(struct world *world, uint32_t number)
{
    return number < INSTANCES ? &world->instances[number].host : &world->watcher_host;
}

void clocks_begin(struct world *world)
{
    for (uint32_t i = 0; i < HOSTS; i++)
        clock_manual_init(&host_of(world, i)->clock, world->clock.now_wall_ms);
}

void world_advance(struct world *world, int64_t ms)
{
    clock_manual_advance(&world->clock, ms);
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct host_clock *host = host_of(world, i);
        clock_manual_advance(&host->clock, ms);
        host->drifted_us += ms * host->drift_ppm / 1000;
        host->clock.now_wall_ms =
            world->clock.now_wall_ms + host->offset_ms + host->drifted_us / 1000;
    }
}

static void set_offset(struct world *world, struct host_clock *host, int64_t offset_ms)
{
    host->offset_ms = offset_ms;
    host->drifted_us = 0;
    world_advance(world, 0);
}

static int64_t draw_near(struct world *world)
{
    return (int64_t)dice_roll(&world->chaos.dice, 2 * NEAR_MS + 1) - NEAR_MS;
}

void clocks_draw(struct world *world)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct host_clock *host = host_of(world, i);
        host->drift_ppm =
            (int64_t)dice_roll(&world->chaos.dice, 2 * DRIFT_PPM_MAX + 1) - DRIFT_PPM_MAX;
        set_offset(world, host, draw_near(world));
    }
}

static struct host_clock *some_host(struct world *world)
{
    return host_of(world, dice_roll(&world->chaos.dice, HOSTS));
}

void clocks_jump(struct world *world)
{
    set_offset(world, some_host(world), draw_near(world));
    world_count(world, SOMETIMES_CLOCK_JUMPED);
}

void clocks_jump_far(struct world *world)
{
    static const int64_t jumps[] = {-86400000, -3600000, -5000, 0, 0, 2000, 3600000, 31536000000};
    int64_t jump = jumps[dice_roll(&world->chaos.dice, sizeof(jumps) / sizeof(jumps[0]))];
    set_offset(world, some_host(world), jump);
    world->run->sometimes.counts[SOMETIMES_CLOCK_FAR] += jump != 0;
}

void clocks_repair(struct world *world)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        host_of(world, i)->drift_ppm = 0;
        set_offset(world, host_of(world, i), 0);
    }
}
