/* SPDX-License-Identifier: Apache-2.0 */
/* When a supervisor asks, how often, and what it costs: one partition over the broker in memory. */
#include "platform/failpoint.h"
#include "services/supervisor/outstanding.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"
#include "tests/unit/supervisor/world.h"

#include <criterion/criterion.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000, TICKS_MS = 100, OVERDUE = 60000 };

static bool count_visit(const char *name, void *ctx)
{
    uint64_t *visits = ctx;
    *visits += strcmp(name, "supervisor.visit") == 0;
    return false;
}

Test(supervisor, asks_when_a_step_is_due)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    int64_t due = world_due(world, 0);
    world_run(world, due - world->right.now_wall_ms - WORLD_STEP_MS);
    world_count(world);
    cr_assert_eq(world->commands, 0);
    run_with_scheduler(world, 2 * TICKS_MS);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    cr_assert(order_ended(&world->orders[0].order));
    run_with_scheduler(world, 200000);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    world_free(world);
}

Test(supervisor, does_not_repeat_at_once_what_no_scheduler_has_read)
{
    struct supervised_world *world = world_new("A");
    uint64_t visits = 0;
    for (uint32_t i = 0; i < OVERDUE; i++)
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
    failpoint_on_pass(count_visit, &visits);
    open_and_fold(world);
    world_run(world, REPEAT_UNREAD_MS / 4);
    world_count(world);
    cr_assert(world->commands > 0 && world->commands <= OVERDUE);
    for (uint32_t i = 0; i < OVERDUE; i++)
        cr_assert(world->orders[i].commands <= 1, "order-%u: %u commands", i,
                  world->orders[i].commands);
    /* Nothing has become due since: nothing is walked over. */
    visits = 0;
    world_run(world, REPEAT_UNREAD_MS / 4);
    cr_assert_eq(visits, 0, "%llu rows", (unsigned long long)visits);
    /* The scheduler is back: all of them are asked for and end. */
    for (int i = 0; i < 60 && supervisor_partition_next_offset(world->partition) < 2 * OVERDUE; i++)
        run_with_scheduler(world, TICKS_MS);
    for (uint32_t i = 0; i < OVERDUE; i++)
        cr_assert(order_ended(&world->orders[i].order), "order-%u", i);
    failpoint_on_pass(NULL, NULL);
    world_free(world);
}

Test(supervisor, sends_no_more_than_its_window_until_some_are_decided)
{
    enum { ORDERS = 3 * SUPERVISOR_WINDOW, DECIDED = 7 };
    struct supervised_world *world = world_new("A");
    for (uint32_t i = 0; i < ORDERS; i++)
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
    open_and_fold(world);
    world_run(world, REPEAT_UNREAD_MS / 2); /* without a scheduler */
    cr_assert_eq(world_waiting(world), SUPERVISOR_WINDOW);
    world_decide_some(world, DECIDED);
    cr_assert_eq(world_waiting(world), SUPERVISOR_WINDOW - DECIDED);
    world_run(world, 2 * WORLD_STEP_MS);
    cr_assert_eq(world_waiting(world), SUPERVISOR_WINDOW);
    run_with_scheduler(world, 5000);
    world_count(world);
    for (uint32_t i = 0; i < ORDERS; i++) {
        cr_assert(order_ended(&world->orders[i].order), "order-%u", i);
        cr_assert_eq(world->orders[i].commands, 1, "order-%u: %u", i, world->orders[i].commands);
    }
    world_free(world);
}

Test(supervisor, shares_its_window_among_the_partitions)
{
    static const struct {
        int32_t partitions;
        int64_t window;
    } cases[] = {{4, SUPERVISOR_WINDOW / 4}, {100, SUPERVISOR_WINDOW_MIN}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct supervised_world *world = world_new_of("A", cases[i].partitions);
        for (uint32_t n = 0; n < 2 * SUPERVISOR_WINDOW; n++)
            world_submit(world, n, world->right.now_wall_ms - HOUR_MS);
        open_and_fold(world);
        world_run(world, 5000);
        cr_assert_eq(world_waiting(world), cases[i].window, "%lld of %d",
                     (long long)world_waiting(world), cases[i].partitions);
        world_free(world);
    }
}

