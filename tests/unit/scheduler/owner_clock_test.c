/* SPDX-License-Identifier: Apache-2.0 */
/* Owners on hosts whose clocks are wrong, jump, or cannot be measured. */
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MARGIN_MS = 1000, HALF_MS = MARGIN_MS / 2, HOUR_MS = 3600000, BACKLOG = 100 };

static const int64_t YEAR_MS = 365LL * 24 * HOUR_MS;

static int64_t newest_decided_at(struct owner_kit *kit)
{
    int64_t newest = 0;
    struct record record;
    heap_arena_reset(&kit->heap);
    for (int64_t at = 0; at < owner_kit_end(kit, "p.events", 0); at++)
        if (owner_kit_read(kit, "p.events", 0, at, &record) && record.kind == RECORD_DECISION &&
            record.decision.decided_at > newest)
            newest = record.decision.decided_at;
    return newest;
}

static void submit(struct owner_kit *kit, uint32_t first, uint32_t count)
{
    char id[24];
    for (uint32_t i = first; i < first + count; i++) {
        snprintf(id, sizeof(id), "order-%u", i);
        owner_kit_submit(kit, id);
    }
}

/* ---- the first measurement ---- */

Test(owner_clock, decides_nothing_of_a_backlog_when_its_clock_is_wrong)
{
    static const int64_t offs[] = {-HOUR_MS, -600, 600, HOUR_MS, 365LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
        static struct owner_kit kit;
        owner_kit_begin(&kit, 1);
        submit(&kit, 0, BACKLOG);
        struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
        process->clock.now_wall_ms += offs[i];
        struct owner *owner = owner_kit_own(process, 0);
        owner_kit_run(&kit, 20000);
        cr_assert_eq(owner_kit_decisions(&kit, 0), 0, "%lld ms: %u", (long long)offs[i],
                     owner_kit_decisions(&kit, 0));
        cr_assert_not_null(strstr(owner_kit_trouble(owner), "clock is"), "%s",
                           owner_kit_trouble(owner));
    }
}

Test(owner_clock, decides_with_a_clock_within_half_the_margin)
{
    for (int64_t off_ms = -450; off_ms <= 450; off_ms += 150) {
        static struct owner_kit kit;
        owner_kit_begin(&kit, 1);
        struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
        process->clock.now_wall_ms += off_ms;
        owner_kit_own(process, 0);
        submit(&kit, 0, BACKLOG);
        owner_kit_run(&kit, 2000);
        cr_assert_eq(owner_kit_decisions(&kit, 0), BACKLOG);
    }
}

/* A correct owner afterwards sets correct deadlines: nothing of the wrong time is in the log. */
Test(owner_clock, leaves_no_trace_of_a_wrong_clock_in_the_log)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    submit(&kit, 0, BACKLOG);
    struct owner_kit_process *wrong = owner_kit_boot(&kit, "wrong", 0);
    wrong->clock.now_wall_ms += YEAR_MS;
    owner_kit_own(wrong, 0);
    owner_kit_run(&kit, 5000);
    owner_kit_release(wrong, 0);
    struct owner_kit_process *right = owner_kit_boot(&kit, "right", 0);
    owner_kit_own(right, 0);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), BACKLOG);
    cr_assert_leq(newest_decided_at(&kit), kit.clock.now_wall_ms);
}

/* ---- while it owns ---- */

Test(owner_clock, lets_other_partitions_decide_while_it_pauses_one)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 2);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    owner_kit_own(process, 1);
    owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    owner_kit_release(process, 0); /* no Decision: the next claim guards each command */
    owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    process->clock.now_wall_ms += HOUR_MS;
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 100);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_COMMAND_GUARD), 1);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 0);
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 1));
    owner_kit_run(&kit, 100);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 1, RECORD_DECISION), 1);
}

