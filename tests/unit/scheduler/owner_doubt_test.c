/* SPDX-License-Identifier: Apache-2.0 */
/* A log that is cut, replaced or trimmed while its reader follows it, or that only looks so: what
 * raises a doubt, and what a look back at the log finds. */
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

TestSuite(owner_doubt);

enum { ORDERS = 5, LOG_END = ORDERS + 1 };

static struct owner_kit kit;
static struct owner_kit_process *process;

static void begin(void)
{
    process = owner_kit_begin_log(&kit, ORDERS);
}

/* It has folded all that the log holds. */
static void follow_to_end(const struct owner *standby)
{
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_warm(standby));
}

/* It has noticed once that the log lost its tail, and follows what the log holds now. */
static void assert_tail_lost(struct owner *standby, int64_t next_command_offset)
{
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_command_offset, next_command_offset);
}

/* What it had read is gone; at its position, the log goes on with a claim that it has not seen. */
Test(owner_doubt, notices_that_the_log_was_cut_and_has_grown_again)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    follow_to_end(standby);
    broker_memory_truncate(kit.kafka, "p.events", 0, 3);
    owner_kit_claim(&kit, 0, 8);
    for (uint32_t i = 0; i < 4; i++)
        owner_kit_decide(&kit, 8, i, ORDERS + i);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_event_offset, 8);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_sequence, 4);
}

/* The log goes on with a Claim exactly where it had ended. */
Test(owner_doubt, notices_that_a_claim_follows_other_records)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    follow_to_end(standby);
    broker_memory_truncate(kit.kafka, "p.events", 0, LOG_END - 1);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_claim(&kit, 0, 9);
    assert_tail_lost(standby, ORDERS - 1);
}

static void step_until_warm(const struct owner *standby, bool warm)
{
    for (uint32_t steps = 0; steps < 1000 && owner_is_warm(standby) != warm; steps++)
        owner_kit_step(&kit);
    cr_assert_eq(owner_is_warm(standby), warm);
}

/* A Claim raises a doubt, and the log is cut once more right after it was found to be whole: by the
 * time that the place of the Claim is read again, another record stands there. */
static struct owner *cut_the_log_after_a_doubt(void)
{
    struct owner *standby = owner_kit_stand_by(process, 0);
    owner_kit_run(&kit, 1000);
    owner_kit_claim(&kit, 0, 8);
    step_until_warm(standby, false);
    step_until_warm(standby, true);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_event_offset, LOG_END);
    broker_memory_truncate(kit.kafka, "p.events", 0, LOG_END - 1);
    owner_kit_claim(&kit, 0, 9);
    return standby;
}

Test(owner_doubt, notices_that_another_record_is_where_it_doubted)
{
    begin();
    const struct owner *standby = cut_the_log_after_a_doubt();
    owner_kit_decide(&kit, 9, 0, ORDERS - 1);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_sequence, 1);
}

Test(owner_doubt, notices_that_the_log_ends_before_where_it_doubted)
{
    begin();
    struct owner *standby = cut_the_log_after_a_doubt();
    assert_tail_lost(standby, ORDERS - 1);
}

/* The log lost a Claim that is folded, and the owner before it went on: its Decisions count. */
Test(owner_doubt, notices_that_a_claim_was_lost)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_decide(&kit, 8, 0, ORDERS);
    owner_kit_claim(&kit, 0, 9);
    follow_to_end(standby);
    broker_memory_truncate(kit.kafka, "p.events", 0, LOG_END + 2);
    owner_kit_decide(&kit, 8, 1, ORDERS + 1);
    owner_kit_decide(&kit, 8, 2, ORDERS + 2);
    assert_tail_lost(standby, ORDERS + 3);
}

/* The log lost a foreign record that is folded, and the owner's Decision took its place. */
Test(owner_doubt, notices_that_a_foreign_record_was_lost)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    owner_kit_claim(&kit, 0, 8);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("key"), TEXT("not ours"));
    follow_to_end(standby);
    broker_memory_truncate(kit.kafka, "p.events", 0, LOG_END + 1);
    owner_kit_decide(&kit, 8, 0, ORDERS);
    owner_kit_decide(&kit, 8, 1, ORDERS + 1);
    assert_tail_lost(standby, ORDERS + 2);
}

/* A zombie's records do not follow either, but the log is whole. */
Test(owner_doubt, follows_a_log_into_which_a_zombie_writes)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_decide(&kit, 8, 0, ORDERS);
    owner_kit_claim(&kit, 0, 9);
    owner_kit_run(&kit, 1000);
    for (uint32_t i = 0; i < 3; i++) {
        owner_kit_decide(&kit, 8, 1 + i, ORDERS + 1 + i);
        owner_kit_decide(&kit, 9, i, ORDERS + 1 + i);
        owner_kit_run(&kit, 1000);
    }
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 0);
    cr_assert(owner_is_warm(standby));
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_command_offset, ORDERS + 4);
}

Test(owner_doubt, decides_nothing_after_its_own_claim_behind_other_records)
{
    begin();
    struct owner *owner = owner_kit_stand_by(owner_kit_boot(&kit, "s-2", 0), 0);
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_warm(owner));
    broker_memory_truncate(kit.kafka, "p.events", 0, LOG_END - 1);
    owner_kit_claim(&kit, 0, 8);
    owner_promote(owner);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_command_offset, ORDERS);
    cr_assert(owner_is_running(owner));
}

/* The topic is recreated, with the same third-party record where the standby had arrived: the
 * logs differ only at their beginning. */
Test(owner_doubt, notices_that_a_foreign_record_is_in_another_log)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("key"), TEXT("not ours"));
    follow_to_end(standby);
    broker_memory_topic(kit.kafka, "p.events", 1);
    for (uint8_t claim = 0; claim < LOG_END; claim++)
        owner_kit_claim(&kit, 0, 20 + claim);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("key"), TEXT("not ours"));
    owner_kit_claim(&kit, 0, 9);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogDiffers", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_event_offset, LOG_END + 1);
}

/* The log was checked when the standby began: a Claim costs one more read. */
Test(owner_doubt, compares_one_record_where_a_claim_follows)
{
    begin();
    struct owner *standby = owner_kit_stand_by(process, 0);
    follow_to_end(standby);
    uint64_t before = broker_memory_requests(process->broker);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_decide(&kit, 8, 0, ORDERS);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_command_offset, ORDERS + 1);
    cr_assert_eq(broker_memory_requests(process->broker) - before, 1);
}

/* A standby follows the log while the records that it has folded and the next one are deleted: the
 * log goes on, and begins, with a claim. */
static void delete_under_a_standby(void)
{
    struct owner *standby = owner_kit_stand_by(process, 0);
    follow_to_end(standby);
    broker_memory_disconnect(process->broker);
    owner_kit_run(&kit, 100);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_claim(&kit, 0, 9);
    broker_memory_trim(kit.kafka, "p.events", 0, LOG_END + 1);
    broker_memory_connect(process->broker);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTruncated", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(standby))->next_event_offset, LOG_END);
}

Test(owner_doubt, notices_that_its_position_was_deleted)
{
    begin();
    delete_under_a_standby();
}

Test(owner_doubt, notices_that_there_is_a_gap)
{
    begin();
    broker_memory_reset_readers(kit.kafka);
    delete_under_a_standby();
}