/* An unclean election of a leader, for one. */
Test(supervisor, asks_again_after_ten_seconds_when_its_command_was_lost)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, world_due(world, 0) - world->right.now_wall_ms + TICKS_MS);
    cr_assert_eq(world_waiting(world), 1);
    broker_memory_truncate(world->kafka, "p.commands", 0,
                           site_end(world->kafka, "p.commands", 0) - 1);
    world_run(world, REPEAT_UNREAD_MS - 2 * TICKS_MS);
    cr_assert_eq(world_waiting(world), 0);
    /* The producer has lost a record: its next one fails, and is repeated. */
    run_with_scheduler(world, 2 * TICKS_MS + 2 * REPEAT_MS + TICKS_MS);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

static bool count_commit(const char *name, void *ctx)
{
    uint64_t *commits = ctx;
    *commits += strcmp(name, "follower.commit") == 0;
    return false;
}

/* The scheduler decides fewer than are due: it never waits for them. The index is read, which costs
 * a commit, for thousands of them together. */
Test(supervisor, keeps_a_slow_scheduler_busy_with_a_short_queue)
{
    enum { ORDERS = 12000, PER_STEP = 20, COMMITS_MAX = 50 };
    struct supervised_world *world = world_new("A");
    int64_t took_ms = 0;
    uint64_t commits = 0;
    failpoint_on_pass(count_commit, &commits);
    for (uint32_t i = 0; i < ORDERS; i++)
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
    open_and_fold(world);
    for (; world->sequence < 2 * ORDERS && took_ms < HOUR_MS; took_ms += WORLD_STEP_MS) {
        cr_assert_leq(world_waiting(world), SUPERVISOR_WINDOW);
        world_decide_some(world, PER_STEP);
        world_run(world, WORLD_STEP_MS);
    }
    failpoint_on_pass(NULL, NULL);
    cr_assert_leq(took_ms, ORDERS / PER_STEP * WORLD_STEP_MS + TICKS_MS, "%lld ms",
                  (long long)took_ms);
    cr_assert_leq(commits, COMMITS_MAX, "%llu", (unsigned long long)commits);
    world_free(world);
}

/* They are repeated after two seconds. */
Test(supervisor, sends_others_while_a_whole_window_was_not_delivered)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    for (uint32_t i = 0; i < SUPERVISOR_WINDOW; i++)
        world_submit(world, i, world->right.now_wall_ms);
    int64_t due = world_due(world, 0);
    world_run(world, 500);
    world_submit(world, SUPERVISOR_WINDOW, world->right.now_wall_ms);
    world_run(world, due - world->right.now_wall_ms - TICKS_MS);
    broker_memory_set_faults(world->kafka, &(struct broker_memory_faults){.append_lost = 1000});
    world_run(world, 2 * TICKS_MS);
    broker_memory_set_faults(world->kafka, &(struct broker_memory_faults){0});
    run_with_scheduler(world, 500);
    world_count(world);
    cr_assert_eq(world->orders[0].commands, 0);
    cr_assert_eq(world->orders[SUPERVISOR_WINDOW].commands, 1);
    run_with_scheduler(world, 2000);
    for (uint32_t i = 0; i <= SUPERVISOR_WINDOW; i++)
        cr_assert(order_ended(&world->orders[i].order), "order-%u", i);
    world_free(world);
}

/* They are read, and nothing comes of them. */
Test(supervisor, asks_on_time_while_many_others_are_repeated)
{
    enum { ORDERS = 5000, LATE_MS_MAX = 1000 };
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    for (uint32_t i = 0; i < ORDERS; i++)
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
    world_submit(world, ORDERS, world->right.now_wall_ms);
    int64_t due = world_due(world, ORDERS);
    world->rejects = true;
    run_with_scheduler(world, due - world->right.now_wall_ms + LATE_MS_MAX);
    world_count(world);
    cr_assert_eq(world->orders[ORDERS].commands, 1);
    cr_assert_leq(world->orders[ORDERS].asked_ms - due, LATE_MS_MAX);
    cr_assert_geq(world->orders[0].commands, 3);
    world_free(world);
}

Test(supervisor, repeats_with_backoff_what_the_scheduler_did_not_settle)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world->rejects = true;
    world_run(world, world_due(world, 0) - world->right.now_wall_ms);
    run_with_scheduler(world, 123000); /* 0, 2, 6, 14, 30, 62, 122 s */
    world_count(world);
    cr_assert_eq(world->commands, 7, "%u commands", world->commands);
    world->rejects = false;
    run_with_scheduler(world, 61000);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

