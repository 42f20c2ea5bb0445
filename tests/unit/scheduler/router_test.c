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

/* The agent completes that number of attempts within a second. */
static const struct route_agent *complete(struct router_kit *kit, int attempts)
{
    for (int i = 0; i < attempts; i++)
        router_completed(kit->router, TEXT("y"), kit->now + 1000);
    kit->now += 1000;
    router_measure(kit->router, kit->now);
    return router_agent(kit->router, TEXT("y"));
}

Test(router, gives_a_fast_agent_what_it_completes_in_a_short_time)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    router_kit_set_agent(&kit, 1, true, 2);
    cr_assert_eq(complete(&kit, 5000)->limit, 4, "the first measurement has no beginning");
    cr_assert_eq(complete(&kit, 10)->limit, 4, "a slow one");
    cr_assert_eq(complete(&kit, 1000)->limit, 1000 * ROUTER_KIT_WAIT_MS / 1000);
    cr_assert_eq(complete(&kit, 0)->limit, 100, "it had nothing to do");
    router_kit_submit(&kit.partitions[0], PRIORITY_NORMAL);
    cr_assert_gt(router_agent(kit.router, TEXT("y"))->running, 0);
    cr_assert_eq(complete(&kit, 0)->limit, 50, "it falls once nothing is completed");
    router_kit_set_agent(&kit, 1, true, 0);
    cr_assert_eq(router_agent(kit.router, TEXT("y"))->limit, 1, "only half-open circuits");
    router_kit_set_agent(&kit, 1, false, 0);
    router_kit_set_agent(&kit, 1, true, 2);
    cr_assert_eq(router_agent(kit.router, TEXT("y"))->limit, 4, "what comes back may be slower");
    router_kit_set_agent(&kit, 1, false, 0);
    cr_assert_eq(complete(&kit, 1000)->limit, 0);
    router_kit_set_agent(&kit, 1, true, 2);
    router_pause_agent(kit.router, TEXT("y"), "paused by ann: down");
    cr_assert_eq(route_agent_free(complete(&kit, 1000)), 0);
    router_pause_agent(kit.router, TEXT("y"), NULL);
    router_kit_end(&kit);
}

static int64_t complete_one_by_one(struct router_kit *kit, int attempts, int64_t after_ms)
{
    for (int i = 0; i < attempts; i++)
        router_completed(kit->router, TEXT("y"), kit->now + after_ms);
    return router_agent(kit->router, TEXT("y"))->limit;
}

Test(router, gives_a_fast_agent_more_before_the_next_measurement)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    router_kit_set_agent(&kit, 1, true, 2);
    cr_assert_eq(complete_one_by_one(&kit, 20, 10), 4, "nothing was measured yet");
    complete(&kit, 0);
    cr_assert_eq(complete_one_by_one(&kit, 4, 10), 4);
    cr_assert_eq(complete_one_by_one(&kit, 26, 20), 30, "as many as it completed");
    cr_assert_eq(complete_one_by_one(&kit, 20, 2 * ROUTER_KIT_WAIT_MS), 30, "not within wait_ms");
    cr_assert_eq(complete_one_by_one(&kit, 20, 2 * ROUTER_KIT_WAIT_MS), 35);
    router_kit_set_agent(&kit, 1, false, 0);
    cr_assert_eq(complete_one_by_one(&kit, 20, 10), 0);
    router_kit_end(&kit);
}

/* A queue would never end under load if each new step joined it. */
Test(router, starts_a_new_step_while_those_that_wait_have_their_capacity)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    for (int i = 0; i < 2; i++)
        router_kit_submit(partition, PRIORITY_NORMAL); /* o-0, o-1: two steps each wait for y */
    router_kit_commit(partition);
    router_kit_set_agent(&kit, 1, true, 2);
    router_kit_submit(partition, PRIORITY_HIGH); /* what is free is theirs */
    cr_assert_eq(router_kit_order(partition, "o-2")->steps[0].state, STEP_PENDING);
    router_kit_set_agent(&kit, 1, true, 4);
    router_kit_submit(partition, PRIORITY_HIGH); /* 8 for 6 that wait, and for 2 more */
    cr_assert_eq(router_kit_order(partition, "o-3")->steps[0].state, STEP_PROCESSING);
    cr_assert_eq(router_kit_order(partition, "o-3")->steps[1].state, STEP_PROCESSING);
    router_kit_submit(partition, PRIORITY_HIGH);
    cr_assert_eq(router_kit_order(partition, "o-4")->steps[0].state, STEP_PENDING);
    router_kit_commit(partition);
    router_pick(kit.router, true);
    cr_assert_eq(partition->command_count, 6);
    router_kit_decide(partition);
    cr_assert_eq(router_agent(kit.router, TEXT("y"))->running, 8);
    router_kit_end(&kit);
}

