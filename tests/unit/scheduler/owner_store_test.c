/* SPDX-License-Identifier: Apache-2.0 */
/* An owner writes its store behind what it decides. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(owner_store);

static struct owner *own(struct owner_kit *kit)
{
    owner_kit_begin(kit, 1);
    struct owner *owner = owner_kit_own(owner_kit_boot(kit, "s-1", 0), 0);
    owner_kit_run_until(kit, owner, OWNER_RUNNING, 10000);
    owner_kit_run(kit, 1000);
    return owner;
}

/* Records of the log that the store does not have. */
static int64_t behind(const struct owner *owner)
{
    return view_checkpoint(owner_view(owner))->next_event_offset -
           view_committed(owner_view(owner))->next_event_offset;
}

Test(owner_store, emits_before_it_stores)
{
    static struct owner_kit kit;
    const struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 100);
    cr_assert_eq(owner_kit_requests(&kit, "a"), 1);
    cr_assert_eq(behind(owner), 1);
    owner_kit_run(&kit, 300);
    cr_assert_eq(behind(owner), 0);
}

Test(owner_store, stores_while_batches_follow_each_other)
{
    static struct owner_kit kit;
    const struct owner *owner = own(&kit);
    char id[16];
    int64_t most = 0;
    for (int i = 0; i < 400; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        owner_kit_submit(&kit, id);
        owner_kit_run(&kit, 5);
        most = behind(owner) > most ? behind(owner) : most;
    }
    cr_assert_gt(most, 10);
    cr_assert_lt(most, 100);
}

static void submit_large(struct owner_kit *kit, int number)
{
    enum { NAME_SIZE = 16, ATTRIBUTES = 64, VALUE_BYTES = 4096 };
    static char names[ATTRIBUTES][NAME_SIZE];
    static char value[VALUE_BYTES + 1];
    static struct attribute attributes[ATTRIBUTES];
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < ATTRIBUTES; i++) {
        snprintf(names[i], NAME_SIZE, "a-%02d", i);
        attributes[i] = (struct attribute){text_of(names[i]), text_of(value)};
    }
    char id[32];
    snprintf(id, sizeof(id), "large-%d", number);
    struct command cmd = owner_kit_submission(id);
    cmd.submit_order.attributes = attributes;
    cmd.submit_order.attribute_count = ATTRIBUTES;
    owner_kit_command(kit, &cmd);
}

/* Decisions of 260 KB each: what is not stored stays in memory. */
Test(owner_store, stores_many_bytes_at_once)
{
    enum { ORDERS = 75 };
    static struct owner_kit kit;
    const struct owner *owner = own(&kit);
    for (int i = 0; i < ORDERS; i++)
        submit_large(&kit, i);
    owner_kit_run(&kit, 200);
    cr_assert_eq(owner_kit_decisions(&kit, 0), ORDERS);
    cr_assert_gt(behind(owner), 0);
    cr_assert_lt(behind(owner), ORDERS);
}

/* There may be no other batch, and each partition has memory of its own. */
Test(owner_store, frees_the_memory_of_a_batch_when_it_stores)
{
    static struct owner_kit kit;
    struct owner *owner = own(&kit);
    submit_large(&kit, 1);
    owner_kit_run(&kit, 100);
    cr_assert_gt(owner->batch.memory.allocated, 0);
    owner_kit_run(&kit, 300);
    cr_assert_eq(behind(owner), 0);
    cr_expect_eq(owner->batch.memory.allocated, 0);
    owner->commit.due = true; /* as if the timer ran out while the next batch is under way */
    submit_large(&kit, 2);
    owner_kit_run(&kit, 100);
    cr_assert_eq(behind(owner), 0);
    cr_expect_eq(owner->batch.memory.allocated, 0);
}

Test(owner_store, folds_again_what_it_had_not_stored)
{
    static struct owner_kit kit;
    struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 100);
    cr_assert_eq(behind(owner), 1);
    owner_kit_kill(&kit.processes[0], 0);
    owner = owner_kit_own(&kit.processes[0], 0);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    owner_kit_report(&kit, "a");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, "a")->order_version, 2);
    cr_assert_eq(behind(owner), 0);
}

Test(owner_store, stores_all_before_a_clean_leave)
{
    static struct owner_kit kit;
    struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 100);
    cr_assert_eq(behind(owner), 1);
    owner_flush(owner);
    cr_assert_eq(behind(owner), 0);
}

static int64_t flushed_of(const struct owner *owner)
{
    struct error error = {0};
    int64_t next = -1;
    cr_assert(view_flushed(owner_view(owner), &next, &error) == ERROR_OK, "%s", error.message);
    return next;
}

Test(owner_store, folds_nothing_again_after_a_clean_leave)
{
    static struct owner_kit kit;
    struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    cr_assert_lt(flushed_of(owner), end);
    owner_kit_release(&kit.processes[0], 0);
    owner = owner_kit_own(&kit.processes[0], 0);
    cr_assert_eq(flushed_of(owner), end);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_event_offset, end);
}

Test(owner_store, flushes_within_a_while)
{
    static struct owner_kit kit;
    const struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 5000);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    cr_assert_lt(flushed_of(owner), end);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(flushed_of(owner), end);
}

/* While others follow it, it is flushed as soon as it would be alone. */
Test(owner_store, flushes_the_first_of_many_commits_within_a_while)
{
    static struct owner_kit kit;
    const struct owner *owner = own(&kit);
    char id[16];
    int64_t most = 0;
    for (int i = 0; i < 60; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        owner_kit_submit(&kit, id);
        owner_kit_run(&kit, 1000);
        int64_t unflushed =
            view_committed(owner_view(owner))->next_event_offset - flushed_of(owner);
        most = unflushed > most ? unflushed : most;
    }
    cr_assert_gt(most, 3);
    cr_assert_lt(most, 10);
}

/* The process waits for each flush. */
Test(owner_store, flushes_one_partition_after_the_other)
{
    enum { PARTITIONS = 4, STEP_MS = 100 };
    static struct owner_kit kit;
    owner_kit_begin(&kit, PARTITIONS);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    for (int32_t p = 0; p < PARTITIONS; p++)
        owner_kit_run_until(&kit, owner_kit_own(process, p), OWNER_RUNNING, 10000);
    owner_kit_run(&kit, 20000);
    for (int32_t p = 0; p < PARTITIONS; p++)
        owner_kit_submit(&kit, owner_kit_id(&kit, p, 1));
    owner_kit_run(&kit, 1000);
    int flushed = 0;
    for (int64_t ms = 0; ms < 10000; ms += STEP_MS) {
        int before = flushed;
        flushed = 0;
        for (int32_t p = 0; p < PARTITIONS; p++)
            flushed += flushed_of(process->owners[p]) == owner_kit_end(&kit, "p.events", p);
        cr_assert_leq(flushed, before + 1);
        owner_kit_run(&kit, STEP_MS);
    }
    cr_assert_eq(flushed, PARTITIONS);
}

/* A batch that is not acknowledged may never be in the log. */
Test(owner_store, stores_nothing_that_is_not_acknowledged)
{
    static struct owner_kit kit;
    struct owner *owner = own(&kit);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 100);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
    owner_kit_submit(&kit, "b");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_state(owner), OWNER_APPENDING);
    owner_flush(owner);
    cr_assert_eq(behind(owner), 2);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 100);
    cr_assert_eq(behind(owner), 0);
}