Test(owner_clock, decides_again_when_its_clock_is_right_again)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    submit(&kit, 0, 1);
    owner_kit_run(&kit, 1000);
    process->clock.now_wall_ms += HOUR_MS;
    submit(&kit, 1, 1);
    owner_kit_run(&kit, 1000); /* its acknowledgement shows it */
    submit(&kit, 2, BACKLOG);  /* more than the queue holds: the reader is paused */
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 2);
    process->clock.now_wall_ms -= HOUR_MS;
    owner_kit_run(&kit, 12000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), BACKLOG + 2);
    cr_assert_str_empty(owner_kit_trouble(owner));
    cr_assert_leq(newest_decided_at(&kit), kit.clock.now_wall_ms);
}

Test(owner_clock, measures_at_most_every_ten_seconds_while_its_clock_is_wrong)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    process->clock.now_wall_ms += HOUR_MS;
    owner_kit_own(process, 0);
    submit(&kit, 0, 3);
    owner_kit_run(&kit, 100000);
    uint32_t probes = owner_kit_count(&kit, "p.events", 0, RECORD_CONTINUATION);
    cr_assert_geq(probes, 9);
    cr_assert_leq(probes, 10);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 1);
}

/* Two years ahead between two acknowledgements: the brokers' time bounds what the next batch says.
 */
Test(owner_clock, bounds_its_decisions_by_the_brokers_time_when_its_clock_jumps)
{
    static const int64_t jumps[] = {-2 * 365LL * 24 * HOUR_MS, -HOUR_MS, HOUR_MS,
                                    2 * 365LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        static struct owner_kit kit;
        owner_kit_begin(&kit, 1);
        struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
        owner_kit_own(process, 0);
        submit(&kit, 0, 1);
        owner_kit_run(&kit, 1000);
        owner_kit_run(&kit, HOUR_MS / 10);
        process->clock.now_wall_ms += jumps[i];
        submit(&kit, 1, 1);
        owner_kit_run(&kit, 1000);
        cr_assert_eq(owner_kit_decisions(&kit, 0), 2);
        int64_t decided_at = owner_kit_decision(&kit, 0, "order-1")->decided_at;
        int64_t off_ms = decided_at - kit.clock.now_wall_ms;
        cr_assert_geq(off_ms, -1000 - HALF_MS);
        cr_assert_leq(off_ms, HALF_MS + 100);
        submit(&kit, 2, 1);
        owner_kit_run(&kit, 1000);
        cr_assert_eq(owner_kit_decisions(&kit, 0), 2);
    }
}

/* The Claim waited for its leader, so its acknowledgement says little about the brokers' time. */
Test(owner_clock, bounds_its_decisions_when_its_clock_jumps_after_a_claim_that_waited)
{
    static const int64_t jumps[] = {1000, 2000, HOUR_MS, 2 * 365LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        static struct owner_kit kit;
        owner_kit_begin(&kit, 1);
        struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
        broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_READ_ONLY);
        struct owner *owner = owner_kit_own(process, 0);
        owner_kit_run_until(&kit, owner, OWNER_CLAIMING, 1000);
        owner_kit_run(&kit, 1663);
        broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_WORKS);
        owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
        owner_kit_run(&kit, 4000);
        process->clock.now_wall_ms += jumps[i];
        int64_t submitted_ms = kit.clock.now_wall_ms;
        submit(&kit, 0, 1);
        owner_kit_run(&kit, 1000);
        cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
        int64_t ahead_ms = newest_decided_at(&kit) - submitted_ms;
        cr_assert_leq(ahead_ms, HALF_MS + 100, "%lld ms", (long long)ahead_ms);
    }
}

Test(owner_clock, never_decides_before_the_newest_decision)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *first = owner_kit_boot(&kit, "first", 0);
    first->clock.now_wall_ms += 450;
    owner_kit_own(first, 0);
    submit(&kit, 0, 5);
    owner_kit_run(&kit, 200);
    owner_kit_release(first, 0);
    int64_t newest = newest_decided_at(&kit);
    struct owner_kit_process *second = owner_kit_boot(&kit, "second", 0);
    second->clock.now_wall_ms -= 450;
    owner_kit_own(second, 0);
    submit(&kit, 5, 1);
    owner_kit_run(&kit, 200);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 6);
    cr_assert_geq(owner_kit_decision(&kit, 0, "order-5")->decided_at, newest);
}

