/* SPDX-License-Identifier: Apache-2.0 */
/* An owner before it decides: it folds to the end of the log, claims, and makes sure that the
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

/* ---- how long orders wait for it ---- */

/* Takes single steps until the owner is in that state. */
static void step_until(struct owner_kit *kit, struct owner_kit_process *process,
                       const struct owner *owner, enum owner_state state)
{
    for (int steps = 0; steps < 10000 && owner_state(owner) != state; steps++) {
        broker_memory_step(kit->kafka);
        loop_once(process->service.loop, 0);
        clock_manual_advance(&kit->clock, 1);
    }
    cr_assert_eq(owner_state(owner), state, "%s", owner_state_name(owner_state(owner)));
}

/* A standby that has caught up with a log of five Decisions, whose owner is gone. */
static struct owner *begin_takeover(struct owner_kit *kit, struct owner_kit_process **ret_heir)
{
    owner_kit_begin(kit, 1);
    struct owner_kit_process *first = owner_kit_boot(kit, "s-1", 0);
    *ret_heir = owner_kit_boot(kit, "s-2", 0);
    struct owner *standby = owner_kit_stand_by(*ret_heir, 0);
    decide_some(kit, first);
    owner_kit_run(kit, 1000);
    cr_assert(owner_is_warm(standby));
    return standby;
}

/* The end of the log; the record before the Claim, and the Claim with it; the last command, and the
 * next ones with it. */
Test(owner_claim, takes_over_with_three_requests)
{
    static struct owner_kit kit;
    struct owner_kit_process *heir;
    struct owner *standby = begin_takeover(&kit, &heir);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 9));
    uint64_t before = broker_memory_requests(heir->broker);
    owner_promote(standby);
    step_until(&kit, heir, standby, OWNER_APPENDING);
    const uint64_t effects = 1; /* and those of the last Decision are read, to be sent again */
    cr_assert_eq(broker_memory_requests(heir->broker) - before, 3 + effects);
}

/* The check that it began with is the only one; its fold goes on with the same reader. */
Test(owner_claim, starts_with_five_requests)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    decide_some(&kit, process);
    uint64_t before = broker_memory_requests(process->broker);
    struct owner *owner = owner_kit_own(process, 0);
    step_until(&kit, process, owner, OWNER_RUNNING);
    const uint64_t effects = 1;
    /* the ends, the first Claim, the record before the checkpoint; then as above, but for the end
     */
    cr_assert_eq(broker_memory_requests(process->broker) - before, 5 + effects);
}

Test(owner_claim, fetches_the_commands_while_its_claim_is_folded)
{
    static struct owner_kit kit;
    struct owner_kit_process *heir;
    struct owner *standby = begin_takeover(&kit, &heir);
    owner_promote(standby);
    step_until(&kit, heir, standby, OWNER_FOLDING);
    cr_assert(broker_memory_reads(heir->broker, "p.commands", 0));
}

/* After its Claim is acknowledged, it learns that the former owner had decided one more command. */
Test(owner_claim, compares_the_command_that_was_decided_last)
{
    static struct owner_kit kit;
    struct owner_kit_process *heir;
    struct record first;
    struct broker_record submitted;
    struct owner *standby = begin_takeover(&kit, &heir);
    cr_assert(owner_kit_read(&kit, "p.events", 0, 0, &first));
    int64_t command = owner_kit_submit(&kit, owner_kit_id(&kit, 0, 9));
    cr_assert(broker_memory_record(kit.kafka, "p.commands", 0, command, &submitted));
    struct event event = {.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.command = COMMAND_SUBMIT_ORDER,
                                               .code = TEXT("UnknownWorkflow"),
                                               .reason = TEXT("no such workflow")}};
    struct decision decision = {.claim_id = first.claim.claim_id,
                                .sequence = 5,
                                .command_offset = command,
                                .command_time = submitted.timestamp,
                                .decided_at = kit.clock.now_wall_ms,
                                .emitted_through = -1,
                                .order_id = text_of(owner_kit_id(&kit, 0, 9)),
                                .events = &event,
                                .event_count = 1};
    owner_promote(standby);
    step_until(&kit, heir, standby, OWNER_CLAIMING);
    owner_kit_send(&kit, "p.events", 0, decision.order_id, RECORD_DECISION, &decision);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 10));
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_running(standby), "%s", owner_kit_trouble(standby));
    cr_assert_eq(owner_kit_decisions(&kit, 0), 7);
    cr_assert_eq(owner_kit_decision(&kit, 0, owner_kit_id(&kit, 0, 9))->sequence, 5);
}
