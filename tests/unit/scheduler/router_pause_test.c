/* SPDX-License-Identifier: Apache-2.0 */
/* Paused agents: nothing starts there, and what waited starts when they are resumed. */
#include "tests/unit/scheduler/router_kit.h"

#include <criterion/criterion.h>

TestSuite(router_pause);

Test(router_pause, starts_nothing_at_a_paused_agent)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    router_kit_set_agent(&kit, 0, true, 3);
    router_kit_set_agent(&kit, 1, true, 0);
    router_pause_agent(kit.router, TEXT("x"), "paused by ann: down");
    router_pause_agent(kit.router, TEXT("y"), "paused by bob: down");
    router_kit_submit(partition, PRIORITY_NORMAL);
    router_kit_commit(partition);
    cr_assert_eq(step_wait(router_kit_first_step(partition, "o-0")).kind, WAIT_QUEUE);
    cr_assert_eq(step_wait(router_kit_first_step(partition, "o-0")).until, 0);
    router_kit_expect_picks(&kit, NULL, 0);
    for (int i = 0; i < 2; i++)
        router_kit_set_agent(&kit, i, false, 0);
    for (const struct route_agent *agent = router_agents(kit.router); agent != NULL;
         agent = agent->hh.next)
        cr_assert_eq(agent->stuck, 0, "an operator's decision needs no alert");
    for (int i = 0; i < 2; i++)
        router_kit_set_agent(&kit, i, true, 3);
    router_pause_agent(kit.router, TEXT("x"), NULL);
    router_kit_expect_picks(&kit, (const char *const[]){"o-0"}, 1);
    /* Paused again before the StartStep is decided: the step waits on. */
    router_pause_agent(kit.router, TEXT("x"), "paused by ann: down");
    router_kit_decide(partition);
    cr_assert_eq(step_wait(router_kit_first_step(partition, "o-0")).kind, WAIT_QUEUE);
    cr_assert_eq(router_agent(kit.router, TEXT("x"))->starting, 0);
    router_pause_agent(kit.router, TEXT("x"), NULL);
    router_pause_agent(kit.router, TEXT("y"), NULL);
    router_kit_end(&kit);
}

Test(router_pause, prefers_an_agent_that_is_not_paused)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    router_kit_set_agent(&kit, 0, true, 9);
    router_kit_set_agent(&kit, 1, true, 3);
    router_pause_agent(kit.router, TEXT("x"), "paused by ann: down");
    router_kit_submit(partition, PRIORITY_NORMAL);
    cr_assert(text_equal(router_kit_first_step(partition, "o-0")->agent, TEXT("y")));
    router_pause_agent(kit.router, TEXT("x"), NULL);
    router_kit_end(&kit);
}

Test(router_pause, starts_what_waited_step_by_step_where_routing_is_switched_off)
{
    static struct router_kit kit;
    router_kit_begin_with(&kit, 1, true);
    struct router_kit_partition *partition = &kit.partitions[0];
    router_kit_submit(partition, PRIORITY_NORMAL);
    cr_assert_eq(step_wait(router_kit_first_step(partition, "o-0")).kind, WAIT_QUEUE,
                 "the pauses are not known yet");
    router_begin(kit.router);
    router_kit_commit(partition);
    router_kit_expect_picks(&kit, (const char *const[]){"o-0", "o-0"}, 2);
    router_kit_decide(partition);
    router_kit_commit(partition);
    router_pause_agent(kit.router, TEXT("x"), "paused by ann: down");
    while (partition->order_count < 1 + 3 * ROUTER_SLOW_STARTS)
        router_kit_submit(partition, PRIORITY_NORMAL);
    router_kit_commit(partition);
    router_kit_expect_picks(&kit, NULL, 0);
    router_pause_agent(kit.router, TEXT("x"), NULL);
    router_pick(kit.router, false);
    cr_assert_eq(partition->command_count, 0, "not before the next tick");
    for (uint32_t round = 1; round <= 2; round++) {
        router_pick(kit.router, true);
        cr_assert_eq(partition->command_count, (2 * round - 1) * ROUTER_SLOW_STARTS);
        router_pick(kit.router, false);
        cr_assert_eq(partition->command_count, (2 * round - 1) * ROUTER_SLOW_STARTS);
    }
    router_kit_decide(partition);
    router_kit_commit(partition);
    router_kit_submit(partition, PRIORITY_NORMAL);
    const struct step *last =
        router_kit_first_step(partition, partition->orders[partition->order_count - 1]);
    cr_assert_eq(step_wait(last).kind, WAIT_NONE, "nothing waits before it");
    router_kit_end(&kit);
}

/* Its queues name no agent until the workflow was read, so that no agent is known to the router. */
Test(router_pause, starts_what_waited_before_a_restart_once_the_workflow_is_known)
{
    static struct router_kit kit;
    router_kit_begin_with(&kit, 1, true);
    struct router_kit_partition *partition = &kit.partitions[0];
    router_kit_submit(partition, PRIORITY_NORMAL);
    router_kit_commit(partition);
    router_kit_restart(&kit);
    router_begin(kit.router);
    router_pick(kit.router, true);
    cr_assert_eq(partition->command_count, 0);
    router_kit_deploy(&kit);
    router_pick(kit.router, true);
    cr_assert_eq(partition->command_count, 2);
    router_kit_decide(partition);
    cr_assert_eq(step_wait(router_kit_first_step(partition, "o-0")).kind, WAIT_NONE);
    router_kit_end(&kit);
}
