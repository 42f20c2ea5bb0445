/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that wait although none is decided: what a supervisor reports when the scheduler is
 * dead, and who closes it. */
#include "services/supervisor/waiting_commands.h"
#include "tests/unit/supervisor/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define CODE "CommandsWaiting"

enum { SOON_MS = 5000, LONG_MS = 50000, HOUR_MS = 3600 * 1000 };

/* A step times out, so the supervisor asks; no scheduler answers. */
static struct supervised_world *with_a_command_that_waits(void)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, world_due(world, 0) - world->right.now_wall_ms + SOON_MS);
    cr_assert_eq(world_waiting(world), 1);
    cr_assert_eq(world_alerts(world, CODE, true), 0);
    return world;
}

static bool is_in_trouble(const struct supervised_world *world, const char *part)
{
    char text[512] = "";
    bool trouble = waiting_commands_trouble(supervisor_partition_waiting(world->partition), text,
                                            sizeof(text));
    cr_assert(!trouble || strstr(text, part) != NULL, "%s", text);
    return trouble;
}

Test(waiting_commands, are_reported_once_and_closed_when_they_are_decided)
{
    struct supervised_world *world = with_a_command_that_waits();
    cr_assert_not(is_in_trouble(world, "waits"));
    world_run(world, LONG_MS);
    cr_expect_eq(world_alerts(world, CODE, true), 1);
    cr_expect_eq(world_alerts(world, CODE, false), 0);
    /* The request was sent again after 10 s and after 20 s more. */
    cr_expect(is_in_trouble(world, "partition 0: 3 commands wait, and none was decided for "));
    cr_expect_geq(waiting_commands_ms(supervisor_partition_waiting(world->partition)), LONG_MS);
    run_with_scheduler(world, SOON_MS);
    cr_expect_eq(world_alerts(world, CODE, true), 1);
    cr_expect_eq(world_alerts(world, CODE, false), 1);
    cr_expect_not(is_in_trouble(world, ""));
    cr_expect_eq(waiting_commands_ms(supervisor_partition_waiting(world->partition)), 0);
    world_free(world);
}

/* A close for what was never raised would be noise. */
Test(waiting_commands, are_not_mentioned_while_they_are_decided)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    run_with_scheduler(world, HOUR_MS / 20);
    world_reopen(world);
    run_with_scheduler(world, LONG_MS);
    cr_expect_eq(world_alerts(world, CODE, true), 0);
    cr_expect_eq(world_alerts(world, CODE, false), 0);
    world_free(world);
}

Test(waiting_commands, are_closed_by_the_next_supervisor)
{
    struct supervised_world *world = with_a_command_that_waits();
    world_run(world, LONG_MS);
    cr_assert_eq(world_alerts(world, CODE, true), 1);
    world_reopen(world);
    world_run(world, SOON_MS); /* too short to know it by itself */
    run_with_scheduler(world, SOON_MS);
    cr_expect_eq(world_alerts(world, CODE, true), 1);
    cr_expect_eq(world_alerts(world, CODE, false), 1);
    world_free(world);
}

/* They are decided while no supervisor runs. */
Test(waiting_commands, are_closed_by_a_supervisor_that_comes_later)
{
    struct supervised_world *world = with_a_command_that_waits();
    world_run(world, LONG_MS);
    supervisor_partition_suspend(world->partition, true);
    world_decide(world);
    world_reopen(world);
    run_with_scheduler(world, SOON_MS);
    cr_expect_eq(world_alerts(world, CODE, false), 1);
    world_free(world);
}

/* While the brokers are away, no scheduler can decide. */
Test(waiting_commands, do_not_count_time_without_an_answer_of_the_brokers)
{
    struct supervised_world *world = with_a_command_that_waits();
    broker_memory_set_partition_fault(world->kafka, "p.commands", 0, PARTITION_NO_LEADER);
    world_run(world, LONG_MS);
    broker_memory_clear_partition_faults(world->kafka);
    world_run(world, SOON_MS);
    cr_expect_eq(world_alerts(world, CODE, true), 0);
    run_with_scheduler(world, SOON_MS);
    cr_expect_eq(world_alerts(world, CODE, false), 0);
    world_free(world);
}
