/* SPDX-License-Identifier: Apache-2.0 */
/* What the router picks next, and the tally that its stores keep. */
#include "tests/unit/scheduler/router_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>

TestSuite(router);

Test(router, picks_by_priority_then_by_waiting_time)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    for (int i = 0; i < 4; i++, kit.now++)
        router_kit_submit(partition, PRIORITY_LOW); /* o-0 .. o-3 */
    for (int i = 0; i < 2; i++, kit.now++)
        router_kit_submit(partition, PRIORITY_HIGH); /* o-4, o-5 */
    router_kit_commit(partition);
    /* y only takes B: x is away, so A also waits for y. */
    router_kit_set_agent(&kit, 1, true, 2);
    cr_assert_eq(route_agent_waiting(router_agent(kit.router, TEXT("y"))), 12);
    cr_assert_eq(router_agent(kit.router, TEXT("y"))->limit, 4);
    router_kit_expect_picks(&kit, (const char *const[]){"o-4", "o-4", "o-5", "o-5"}, 4);
    /* Room for as many as were asked for: a new one has to wait. */
    router_kit_submit(partition, PRIORITY_HIGH);
    cr_assert_eq(router_kit_order(partition, "o-6")->steps[0].state, STEP_PENDING);
    router_kit_decide(partition);
    cr_assert_eq(router_agent(kit.router, TEXT("y"))->running, 4);
    router_kit_expect_picks(&kit, NULL, 0);
    router_kit_end(&kit);
}

Test(router, folds_an_old_store_without_a_tally_again)
{
    static struct router_kit kit;
    struct error error = {0};
    bool dropped = false;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    struct view_options options = {.env = kit.env,
                                   .codec = kit.codec,
                                   .path = kit_path(kit_folder(), "old"),
                                   .cache_orders = 4};
    struct view *view = NULL;
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    view_set_cluster_id(view, "kit");
    router_kit_fold(partition, view, 0);
    cr_assert(view_commit(view, false, &error) == ERROR_OK);
    view_close(view);
    struct backlog *backlog = backlog_new(kit.router, true);
    options.index = &backlog_index;
    options.index_ctx = backlog;
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    cr_assert(dropped);
    cr_assert_eq(view_checkpoint(view)->next_event_offset, 0);
    view_close(view);
    backlog_free(backlog);
    router_kit_end(&kit);
}
