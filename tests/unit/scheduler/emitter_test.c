/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves a partition: every effect arrives, whichever target fails for how long, and a target
 * that fails delays only itself. */
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(emitter);

enum { MANY = 17001, MINUTE_MS = 60000 };

static struct owner_kit kit;

static struct owner_kit_process *begin(void)
{
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    return process;
}

static void submit_many(const char *prefix, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof(id), "%s-%u", prefix, i);
        owner_kit_submit(&kit, id);
    }
}

static void set_fault(const char *topic, enum broker_memory_partition_fault fault)
{
    broker_memory_set_partition_fault(kit.kafka, topic, BROKER_MEMORY_ALL, fault);
}

static uint32_t requests(void)
{
    return owner_kit_count(&kit, "p.requests.agent", 0, RECORD_STEP_REQUEST);
}

static uint32_t statuses(void)
{
    return owner_kit_count(&kit, "p.replies.app", 0, RECORD_STATUS_UPDATE);
}

static void wait_for_requests(uint32_t count)
{
    for (int i = 0; i < 6000 && owner_kit_end(&kit, "p.requests.agent", 0) < count; i++)
        owner_kit_run(&kit, 10);
    cr_assert_eq(requests(), count);
}

/* The newest position that the log holds. */
static int64_t emitted_through(struct owner_kit_process *process, const char *order_id)
{
    (void)process;
    owner_kit_submit(&kit, order_id);
    owner_kit_run(&kit, 100);
    return owner_kit_decision(&kit, 0, order_id)->emitted_through;
}

/* An order that needs an operator when its step fails. */
static void submit_strict(const char *order_id)
{
    static const char source[] =
        "{\"Name\": \"strict\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", \"Agent\": "
        "\"agent\", \"OnExhausted\": \"error\"}]}";
    struct command cmd = owner_kit_submission(order_id);
    cmd.submit_order.workflow = TEXT("strict");
    owner_kit_deploy(&kit, "strict", 1, source);
    owner_kit_command(&kit, &cmd);
}

/* The attempt is over, with an unknown effect. */
static void report_failure(const char *order_id)
{
    struct command cmd = owner_kit_report_of(order_id);
    cmd.report_step.succeeded = false;
    cmd.report_step.error_name = TEXT("Broken");
    cmd.report_step.error_message = TEXT("it broke");
    cmd.report_step.effect = EFFECT_UNKNOWN;
    owner_kit_command(&kit, &cmd);
}

/* ---- one slow target ---- */

Test(emitter, keeps_requesting_while_a_reply_topic_accepts_nothing)
{
    begin();
    set_fault("p.replies.app", PARTITION_READ_ONLY);
    submit_many("a", MANY);
    wait_for_requests(MANY);
    cr_assert_eq(statuses(), 0);
    set_fault("p.replies.app", PARTITION_WORKS);
    for (int i = 0; i < 6000 && owner_kit_end(&kit, "p.replies.app", 0) < MANY; i++)
        owner_kit_run(&kit, 10);
    cr_assert_eq(statuses(), MANY);
}

Test(emitter, keeps_requesting_while_alerts_and_dead_letters_accept_nothing)
{
    begin();
    set_fault("p.alerts", PARTITION_READ_ONLY);
    set_fault("p.dead-letters", PARTITION_READ_ONLY);
    submit_strict("a");
    broker_memory_append(kit.kafka, "p.commands", 0, TEXT("x"), TEXT("garbage"));
    owner_kit_run(&kit, 1000);
    report_failure("a");
    submit_many("b", MANY - 1);
    wait_for_requests(MANY);
    set_fault("p.alerts", PARTITION_WORKS);
    set_fault("p.dead-letters", PARTITION_WORKS);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.alerts", 0, RECORD_OPERATOR_ALERT), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 1);
}

Test(emitter, adds_nothing_for_a_target_that_does_not_acknowledge)
{
    struct owner_kit_process *process = begin();
    set_fault("p.replies.app", PARTITION_READ_ONLY);
    submit_many("a", 5);
    owner_kit_run(&kit, 20000);
    uint32_t outstanding = broker_outstanding(process->broker, BROKER_PRODUCER_EFFECTS);
    cr_assert_leq(outstanding, 5);
    submit_many("b", 1000);
    wait_for_requests(1005);
    cr_assert_leq(broker_outstanding(process->broker, BROKER_PRODUCER_EFFECTS), outstanding);
    set_fault("p.replies.app", PARTITION_WORKS);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(statuses(), 1005);
    cr_assert_eq(emitted_through(process, "last"), owner_kit_end(&kit, "p.events", 0) - 2);
}

