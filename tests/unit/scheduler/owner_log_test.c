/* SPDX-License-Identifier: Apache-2.0 */
/* Log, store and commands belong together, or the owner notices: each of the checks that stands
 * between a lost, replaced or foreign log and a wrong decision. */
#include "platform/disk_guard.h"
#include "platform/failpoint.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

TestSuite(owner_log);

enum { ORDERS = 5, LOG_END = ORDERS + 1 };

static struct owner_kit kit;
static struct owner_kit_process *process;

static const char *id(uint32_t number)
{
    return owner_kit_id(&kit, 0, number);
}

static void submit_some(void)
{
    for (uint32_t i = 0; i < ORDERS; i++)
        owner_kit_submit(&kit, id(i));
}

static void begin(void)
{
    process = owner_kit_begin_log(&kit, ORDERS);
}

static void assert_stops(const char *code, int64_t log_end)
{
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED, "%s", owner_state_name(owner_state(owner)));
    cr_assert_eq(owner_kit_alerts(&kit, code, true), 1, "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), log_end);
}

/* It goes on with what the log holds now. */
static void assert_refolds(int64_t orders)
{
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    struct error error;
    for (uint32_t i = 0; i < ORDERS; i++) {
        const struct order *order = NULL;
        cr_assert_eq(view_order(owner_view(owner), text_of(id(i)), &order, &error), ERROR_OK);
        cr_assert_eq(order != NULL, i < orders, "order %u", i);
    }
}

/* ---- the log ---- */

/* And has grown again, to the same length. */
Test(owner_log, follows_a_log_that_lost_its_tail)
{
    begin();
    broker_memory_trim(kit.kafka, "p.commands", 0, ORDERS);
    broker_memory_truncate(kit.kafka, "p.events", 0, 4);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_decide(&kit, 8, 0, ORDERS - 1);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), LOG_END);
    assert_refolds(3);
}

Test(owner_log, follows_a_log_that_became_shorter)
{
    begin();
    broker_memory_trim(kit.kafka, "p.commands", 0, 3);
    broker_memory_truncate(kit.kafka, "p.events", 0, 4);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTailLost", true), 1);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_command_offset, ORDERS);
}

Test(owner_log, stops_at_a_log_that_was_recreated)
{
    begin();
    broker_memory_topic(kit.kafka, "p.events", 1);
    owner_kit_claim(&kit, 0, 8);
    for (uint32_t i = 0; i < ORDERS; i++)
        owner_kit_decide(&kit, 8, i, i);
    assert_stops("LogDiffers", LOG_END);
}

/* The store may be the only copy of what is gone. */
Test(owner_log, keeps_its_store_after_a_crash_when_the_log_was_recreated)
{
    begin();
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    owner_kit_submit(&kit, id(ORDERS));
    owner_kit_run(&kit, 1000);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    broker_memory_topic(kit.kafka, "p.events", 1);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_submit(&kit, id(ORDERS + 1));
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 3000);
    owner_kit_kill(process, 0);
    owner = owner_kit_own(process, 0);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_event_offset, end);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 10000);
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_event_offset, end);
}

Test(owner_log, stops_at_the_log_of_another_cluster)
{
    begin();
    broker_memory_set_cluster_id(kit.kafka, "memory-2");
    assert_stops("LogDiffers", LOG_END);
}

Test(owner_log, stops_at_a_log_that_begins_after_its_store)
{
    begin();
    owner_kit_claim(&kit, 0, 8);
    owner_kit_claim(&kit, 0, 9);
    broker_memory_trim(kit.kafka, "p.events", 0, LOG_END + 1);
    assert_stops("LogTruncated", LOG_END + 2);
}

/* ---- the commands ---- */

Test(owner_log, stops_at_commands_that_were_recreated)
{
    begin();
    broker_memory_topic(kit.kafka, "p.commands", 1);
    submit_some();
    assert_stops("CommandsDiffer", LOG_END + 1);
}

Test(owner_log, stops_when_commands_were_deleted_before_it_decided_them)
{
    begin();
    submit_some();
    broker_memory_trim(kit.kafka, "p.commands", 0, ORDERS + 1);
    assert_stops("CommandsOutOfRange", LOG_END + 1);
}

Test(owner_log, stops_when_the_commands_end_before_the_next_one)
{
    begin();
    broker_memory_truncate(kit.kafka, "p.commands", 0, ORDERS - 1);
    assert_stops("CommandsOutOfRange", LOG_END + 1);
}

