/* SPDX-License-Identifier: Apache-2.0 */
/* When a supervisor asks after a takeover, with a wrong clock, or after a refusal: what it takes
 * for the scheduler's time. */
#include "tests/lib/engine_workflow.h"
#include "tests/unit/supervisor/world.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000, TICKS_MS = 100 };

/* A step may take an hour; a supervisor takes the partition over when nothing was decided about it
 * for most of that. How late it asks, and how often it asked early. */
static int64_t take_over_an_idle_partition(int64_t idle_ms, int64_t own_clock_ms,
                                           void (*refuse)(struct supervised_world *, uint32_t),
                                           uint32_t *ret_early)
{
    enum { LATE_MS_MAX = 2 * HOUR_MS };
    struct supervised_world *world = world_new("A{e}");
    struct workflow_step *step = (struct workflow_step *)(uintptr_t)&world->workflow->steps[0];
    step->timeout_ms = HOUR_MS;
    world_submit(world, 0, world->right.now_wall_ms);
    if (refuse != NULL)
        refuse(world, 0);
    int64_t due = world_due(world, 0);
    clock_manual_advance(&world->clock, idle_ms);
    clock_manual_advance(&world->right, idle_ms);
    world->clock.now_wall_ms += own_clock_ms;
    open_and_fold(world);
    while (world->orders[0].order.state != ORDER_ERROR &&
           world->right.now_wall_ms < due + LATE_MS_MAX)
        run_with_scheduler(world, 1000);
    world_count(world);
    int64_t late_ms = world->orders[0].asked_ms - due;
    *ret_early = world->orders[0].commands - 1 - (refuse != NULL);
    world_free(world);
    return late_ms;
}

Test(supervisor, takes_no_old_refusal_for_the_present)
{
    static const int64_t idle_ms[] = {50000, HOUR_MS - 60000, HOUR_MS + 30000};
    static const int64_t clocks_ms[] = {0, HOUR_MS};
    static void (*const refusals[])(struct supervised_world *, uint32_t) = {NULL, world_recover,
                                                                            world_find_no_capacity};
    uint32_t early = 0;
    for (size_t i = 0; i < sizeof(idle_ms) / sizeof(idle_ms[0]); i++)
        for (size_t c = 0; c < sizeof(clocks_ms) / sizeof(clocks_ms[0]); c++)
            for (size_t r = 0; r < sizeof(refusals) / sizeof(refusals[0]); r++) {
                int64_t late_ms =
                    take_over_an_idle_partition(idle_ms[i], clocks_ms[c], refusals[r], &early);
                int64_t taken_over_late_ms = idle_ms[i] - (HOUR_MS + WORLD_MARGIN_MS);
                if (taken_over_late_ms > 0)
                    late_ms -= taken_over_late_ms;
                cr_expect(late_ms >= 0 && late_ms <= 1000, "idle %zu clock %zu refusal %zu: %lld",
                          i, c, r, (long long)late_ms);
                cr_expect_leq(early, clocks_ms[c] > 0 ? 1 : 0, "idle %zu clock %zu refusal %zu: %u",
                              i, c, r, early);
            }
}

/* Nothing but the store says what time it is for the scheduler. */
Test(supervisor, asks_on_time_after_a_restart_with_a_slow_clock)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    int64_t due = world_due(world, 0);
    world_run(world, due - world->right.now_wall_ms - 200);
    world_submit(world, 1, world->right.now_wall_ms);
    world_run(world, 100);
    world->clock.now_wall_ms -= HOUR_MS;
    world_reopen(world);
    run_with_scheduler(world, 1000);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

/* The answer to its own command is read long after it was decided. */
Test(supervisor, asks_on_time_after_a_refusal_that_it_reads_late)
{
    enum { UNREAD_MS = 3000 };
    struct supervised_world *world = world_new("A");
    world_submit(world, 0, world->right.now_wall_ms);
    world_submit(world, 1, world->right.now_wall_ms);
    clock_manual_advance(&world->clock, 5000);
    clock_manual_advance(&world->right, 5000);
    world->clock.now_wall_ms += HOUR_MS;
    open_and_fold(world);
    world->clock.now_wall_ms -= HOUR_MS;
    broker_memory_set_partition_fault(world->kafka, "p.events", 0, PARTITION_UNREADABLE);
    world_run(world, TICKS_MS);
    world_decide(world);
    world_run(world, UNREAD_MS);
    broker_memory_clear_partition_faults(world->kafka);
    world_run(world, world->orders[1].due_ms - world->right.now_wall_ms + 2 * TICKS_MS);
    world_decide(world);
    cr_assert_geq(world->metrics.early->value, 1);
    cr_assert(order_ended(&world->orders[1].order));
    world_free(world);
}

/* What was decided a year ahead is void: it must not ask early until then. */
Test(supervisor, asks_on_time_after_a_reset_of_the_time)
{
    enum { DAYS = 365 };
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, TICKS_MS);
    world_submit(world, 1, world->right.now_wall_ms + DAYS * INT64_C(24) * HOUR_MS);
    world_run(world, TICKS_MS);
    world_count(world);
    uint32_t commands = world->commands;
    world_reset(world, world->right.now_wall_ms);
    world_submit(world, 2, world->right.now_wall_ms);
    int64_t due = world_due(world, 2);
    run_with_scheduler(world, due - world->right.now_wall_ms - TICKS_MS);
    world_count(world);
    cr_assert_leq(world->commands, commands + 1, "%u", world->commands);
    run_with_scheduler(world, 2 * TICKS_MS);
    cr_assert(order_ended(&world->orders[2].order));
    world_free(world);
}