Test(emitter, turns_what_is_not_acknowledged_for_15_minutes_into_dead_letters)
{
    struct owner_kit_process *process = begin();
    set_fault("p.replies.app", PARTITION_READ_ONLY);
    submit_many("a", 100);
    owner_kit_run(&kit, 14 * MINUTE_MS);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    int64_t before = emitted_through(process, "b");
    owner_kit_run(&kit, 2 * MINUTE_MS);
    owner_kit_submit(&kit, "c"); /* other targets acknowledge */
    owner_kit_run(&kit, 2 * MINUTE_MS);
    cr_assert_eq(owner_kit_count(&kit, "p.dead-letters", 0, RECORD_STATUS_UPDATE), 100);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", true), 1);
    cr_assert_geq(emitted_through(process, "d"), before + 99);
    set_fault("p.replies.app", PARTITION_WORKS);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", false), 1);
    cr_assert_eq(owner_kit_count(&kit, "p.dead-letters", 0, RECORD_STATUS_UPDATE), 100);
    cr_assert_eq(emitted_through(process, "e"), owner_kit_end(&kit, "p.events", 0) - 2);
}

Test(emitter, gives_nothing_up_while_no_target_acknowledges)
{
    begin();
    static const char *const topics[] = {"p.replies.app", "p.requests.agent", "p.alerts",
                                         "p.dead-letters"};
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        set_fault(topics[i], PARTITION_READ_ONLY);
    submit_many("a", 100);
    owner_kit_run(&kit, 30 * MINUTE_MS);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 2 * MINUTE_MS);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    cr_assert_eq(owner_kit_end(&kit, "p.alerts", 0), 0);
    cr_assert_eq(statuses(), 100);
    cr_assert_eq(requests(), 100);
}

Test(emitter, counts_a_request_as_emitted_when_its_attempt_is_over)
{
    struct owner_kit_process *process = begin();
    set_fault("p.requests.agent", PARTITION_READ_ONLY);
    submit_many("a", 100);
    owner_kit_run(&kit, 20000);
    int64_t stuck = emitted_through(process, "b");
    cr_assert_lt(stuck, 5);
    for (int i = 0; i < 100; i++) {
        char id[32];
        snprintf(id, sizeof(id), "a-%d", i);
        report_failure(id);
    }
    report_failure("b");
    owner_kit_run(&kit, 30000);
    cr_assert_eq(emitted_through(process, "c"), owner_kit_end(&kit, "p.events", 0) - 2);
    cr_assert_eq(requests(), 0);
}

/* The log has one partition here, and the reply topic three. */
Test(emitter, keeps_a_dead_partition_of_a_topic_from_delaying_the_others)
{
    begin();
    broker_memory_topic(kit.kafka, "p.replies.app", 3);
    broker_memory_set_partition_fault(kit.kafka, "p.replies.app", 1, PARTITION_READ_ONLY);
    submit_many("a", MANY);
    wait_for_requests(MANY);
    uint32_t expected[3] = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        char id[32];
        snprintf(id, sizeof(id), "a-%u", i);
        expected[broker_partition_of(text_of(id), 3)]++;
    }
    for (int32_t partition = 0; partition < 3; partition++) {
        if (partition == 1)
            continue;
        for (int i = 0; i < 600 && owner_kit_end(&kit, "p.replies.app", partition) <
                                       (int64_t)expected[partition];
             i++)
            owner_kit_run(&kit, 10);
        cr_assert_eq(owner_kit_end(&kit, "p.replies.app", partition), expected[partition]);
    }
    cr_assert_eq(owner_kit_end(&kit, "p.replies.app", 1), 0);
    owner_kit_run(&kit, 18 * MINUTE_MS);
    owner_kit_submit(&kit, "b");
    owner_kit_run(&kit, 3 * MINUTE_MS);
    cr_assert_geq(owner_kit_end(&kit, "p.dead-letters", 0), expected[1]);
    cr_assert_leq(owner_kit_end(&kit, "p.dead-letters", 0), expected[1] + 1,
                  "only of the dead one");
}

Test(emitter, sends_nothing_until_the_partitions_of_a_topic_are_known)
{
    struct owner_kit_process *process = begin();
    broker_memory_hide_partition_counts(kit.kafka, true);
    submit_many("a", 100);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(requests(), 0);
    cr_assert_eq(statuses(), 0);
    broker_memory_topic(kit.kafka, "p.replies.app", 3);
    broker_memory_hide_partition_counts(kit.kafka, false);
    submit_many("b", 100);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(requests(), 200);
    int64_t sent = 0;
    for (int32_t partition = 0; partition < 3; partition++)
        sent += owner_kit_end(&kit, "p.replies.app", partition);
    cr_assert_eq(sent, 200);
    cr_assert_eq(emitted_through(process, "c"), owner_kit_end(&kit, "p.events", 0) - 2);
}