/* The log begins with a Continuation that repeats this first claim. */
static const struct owner *own_trimmed_log(struct uuid first_claim_id)
{
    struct continuation continuation = {.first_claim_id = first_claim_id};
    int64_t at =
        owner_kit_send(&kit, "p.events", 0, TEXT("s-1"), RECORD_CONTINUATION, &continuation);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_submit(&kit, "last");
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    owner_kit_run(&kit, 1000);
    owner_kit_release(process, 0);
    broker_memory_trim(kit.kafka, "p.events", 0, at);
    owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 10000);
    return owner;
}

Test(owner_log, stops_when_a_trimmed_log_continues_another_one)
{
    begin();
    struct uuid other = {{0xaa}};
    const struct owner *owner = own_trimmed_log(other);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_not_null(strstr(owner_kit_trouble(owner), "another first claim"), "%s",
                       owner_kit_trouble(owner));
}

Test(owner_log, goes_on_when_a_trimmed_log_continues_its_own)
{
    begin();
    struct record first;
    cr_assert(owner_kit_read(&kit, "p.events", 0, 0, &first));
    const struct owner *owner = own_trimmed_log(first.claim.claim_id);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
}

Test(owner_log, goes_on_when_only_decided_commands_were_deleted)
{
    begin();
    broker_memory_trim(kit.kafka, "p.commands", 0, ORDERS);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
}

Test(owner_log, rejects_a_command_on_the_wrong_partition)
{
    owner_kit_begin(&kit, 2);
    process = owner_kit_boot(&kit, "s-1", 0);
    owner_kit_own(process, 0);
    const char *stray = owner_kit_id(&kit, 1, 1);
    owner_kit_submit_to(&kit, 0, stray);
    owner_kit_submit_to(&kit, 0, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 1000);
    struct error error;
    const struct order *order = NULL;
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 2);
    cr_assert_eq(view_order(owner_view(process->owners[0]), text_of(stray), &order, &error),
                 ERROR_OK);
    cr_assert_null(order);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 1, "where the record was");
}

/* ---- the claim ---- */

Test(owner_log, decides_nothing_under_a_claim_whose_offset_is_unknown)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    struct broker_memory_faults faults = {.ack_without_offset = 1000};
    struct broker_memory_faults none = {0};
    owner_kit_submit(&kit, id(0));
    broker_memory_set_faults(kit.kafka, &faults);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 0);
    cr_assert_geq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 2);
    cr_assert(strstr(owner_kit_trouble(owner), "offset of the claim is unknown") != NULL);
    broker_memory_set_faults(kit.kafka, &none);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 1);
}

/* Takes single steps until its claim is acknowledged and not yet folded. */
static bool is_folding(struct owner *owner)
{
    while (owner_state(owner) != OWNER_FOLDING && !owner_is_running(owner)) {
        broker_memory_step(kit.kafka);
        loop_once(process->service.loop, 0);
        clock_manual_advance(&kit.clock, 1);
    }
    return owner_state(owner) == OWNER_FOLDING;
}

Test(owner_log, decides_nothing_when_its_offset_holds_another_claim)
{
    begin();
    struct owner *owner = owner_kit_own(process, 0);
    for (int tries = 0; tries < 100 && !is_folding(owner); tries++) {
        owner_kit_release(process, 0);
        owner = owner_kit_own(process, 0);
    }
    cr_assert_eq(owner_state(owner), OWNER_FOLDING);
    int64_t offset = owner_kit_end(&kit, "p.events", 0) - 1;
    broker_memory_truncate(kit.kafka, "p.events", 0, offset);
    owner_kit_claim(&kit, 0, 9);
    owner_kit_submit(&kit, id(7));
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, id(7))->sequence, 0);
    /* 9, ours, an Attempt because 9 decided nothing, the Decision */
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), offset + 4);
}

/* Between its acknowledgement and the fold, a log loses the claim, and nothing else comes. */
Test(owner_log, claims_again_when_the_log_loses_its_claim)
{
    begin();
    struct owner *owner = owner_kit_own(process, 0);
    for (int tries = 0; tries < 100 && !is_folding(owner); tries++) {
        owner_kit_release(process, 0);
        owner = owner_kit_own(process, 0);
    }
    cr_assert_eq(owner_state(owner), OWNER_FOLDING);
    int64_t offset = owner_kit_end(&kit, "p.events", 0) - 1;
    broker_memory_truncate(kit.kafka, "p.events", 0, offset);
    owner_kit_submit(&kit, id(7));
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 30000);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, id(7))->sequence, 0);
}

/* ---- a command that crashes its owner ---- */