/* ---- delays ---- */

/* The reader was held back: its records are old when they arrive. */
Test(owner_clock, does_not_take_late_commands_for_a_wrong_clock)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    for (uint32_t i = 0; i < BACKLOG; i++) {
        broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_UNREADABLE);
        submit(&kit, i, 1);
        owner_kit_run(&kit, 700);
        broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_WORKS);
        owner_kit_run(&kit, 100);
        cr_assert_eq(owner_kit_decisions(&kit, 0), i + 1);
    }
    cr_assert_str_empty(owner_kit_trouble(owner));
}

/* Answers take longer than half the margin, as under overload. */
Test(owner_clock, does_not_take_late_acknowledgements_for_a_wrong_clock)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    for (uint32_t i = 0; i < BACKLOG; i++) {
        broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
        submit(&kit, i, 1);
        owner_kit_run(&kit, 700);
        broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_WORKS);
        owner_kit_run(&kit, 100);
        cr_assert_eq(owner_kit_decisions(&kit, 0), i + 1);
    }
    cr_assert_str_empty(owner_kit_trouble(owner));
}

/* ---- a log that is ahead ---- */

static void append_ahead(struct owner_kit *kit, int64_t ahead_ms)
{
    struct owner_kit_process *process = owner_kit_boot(kit, "ahead", 0);
    kit->clock.now_wall_ms += ahead_ms; /* also the brokers' clock */
    process->clock.now_wall_ms += ahead_ms;
    owner_kit_own(process, 0);
    submit(kit, 0, 1);
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_decisions(kit, 0), 1);
    owner_kit_release(process, 0);
    kit->clock.now_wall_ms -= ahead_ms;
    process->clock.now_wall_ms -= ahead_ms;
}

Test(owner_clock, stops_a_partition_whose_decisions_are_far_ahead_of_the_brokers_time)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    append_ahead(&kit, 12 * MARGIN_MS);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    submit(&kit, 1, 10);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 1000);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
    cr_assert_eq(owner_kit_alerts(&kit, "ClockAhead", true), 1);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 2);
}

Test(owner_clock, continues_when_a_reset_lowers_the_newest_decision)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    append_ahead(&kit, YEAR_MS);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    submit(&kit, 1, 10);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 1000);
    struct partition_reset reset = {.expected_offset = owner_kit_end(&kit, "p.events", 0),
                                    .next_command_offset = -1,
                                    .newest_decided_at = kit.clock.now_wall_ms,
                                    .by = TEXT("ann"),
                                    .reason = TEXT("the brokers' clocks were ahead"),
                                    .reset_at = kit.clock.now_wall_ms};
    owner_kit_send(&kit, "p.events", 0, TEXT("ann"), RECORD_RESET, &reset);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    owner_kit_run(&kit, 2000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 11);
    int64_t off_ms = owner_kit_decision(&kit, 0, "order-10")->decided_at - kit.clock.now_wall_ms;
    cr_assert_leq(off_ms, HALF_MS);
    cr_assert_geq(off_ms, -10000);
}

Test(owner_clock, continues_when_the_log_is_a_little_ahead)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    append_ahead(&kit, 8 * MARGIN_MS);
    int64_t newest = newest_decided_at(&kit);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    owner_kit_own(process, 0);
    submit(&kit, 1, 1);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, "order-1")->decided_at, newest);
}

/* The brokers' clock was a day ahead, and is corrected while the owner works. */
Test(owner_clock, stops_a_running_partition_when_the_brokers_time_goes_back)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    submit(&kit, 0, 1);
    owner_kit_run(&kit, 1000);
    kit.clock.now_wall_ms -= 24 * HOUR_MS;
    process->clock.now_wall_ms -= 24 * HOUR_MS;
    submit(&kit, 1, 1);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "ClockAhead", true), 1);
}