Test(supervisor, repeats_a_command_that_was_lost_by_the_monotonic_clock)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    broker_memory_set_faults(world->kafka, &(struct broker_memory_faults){.append_lost = 1000});
    world_run(world, world_due(world, 0) - world->right.now_wall_ms + TICKS_MS);
    broker_memory_set_faults(world->kafka, &(struct broker_memory_faults){0});
    world->clock.now_wall_ms -= HOUR_MS;
    run_with_scheduler(world, 2000 + TICKS_MS);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

/* The record behind it needs a schema that is looked for first. */
Test(supervisor, asks_for_what_was_folded_before_an_unknown_schema)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, 1000);
    int64_t left = world_due(world, 0) - world->right.now_wall_ms;
    world_submit(world, 1, world->right.now_wall_ms - left - 1000 + 2 * TICKS_MS);
    broker_memory_append(world->kafka, "p.events", 0, TEXT("x"),
                         (struct text){"\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08 ", 11});
    broker_memory_set_partition_fault(world->kafka, "p.schemas", 0, PARTITION_UNREADABLE);
    world_run(world, 4000);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    world_free(world); /* while the schema is looked for */
}

/* The store cannot be dropped either, so its commands are remembered. */
Test(supervisor, asks_again_when_the_order_could_not_be_read)
{
    enum { UNCACHED = 200 }; /* the store is asked for the first of them */
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    for (uint32_t i = 0; i < UNCACHED; i++)
        world_submit(world, i, world->right.now_wall_ms);
    world_run(world, world_due(world, 0) - world->right.now_wall_ms - TICKS_MS);
    cr_assert(failpoint_configure("view.read=error@1,view.drop=error@1"));
    run_with_scheduler(world, 60000);
    cr_assert_geq(failpoint_passes("view.drop"), 1);
    for (uint32_t i = 0; i < UNCACHED; i++)
        cr_assert(order_ended(&world->orders[i].order), "order %u has not ended", i);
    world_free(world);
}

Test(supervisor, asks_on_time_after_its_clock_was_an_hour_fast_for_some_seconds)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    int64_t due = world_due(world, 0);
    world->clock.now_wall_ms += HOUR_MS;
    run_with_scheduler(world, 5000);
    cr_assert_geq(world->metrics.early->value, 1);
    world->clock.now_wall_ms -= HOUR_MS;
    run_with_scheduler(world, due - world->right.now_wall_ms + 2 * TICKS_MS);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

Test(supervisor, asks_again_on_time_while_its_clock_is_fast)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    for (uint32_t i = 0; i < 10; i++) {
        world_submit(world, i, world->right.now_wall_ms);
        run_with_scheduler(world, TICKS_MS);
    }
    world->clock.now_wall_ms += HOUR_MS;
    run_with_scheduler(world, world_due(world, 9) - world->right.now_wall_ms + 2 * TICKS_MS);
    world_count(world);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert(order_ended(&world->orders[i].order), "order-%u", i);
        cr_assert(world->orders[i].commands <= 3, "order-%u: %u", i, world->orders[i].commands);
    }
    world_free(world);
}

/* The acknowledgement of the first command measures the clock. */
Test(supervisor, asks_early_only_once_while_its_clock_is_fast)
{
    struct supervised_world *world = world_new("A");
    world->clock.now_wall_ms += HOUR_MS;
    for (uint32_t i = 0; i < 500; i++)
        world_submit(world, i, world->right.now_wall_ms);
    open_and_fold(world);
    world_run(world, 5000);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    run_with_scheduler(world, world_due(world, 499) - world->right.now_wall_ms + 20 * TICKS_MS);
    for (uint32_t i = 0; i < 500; i++)
        cr_assert(order_ended(&world->orders[i].order), "order-%u", i);
    world_free(world);
}

Test(supervisor, asks_on_time_while_its_clock_is_slow)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    int64_t due = world_due(world, 0);
    world->clock.now_wall_ms -= HOUR_MS;
    run_with_scheduler(world, TICKS_MS);
    world_submit(world, 1, world->right.now_wall_ms);
    run_with_scheduler(world, due - world->right.now_wall_ms + 2 * TICKS_MS);
    cr_assert(order_ended(&world->orders[0].order));
    world_free(world);
}