/* The next command, after `count` owners have crashed while they decided it. */
static uint32_t dead_letters_after_guards(int count)
{
    begin();
    owner_kit_claim(&kit, 0, 9);
    struct command_guard guard = {.command_offset = ORDERS};
    guard.claim_id.bytes[0] = 9;
    for (int i = 0; i < count; i++)
        owner_kit_send(&kit, "p.events", 0, TEXT("x"), RECORD_COMMAND_GUARD, &guard);
    cr_assert_eq(owner_kit_submit(&kit, id(ORDERS)), ORDERS);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), ORDERS + 1);
    return (uint32_t)owner_kit_end(&kit, "p.dead-letters", 0);
}

Test(owner_log, tries_a_command_for_the_fifth_time)
{
    cr_assert_eq(dead_letters_after_guards(4), 0);
}

Test(owner_log, quarantines_a_command_that_five_owners_have_tried)
{
    cr_assert_eq(dead_letters_after_guards(5), 1);
}

/* The state of an order whose only step has a When, after `count` owners have crashed while they
 * decided its submission. */
static enum order_state state_after_guards(int count)
{
    begin();
    owner_kit_deploy(&kit, "decides", 1,
                     "{\"Name\": \"decides\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", "
                     "\"Agent\": \"agent\", \"When\": \"input.go\"}]}");
    owner_kit_claim(&kit, 0, 9);
    struct command_guard guard = {.command_offset = ORDERS};
    struct command cmd = owner_kit_submission(id(ORDERS));
    guard.claim_id.bytes[0] = 9;
    for (int i = 0; i < count; i++)
        owner_kit_send(&kit, "p.events", 0, TEXT("x"), RECORD_COMMAND_GUARD, &guard);
    cmd.submit_order.workflow = TEXT("decides");
    cmd.submit_order.workflow_version = 1;
    cmd.submit_order.input = TEXT("{\"go\":true}");
    cr_assert_eq(owner_kit_command(&kit, &cmd), ORDERS);
    owner_kit_run_until(&kit, owner_kit_own(process, 0), OWNER_RUNNING, 10000);
    owner_kit_run(&kit, 5000);
    return owner_kit_decision(&kit, 0, id(ORDERS))->order_state;
}

/* The third Attempt evaluates, the fourth does not: the step fails, and nothing was done. */
Test(owner_log, decides_a_command_that_two_owners_have_tried_as_ever)
{
    cr_assert_eq(state_after_guards(2), ORDER_PROCESSING);
}

Test(owner_log, spares_a_command_that_three_owners_have_tried_its_expressions)
{
    cr_assert_eq(state_after_guards(3), ORDER_COMPENSATED);
}

/* ---- the disk ---- */

static int64_t free_now;

static enum error_class free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error)
{
    (void)path;
    (void)ret_error;
    *ret_bytes = free_now;
    return ERROR_OK;
}

Test(owner_log, decides_nothing_while_the_disk_is_low)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    struct disk_guard_options options = {
        .path = process->folder, .min_bytes = 1000, .free_bytes = free_bytes};
    free_now = 100000;
    process->service.disk =
        disk_guard_new(process->service.loop, process->service.metrics, &options);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    free_now = 10;
    owner_kit_run(&kit, 2000);
    owner_kit_submit(&kit, id(0));
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 0);
    cr_assert(strstr(owner_kit_trouble(owner), "free space on its disk") != NULL);
    free_now = 100000;
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 1);
}

Test(owner_log, gives_up_its_claim_when_the_store_cannot_be_written)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    cr_assert(failpoint_configure("view.write=error@1"));
    owner_kit_submit(&kit, id(0));
    owner_kit_run(&kit, 60000);
    cr_assert(owner_is_running(owner));
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 1);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 2);
    cr_assert_eq(owner_kit_alerts(&kit, "StoreDamaged", true), 1);
}

/* ---- the producer that wrote the claim ---- */

/* The new one sees no gap where the log has lost what the other one sent. */
Test(owner_log, claims_again_when_the_producer_died_while_the_partition_was_idle)
{
    begin();
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    owner_kit_submit(&kit, id(ORDERS));
    owner_kit_run(&kit, 1000);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 2);
    broker_memory_fail_producer(process->broker, BROKER_PRODUCER_LOG);
    broker_memory_truncate(kit.kafka, "p.events", 0, end - 1);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("z"), TEXT("of a third-party client"));
    owner_kit_submit(&kit, id(ORDERS + 1));
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_RUNNING, "%s", owner_kit_trouble(owner));
    cr_expect_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 3);
    for (uint32_t i = 0; i <= ORDERS + 1; i++) {
        const struct decision *decision = owner_kit_decision(&kit, 0, id(i));
        const struct checkpoint *checkpoint = view_checkpoint(owner_view(owner));
        cr_expect(i < ORDERS || uuid_equal(&decision->claim_id, &checkpoint->claim_id), "order %u",
                  i);
    }
}