/* The store has rows of o-0 and o-1 as of the last commit: those of o-0 are gone by then, those of
 * the others are in memory alone. */
Test(router, picks_steps_whose_rows_are_only_in_memory)
{
    static struct router_kit kit;
    router_kit_begin(&kit, 1);
    struct router_kit_partition *partition = &kit.partitions[0];
    router_kit_submit(partition, PRIORITY_NORMAL); /* o-0 */
    kit.now += 2;
    router_kit_submit(partition, PRIORITY_NORMAL); /* o-1 */
    router_kit_commit(partition);
    kit.now--;
    router_kit_submit(partition, PRIORITY_NORMAL); /* o-2 waits for longer than o-1 */
    kit.now += 2;
    router_kit_submit(partition, PRIORITY_NORMAL); /* o-3 */
    router_kit_set_agent(&kit, 1, true, 1);
    router_kit_expect_picks(&kit, (const char *const[]){"o-0", "o-0"}, 2);
    router_kit_decide(partition);
    router_kit_set_agent(&kit, 1, true, 4);
    router_kit_expect_picks(&kit, (const char *const[]){"o-2", "o-2", "o-1", "o-1", "o-3", "o-3"},
                            6);
    router_kit_check_counts(&kit);
    router_kit_decide(partition);
    router_kit_expect_picks(&kit, NULL, 0);
    router_kit_check_counts(&kit);
    router_kit_end(&kit);
}

/* Its steps compute and decide; none asks an agent. */
Test(router, takes_a_workflow_without_agents)
{
    static struct router_kit kit;
    struct workflow_step decline = {.name = TEXT("Decline"), .kind = STEP_KIND_FAIL};
    struct workflow workflow = {
        .name = TEXT("declines"), .version = 1, .steps = &decline, .step_count = 1, .pivot = -1};
    router_kit_begin(&kit, 1);
    const struct routing *routing = router_routing(kit.router, &workflow, NULL);
    cr_assert(routing != NULL);
    cr_assert_eq(routing->count, 0);
    router_kit_end(&kit);
}

/* Of own partitions, and after a restart as well; they wait for no agent. */
Test(router, counts_steps_that_wait_for_a_moment)
{
    struct router_options options = {.switched_off = true,
                                     .factor = 1,
                                     .retry_ms_min = 1,
                                     .retry_ms_max = 1,
                                     .weights = {1, 1, 1}};
    struct router *router = router_new(&options);
    struct backlog *own = backlog_new(router, true);
    struct backlog *standby = backlog_new(router, false);
    struct step steps[] = {{.name = TEXT("W"), .state = STEP_WAITING, .wait = {.retry_at = 9}},
                           {.name = TEXT("V"), .state = STEP_WAITING, .wait = {.retry_at = 8}},
                           {.name = TEXT("A"), .state = STEP_PENDING, .wait = {.retry_at = 7}}};
    struct order order = {.details = {.order_id = TEXT("o-1"), .workflow = TEXT("test")},
                          .state = ORDER_PROCESSING,
                          .steps = steps,
                          .step_count = 3};
    struct buffer tally = {0};
    struct view_index_row rows[WORKFLOW_STEPS_MAX];
    cr_assert_eq(backlog_index.rows_of(&order, rows), 0);
    backlog_index.count(own, &order, 1);
    cr_assert_eq(router_standing(router, WAIT_TIME), 2);
    backlog_index.encode(own, &tally);
    struct text encoded = {(const char *)tally.data, (uint32_t)tally.size};
    cr_assert(backlog_index.decode(standby, encoded));
    cr_assert_eq(router_standing(router, WAIT_TIME), 2);
    backlog_set_active(standby, true);
    cr_assert_eq(router_standing(router, WAIT_TIME), 4);
    steps[0].state = STEP_PROCESSED;
    backlog_index.count(own, &order, 1);
    steps[0].state = STEP_WAITING;
    backlog_index.count(own, &order, -1);
    cr_assert_eq(router_standing(router, WAIT_TIME), 3);
    backlog_set_active(own, false);
    cr_assert_eq(router_standing(router, WAIT_TIME), 2);
    backlog_free(own);
    backlog_free(standby);
    cr_assert_eq(router_standing(router, WAIT_TIME), 0);
    for (uint32_t size = 0; size < encoded.size; size++) {
        struct backlog *cut = backlog_new(router, false);
        cr_assert_not(backlog_index.decode(cut, (struct text){encoded.data, size}), "%u", size);
        backlog_free(cut);
    }
    buffer_deinit(&tally);
    router_free(router);
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
                                   .cache_bytes = 4 * 2048};
    struct view *view = NULL;
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    view_set_cluster_id(view, "kit");
    router_kit_fold(partition, view, 0);
    cr_assert(view_commit(view, &error) == ERROR_OK);
    cr_assert(view_flush(view, &error) == ERROR_OK);
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