/* The owner finds that it is not alone, and claims again. */
static void claim_again(const char *order_id)
{
    uint32_t claims = owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), TEXT("garbage"));
    owner_kit_submit(&kit, order_id);
    owner_kit_run(&kit, MINUTE_MS);
    cr_assert_gt(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), claims);
}

Test(emitter, counts_the_15_minutes_from_the_Decision_whatever_claims_follow)
{
    begin();
    set_fault("p.replies.app", PARTITION_READ_ONLY);
    submit_many("a", 100);
    for (int i = 0; i < 9; i++) {
        owner_kit_run(&kit, 2 * MINUTE_MS);
        char id[32];
        snprintf(id, sizeof(id), "b-%d", i);
        claim_again(id);
    }
    cr_assert_geq(owner_kit_count(&kit, "p.dead-letters", 0, RECORD_STATUS_UPDATE), 100);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", true), 1);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", false), 0, "it is still dead");
    set_fault("p.replies.app", PARTITION_WORKS);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", false), 1);
}

Test(emitter, closes_its_alert_when_the_partition_leaves_the_instance)
{
    struct owner_kit_process *first = begin();
    set_fault("p.replies.app", PARTITION_READ_ONLY);
    submit_many("a", 100);
    owner_kit_run(&kit, 16 * MINUTE_MS);
    owner_kit_submit(&kit, "b");
    owner_kit_run(&kit, 2 * MINUTE_MS);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", true), 1);
    owner_kit_release(first, 0);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(second, 0);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", false), 1);
    owner_kit_submit(&kit, "c");
    owner_kit_run(&kit, 16 * MINUTE_MS);
    owner_kit_submit(&kit, "d");
    owner_kit_run(&kit, 2 * MINUTE_MS);
    cr_assert_eq(owner_kit_alerts(&kit, "EffectsUndeliverable", true), 2);
}

/* ---- queues ---- */

Test(emitter, repeats_nothing_when_the_queue_is_full)
{
    begin();
    broker_memory_set_queue_max(kit.kafka, 3);
    submit_many("a", 50);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(requests(), 50);
    cr_assert_eq(statuses(), 50);
}

Test(emitter, keeps_an_effect_whose_dead_letter_cannot_be_queued)
{
    begin();
    set_fault("p.replies.app", PARTITION_NO_LEADER);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    broker_memory_set_queue_max(kit.kafka, 0);
    set_fault("p.replies.app", PARTITION_REFUSES);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    broker_memory_set_queue_max(kit.kafka, 100000);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.dead-letters", 0, RECORD_STATUS_UPDATE), 1);
}

/* ---- claims ---- */

Test(emitter, emits_every_kind_of_effect_that_an_earlier_owner_could_not)
{
    struct owner_kit_process *first = begin();
    submit_strict("a");
    owner_kit_run(&kit, 1000);
    static const char *const topics[] = {"p.replies.app", "p.requests.agent", "p.alerts",
                                         "p.dead-letters"};
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        set_fault(topics[i], PARTITION_FAILS_APPEND);
    report_failure("a");
    owner_kit_submit(&kit, "b");
    broker_memory_append(kit.kafka, "p.commands", 0, TEXT("x"), TEXT("garbage"));
    owner_kit_run(&kit, 5000);
    broker_memory_kill(first->broker);
    owner_kit_release(first, 0);
    broker_memory_clear_partition_faults(kit.kafka);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(second, 0);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(requests(), 2);
    cr_assert_eq(statuses(), 3);
    cr_assert_eq(owner_kit_count(&kit, "p.alerts", 0, RECORD_OPERATOR_ALERT), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 1);
}

Test(emitter, emits_nothing_again_at_the_claims_of_an_idle_partition)
{
    struct owner_kit_process *process = begin();
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 5000);
    for (int i = 0; i < 6; i++) {
        owner_kit_release(process, 0);
        owner_kit_run(&kit, 1000);
        owner_kit_own(process, 0);
        owner_kit_run(&kit, 5000);
    }
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 7);
    cr_assert_eq(requests(), 1);
    cr_assert_eq(statuses(), 1);
}

/* The position waits for the effects that the present claim has sent. */
Test(emitter, ignores_the_acknowledgements_of_an_earlier_claim)
{
    struct owner_kit_process *process = begin();
    set_fault("p.replies.app", PARTITION_HOLDS_ACKS);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    broker_memory_fail_producer(process->broker, BROKER_PRODUCER_LOG);
    owner_kit_run(&kit, 500);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 1);
    owner_kit_submit(&kit, "b"); /* its append finds that the producer has died */
    broker_memory_fail_producer(process->broker, BROKER_PRODUCER_LOG);
    owner_kit_run(&kit, 5000);
    set_fault("p.replies.app", PARTITION_WORKS);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(emitted_through(process, "c"), owner_kit_end(&kit, "p.events", 0) - 2);
}
