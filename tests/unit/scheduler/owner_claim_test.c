/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner does before it decides: it folds to the end of the log, claims, and makes sure that
 * log, store and commands belong together. */
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

TestSuite(owner_claim);

static void append_unreadable(struct owner_kit *kit, int32_t partition)
{
    broker_memory_append(kit->kafka, "p.events", partition, TEXT("x"), owner_kit_unknown_schema);
}

Test(owner_claim, decides_after_it_has_claimed)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_running(owner));
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 1);
    cr_assert_eq(owner_kit_decision(&kit, 0, "a")->events[0].kind, EVENT_ORDER_ACCEPTED);
}

Test(owner_claim, never_claims_a_log_that_it_cannot_read)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    owner_kit_claim(&kit, 0, 7);
    append_unreadable(&kit, 0);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), 2);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert(strstr(owner_kit_trouble(owner), "p.events[0]@1") != NULL, "%s",
              owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownSchema", true), 1);
}

Test(owner_claim, never_claims_what_its_standby_cannot_read)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *first = owner_kit_boot(&kit, "s-1", 0);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(first, 0);
    struct owner *standby = owner_kit_stand_by(second, 0);
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_warm(standby));
    owner_kit_release(first, 0);
    append_unreadable(&kit, 0);
    owner_kit_own(second, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), 2);
    cr_assert_eq(owner_state(standby), OWNER_STOPPED);
}

/* The old owner goes on while the new one cannot even find out where the log ends. */
Test(owner_claim, does_not_fence_the_owner_while_the_log_is_unreadable)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *first = owner_kit_boot(&kit, "s-1", 0);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    struct owner *owner = owner_kit_own(first, 0);
    struct owner *standby = owner_kit_stand_by(second, 0);
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_warm(standby));
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_UNREADABLE);
    owner_kit_own(second, 0);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 1);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 1);
    cr_assert(owner_is_running(owner));
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run_until(&kit, standby, OWNER_RUNNING, 10000);
}

/* ---- which log is it? ---- */

static void decide_some(struct owner_kit *kit, struct owner_kit_process *process)
{
    owner_kit_own(process, 0);
    for (uint32_t i = 0; i < 5; i++)
        owner_kit_submit(kit, owner_kit_id(kit, 0, i));
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_end(kit, "p.events", 0), 6);
    owner_kit_release(process, 0);
}

Test(owner_claim, does_not_take_a_recreated_and_trimmed_log_for_a_lost_tail)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    decide_some(&kit, process);
    broker_memory_topic(kit.kafka, "p.events", 1);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_claim(&kit, 0, 9);
    broker_memory_trim(kit.kafka, "p.events", 0, 1);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_event_offset, 6);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 0);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), 2);
}

Test(owner_claim, stops_when_the_log_begins_exactly_at_its_store)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    decide_some(&kit, process);
    broker_memory_trim(kit.kafka, "p.events", 0, 6);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTruncated", true), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), 6);
}
