/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories: always, the counts are those of the orders, no start exceeds the limit, no step
 * is overtaken, and in the end every step is served. */
#include "tests/lib/seed.h"
#include "tests/unit/scheduler/router_kit.h"

#include <criterion/criterion.h>

TestSuite(router_history);

enum { HISTORIES = 12 };

static void act(struct router_kit *kit)
{
    struct router_kit_partition *partition =
        &kit->partitions[router_kit_roll(kit, ROUTER_KIT_PARTITIONS)];
    uint32_t dice = router_kit_roll(kit, 100);
    kit->now += router_kit_roll(kit, 3);
    if (dice < 25 && partition->order_count < ROUTER_KIT_ORDERS_MAX)
        router_kit_submit(partition, (enum priority)router_kit_roll(kit, PRIORITY_COUNT));
    else if (dice < 60 && partition->order_count > 0)
        router_kit_report(partition,
                          partition->orders[router_kit_roll(kit, partition->order_count)]);
    else if (dice < 75)
        router_kit_decide(partition);
    else if (dice < 88)
        router_kit_commit(partition);
    else if (dice < 90)
        router_kit_lose(partition, router_kit_roll(kit, 2) == 0);
    else if (dice < 91)
        router_pause_agent(kit->router, text_of(router_kit_agents[router_kit_roll(kit, 2)]),
                           router_kit_roll(kit, 2) == 0 ? "paused by ann: the bank is down" : NULL);
    else if (dice < 93)
        router_kit_set_agent(kit, (int)router_kit_roll(kit, 2), router_kit_roll(kit, 3) > 0,
                             router_kit_roll(kit, 6));
    else if (dice < 95)
        router_measure(kit->router, kit->now);
    else
        router_pick(kit->router, router_kit_roll(kit, 2) == 0);
}

/* Returns how often a step was queued because its agent was paused. */
static uint64_t random_history(uint64_t seed, bool switched_off)
{
    static struct router_kit kit;
    seed_begin(seed);
    router_kit_begin_with(&kit, seed, switched_off);
    for (int i = 0; i < 1200; i++) {
        if (switched_off && i == 50)
            router_begin(kit.router);
        act(&kit);
        if (i % 16 == 0)
            router_kit_check_counts(&kit);
    }
    router_kit_set_agent(&kit, 0, true, 3);
    router_kit_set_agent(&kit, 1, true, 3);
    for (int i = 0; i < 2; i++)
        router_pause_agent(kit.router, text_of(router_kit_agents[i]), NULL);
    for (int round = 0; !router_kit_all_ended(&kit); round++) {
        cr_assert_lt(round, 2000, "a step waits for ever");
        router_pick(kit.router, true);
        for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
            struct router_kit_partition *partition = &kit.partitions[p];
            router_kit_decide(partition);
            for (uint32_t i = 0; i < partition->order_count; i++)
                router_kit_report(partition, partition->orders[i]);
            router_kit_commit(partition);
        }
        router_kit_check_counts(&kit);
    }
    cr_assert_gt(kit.starts, 100);
    router_kit_end(&kit);
    seed_end();
    return kit.queued_for_a_pause;
}

static void random_histories(bool switched_off)
{
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(HISTORIES);
    uint64_t queued_for_a_pause = 0;
    for (uint64_t i = 0; i < cases; i++)
        queued_for_a_pause += random_history(first + i, switched_off);
    if (cases >= HISTORIES) /* not in every single one */
        cr_assert_gt(queued_for_a_pause, 0);
}

Test(router_history, keeps_its_counts_right_and_serves_every_step)
{
    random_histories(false);
}

Test(router_history, serves_every_step_where_routing_is_switched_off)
{
    random_histories(true);
}