/* The deadline is in the past when it is folded, whenever in a tick that is. */
Test(supervisor, asks_for_what_was_due_before_it_was_folded)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    for (uint32_t i = 0; i < 20; i++) {
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
        world_run(world, WORLD_STEP_MS);
    }
    world_run(world, 2 * TICKS_MS);
    world_count(world);
    for (uint32_t i = 0; i < 20; i++)
        cr_assert_eq(world->orders[i].commands, 1, "order-%u", i);
    world_free(world);
}

/* Whatever else the index holds, and however far ahead of it the rest is. */
Test(supervisor, asks_for_each_of_many_deadlines_when_it_is_due)
{
    enum { ORDERS = 20000, SPREAD_MS = 8000, LATE_MS_MAX = 50 };
    struct supervised_world *world = world_new("A");
    int64_t begin = world->right.now_wall_ms;
    for (uint32_t i = 0; i < ORDERS; i++) /* not in the order in which they are due */
        world_submit(world, i, begin - SPREAD_MS + (i * INT64_C(7919)) % SPREAD_MS);
    open_and_fold(world);
    int64_t last = 0;
    for (uint32_t i = 0; i < ORDERS; i++)
        last = world_due(world, i) > last ? world_due(world, i) : last;
    while (world->right.now_wall_ms < last + 2 * TICKS_MS)
        run_with_scheduler(world, TICKS_MS);
    world_count(world);
    for (uint32_t i = 0; i < ORDERS; i++) {
        cr_assert_eq(world->orders[i].commands, 1, "order-%u: %u", i, world->orders[i].commands);
        cr_assert_leq(world->orders[i].asked_ms - world->orders[i].due_ms, LATE_MS_MAX,
                      "order-%u: %lld ms", i,
                      (long long)(world->orders[i].asked_ms - world->orders[i].due_ms));
    }
    world_free(world);
}

Test(supervisor, does_not_read_the_index_while_nothing_will_be_due_soon)
{
    enum { ORDERS = 2000, UNDER_WAY = 50 };
    struct supervised_world *world = world_new("A");
    uint64_t visits = 0;
    open_and_fold(world);
    failpoint_on_pass(count_visit, &visits);
    for (uint32_t i = 0; i < ORDERS; i++) {
        world_submit(world, i, world->right.now_wall_ms);
        if (i >= UNDER_WAY)
            world_report(world, i - UNDER_WAY);
        world_run(world, WORLD_STEP_MS);
    }
    cr_assert_leq(visits, 10, "%llu rows", (unsigned long long)visits);
    failpoint_on_pass(NULL, NULL);
    world_free(world);
}

/* The index is read on for the first order while the second one is not yet in it. */
Test(supervisor, asks_for_what_was_folded_right_before_the_index_is_read)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, world_due(world, 0) - world->right.now_wall_ms - 1100);
    world_submit(world, 1, world->orders[0].order.accepted_at + 5000);
    run_with_scheduler(world, 7000);
    world_count(world);
    cr_assert_eq(world->orders[0].commands, 1);
    cr_assert_eq(world->orders[1].commands, 1);
    cr_assert_lt(world->orders[1].asked_ms - world->orders[1].due_ms, TICKS_MS);
    world_free(world);
}

/* It has armed one of them before, and the other is beyond what it arms. */
Test(supervisor, asks_on_time_after_a_restart)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, 5000);
    world_submit(world, 1, world->right.now_wall_ms);
    world_run(world, world->orders[0].due_ms - world->right.now_wall_ms - 500);
    world_reopen(world);
    run_with_scheduler(world, 6000);
    world_count(world);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(world->orders[i].commands, 1, "order-%u: %u", i, world->orders[i].commands);
        cr_assert_lt(world->orders[i].asked_ms - world->orders[i].due_ms, TICKS_MS, "order-%u", i);
    }
    world_free(world);
}

/* It was armed and then seen to end, in records that were not committed and are gone. */
Test(supervisor, asks_for_what_had_ended_in_records_that_are_gone)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, world_due(world, 0) - world->right.now_wall_ms - 700);
    struct order before;
    order_copy(&world->orders[0].order, &world->heap.arena, &before);
    world_report(world, 0);
    world_run(world, 300);
    world_lose_decision(world, 0, &before);
    run_with_scheduler(world, 5000);
    world_count(world);
    cr_assert_eq(world->orders[0].commands, 1, "%u", world->orders[0].commands);
    world_free(world);
}

/* The retry was armed by a record that was not committed and is not in the log any more. */
Test(supervisor, asks_for_nothing_that_is_no_longer_in_the_log)
{
    struct supervised_world *world = world_new("A{r1}");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms);
    world_run(world, world->orders[0].due_ms - world->right.now_wall_ms + TICKS_MS);
    struct order before;
    order_copy(&world->orders[0].order, &world->heap.arena, &before);
    world_decide(world);
    cr_assert_lt(world_due(world, 0), world->right.now_wall_ms + 1500);
    world_run(world, 200);
    world_lose_decision(world, 0, &before);
    world_run(world, 1500);
    world_count(world);
    /* The same recovery twice, and no retry. */
    cr_assert_eq(world->orders[0].commands, 2, "%u", world->orders[0].commands);
    cr_assert_eq(world->metrics.commands[DEADLINE_START]->value, 0);
    world_free(world);
}

/* What ends further on in the log is not asked for on the way there. */
Test(supervisor, asks_for_nothing_before_it_has_folded_to_the_end)
{
    enum { ORDERS = 200 };
    struct supervised_world *world = world_new("A");
    for (uint32_t i = 0; i < ORDERS; i++)
        world_submit(world, i, world->right.now_wall_ms - HOUR_MS);
    for (uint32_t i = 0; i < ORDERS; i++)
        world_report(world, i);
    world_open(world);
    while (!supervisor_partition_is_ready(world->partition)) {
        clock_manual_advance(&world->clock, WORLD_STEP_MS);
        clock_manual_advance(&world->right, WORLD_STEP_MS);
        loop_once(world->service.loop, 0);
        broker_memory_step(world->kafka);
    }
    world_run(world, 1000);
    world_count(world);
    cr_assert_eq(world->commands, 0);
    world_free(world);
}

Test(supervisor, names_what_it_waits_for)
{
    struct supervised_world *world = world_new("A");
    char text[ERROR_MESSAGE_SIZE];
    broker_memory_set_partition_fault(world->kafka, "p.events", 0, PARTITION_UNREADABLE);
    world_open(world);
    world_run(world, 2000);
    cr_assert(supervisor_partition_trouble(world->partition, text, sizeof(text)));
    cr_assert_not_null(strstr(text, "partition 0 waits for the"), "%s", text);
    cr_assert_not_null(strstr(text, "p.events[0]"), "%s", text);
    broker_memory_clear_partition_faults(world->kafka);
    world_run(world, 2000);
    cr_assert(!supervisor_partition_trouble(world->partition, text, sizeof(text)), "%s", text);
    world_submit(world, 0, world->right.now_wall_ms - HOUR_MS);
    broker_memory_set_partition_fault(world->kafka, "p.commands", 0, PARTITION_NO_LEADER);
    world_run(world, 6000);
    cr_assert(supervisor_partition_trouble(world->partition, text, sizeof(text)));
    cr_assert_not_null(strstr(text, "the leader of p.commands[0] to acknowledge 1 commands"), "%s",
                       text);
    broker_memory_clear_partition_faults(world->kafka);
    world_run(world, 1000);
    cr_assert(!supervisor_partition_trouble(world->partition, text, sizeof(text)), "%s", text);
    world_free(world);
}

Test(supervisor, asks_for_nothing_while_it_is_suspended)
{
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_submit(world, 0, world->right.now_wall_ms - HOUR_MS);
    supervisor_partition_suspend(world->partition, true);
    world_run(world, 5000);
    world_count(world);
    cr_assert_eq(world->commands, 0);
    supervisor_partition_suspend(world->partition, false);
    world_run(world, TICKS_MS);
    world_count(world);
    cr_assert_eq(world->commands, 1);
    world_free(world);
}

/* Orders are elsewhere now: what this partition says of them is no longer true. */
Test(supervisor, stops_at_a_claim_with_another_number_of_partitions)
{
    char trouble[512] = "";
    struct supervised_world *world = world_new("A");
    open_and_fold(world);
    world_claim(world, 1);
    world_run(world, 500);
    cr_assert(supervisor_partition_is_ready(world->partition));
    world_claim(world, 2);
    for (int i = 0; i < 3; i++) {
        world_run(world, 30000);
        cr_assert(supervisor_partition_trouble(world->partition, trouble, sizeof(trouble)));
        cr_assert_not_null(strstr(trouble, "was claimed when there were 2 partitions, and now "
                                           "there are 1"),
                           "%s", trouble);
        cr_assert_eq(supervisor_partition_next_offset(world->partition), 2);
    }
    world_free(world);
}
