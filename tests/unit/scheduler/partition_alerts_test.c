/* SPDX-License-Identifier: Apache-2.0 */
/* When an owner's alert is sent, and which alerts of others it closes. The test is the group's
 * coordinator. */
#include "services/scheduler/emitter/partition_alerts.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

enum { PARTITIONS = 2, TICK_MS = 2000, EARLIER_MS = 60000 };

static struct owner_kit kit;

/* What the instance under test asks and runs. */
struct instance {
    struct cluster *cluster;
    struct partition_alerts *alerts;
    broker_members_done done; /* it has asked, and has no answer yet */
    void *done_ctx;
    uint32_t asked;
    bool cannot_ask;
    bool runs[PARTITIONS];
};

static struct instance instance;

static bool members(void *ctx, broker_members_done done, void *done_ctx)
{
    struct instance *self = ctx;
    cr_assert_null(self->done, "one question at a time");
    if (self->cannot_ask)
        return false;
    self->done = done;
    self->done_ctx = done_ctx;
    self->asked++;
    return true;
}

static bool runs(void *ctx, int32_t partition)
{
    const struct instance *self = ctx;
    return self->runs[partition];
}

static const struct partition_alerts_ops ops = {members, runs};

/* "s-1", which has read <p>.alerts. */
static void begin(void)
{
    instance.cluster = owner_kit_boot(&kit, "s-1", 0)->cluster;
    instance.alerts = partition_alerts_new(instance.cluster, &ops, &instance);
    partition_alerts_follow(instance.alerts);
    owner_kit_run(&kit, 100);
}

static void setup(void)
{
    instance = (struct instance){0};
    owner_kit_begin(&kit, PARTITIONS);
}

/* It has asked; the coordinator answers that `name` owns all partitions, or does not know. */
static void answer(const char *name)
{
    static const int32_t partitions[PARTITIONS] = {0, 1};
    struct broker_member member = {
        .client_id = name, .partitions = partitions, .count = PARTITIONS};
    struct error error = {.class = name != NULL ? ERROR_OK : ERROR_RETRY};
    broker_members_done done = instance.done;
    cr_assert_not_null(done, "it has not asked");
    instance.done = NULL;
    done(instance.done_ctx, name != NULL ? &member : NULL, name != NULL, &error);
    owner_kit_run(&kit, 100);
}

static void set(bool raised)
{
    partition_alert(instance.alerts, instance.cluster, 0, raised, CODE_STALLED, "it waits");
    owner_kit_run(&kit, 100);
}

static void send(const char *code, const char *by, int32_t partition, bool raised)
{
    struct operator_alert alert = {.code = text_of(code),
                                   .by = text_of(by),
                                   .partition = partition,
                                   .raised = raised,
                                   .command_offset = -1,
                                   .decision_offset = -1,
                                   .decided_at = kit.clock.now_wall_ms};
    owner_kit_send(&kit, "p.alerts", 0, alert.by, RECORD_OPERATOR_ALERT, &alert);
}

static int64_t written(void)
{
    return owner_kit_end(&kit, "p.alerts", 0);
}

/* ---- raising ---- */

Test(partition_alerts, raises_when_the_coordinator_has_named_this_instance, .init = setup)
{
    begin();
    set(true);
    cr_assert_eq(written(), 0);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    owner_kit_run(&kit, 10 * TICK_MS);
    cr_assert_eq(instance.asked, 1);
    set(false);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, raises_nothing_for_a_partition_of_another_instance, .init = setup)
{
    begin();
    set(true);
    answer("s-2");
    owner_kit_run(&kit, TICK_MS);
    answer(NULL);
    owner_kit_run(&kit, TICK_MS);
    cr_assert_eq(instance.asked, 3, "it asks again");
    set(false);
    cr_assert_eq(written(), 0, "nor does it close what it has not raised");
    answer("s-1");
    cr_assert_eq(written(), 0);
    partition_alerts_free(instance.alerts);
}

/* The answer came before the process was suspended, and others may own the partition by now. */
Test(partition_alerts, does_not_believe_an_old_answer, .init = setup)
{
    begin();
    set(true);
    owner_kit_run(&kit, 6000);
    cr_assert_eq(instance.asked, 1);
    answer("s-1");
    cr_assert_eq(written(), 0);
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    set(false);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, asks_again_after_it_has_left_its_group, .init = setup)
{
    begin();
    set(true);
    partition_alerts_left(instance.alerts);
    instance.done = NULL;
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    set(false);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, raises_at_once_where_no_coordinator_can_be_asked, .init = setup)
{
    begin();
    instance.cannot_ask = true;
    set(true);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    set(false);
    partition_alerts_free(instance.alerts);
}

/* ---- closing what others have left ---- */

/* The last record of <p>.alerts. */
static const struct operator_alert *last(void)
{
    static struct record record;
    cr_assert(owner_kit_read(&kit, "p.alerts", 0, written() - 1, &record));
    return &record.operator_alert;
}

Test(partition_alerts, closes_what_a_former_owner_left_open, .init = setup)
{
    static const char *const codes[] = {"Stalled", "EffectsUndeliverable", "TrimRefused",
                                        "TrimGroupMissing"};
    for (uint32_t i = 0; i < 4; i++)
        send(codes[i], "s-0", 1, true);
    begin();
    owner_kit_run(&kit, 2 * TICK_MS);
    cr_assert_eq(instance.asked, 0, "it runs no partition");
    instance.runs[1] = true;
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    cr_assert_eq(written(), 8);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(owner_kit_alerts(&kit, codes[i], false), 1);
    cr_assert(text_equal(last()->by, TEXT("s-0")));
    cr_assert_eq(last()->partition, 1);
    owner_kit_run(&kit, EARLIER_MS);
    cr_assert_eq(instance.asked, 1, "nothing is open any more");
    partition_alerts_free(instance.alerts);
}

/* Of a process that was cut off, for one. */
Test(partition_alerts, closes_what_another_instance_raises_while_it_owns_the_partition,
     .init = setup)
{
    begin();
    instance.runs[0] = true;
    send("Stalled", "s-2", 0, true);
    owner_kit_run(&kit, 100 + TICK_MS);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    partition_alerts_free(instance.alerts);
}

/* It is the one that was cut off. */
Test(partition_alerts, closes_nothing_of_the_instance_that_owns_the_partition, .init = setup)
{
    begin();
    instance.runs[0] = true;
    send("Stalled", "s-2", 0, true);
    owner_kit_run(&kit, 100 + TICK_MS);
    answer("s-2");
    cr_assert_eq(written(), 1);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, writes_nothing_for_what_is_not_open, .init = setup)
{
    send("Stalled", "s-0", 0, true);
    send("Stalled", "s-0", 0, false);
    send("PartitionClaimed", "s-0", 0, false);
    begin();
    instance.runs[0] = instance.runs[1] = true;
    owner_kit_run(&kit, EARLIER_MS);
    cr_assert_eq(instance.asked, 0);
    cr_assert_eq(written(), 3);
    partition_alerts_free(instance.alerts);
}

/* What is open is known only at the topic's end. */
Test(partition_alerts, waits_until_it_has_read_the_topic, .init = setup)
{
    send("Stalled", "s-0", 0, true);
    broker_memory_set_partition_fault(kit.kafka, "p.alerts", 0, PARTITION_UNREADABLE);
    begin();
    instance.runs[0] = true;
    owner_kit_run(&kit, EARLIER_MS);
    cr_assert_eq(instance.asked, 0);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 100 + TICK_MS);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    partition_alerts_free(instance.alerts);
}

/* Between any two records that it reads, seconds pass. */
Test(partition_alerts, asks_nothing_before_it_has_read_the_topic, .init = setup)
{
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    send("Stalled", "s-0", 0, true);
    send("Stalled", "s-0", 0, false);
    instance.cluster = process->cluster;
    instance.runs[0] = true;
    instance.alerts = partition_alerts_new(instance.cluster, &ops, &instance);
    partition_alerts_follow(instance.alerts);
    while (broker_memory_step(kit.kafka)) {
        clock_manual_advance(&process->clock, 2 * TICK_MS);
        loop_once(process->service.loop, 0);
        cr_assert_eq(instance.asked, 0);
    }
    cr_assert_eq(written(), 2);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, closes_again_what_is_still_open_after_a_while, .init = setup)
{
    send("Stalled", "s-0", 0, true);
    begin();
    instance.runs[0] = true;
    broker_memory_set_partition_fault(kit.kafka, "p.alerts", 0, PARTITION_FAILS_APPEND);
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 50000);
    cr_assert_eq(instance.asked, 1);
    owner_kit_run(&kit, 12000);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    partition_alerts_free(instance.alerts);
}

/* Its standbys and its clock: when it runs again. */
Test(partition_alerts, closes_what_its_instance_raised_before_it_was_killed, .init = setup)
{
    send("StandbyStalled", "s-1", 1, true);
    send("ClockSkew", "s-1", -1, true);
    send("ClockSkew", "s-2", -1, true);
    send("StandbyStalled", "s-2", 0, true);
    send("Stalled", "s-1", 0, true);
    owner_kit_run(&kit, 1000);
    begin();
    send("StandbyStalled", "s-1", 0, true);
    owner_kit_run(&kit, TICK_MS);
    cr_assert_eq(instance.asked, 0);
    instance.runs[0] = true;
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    cr_assert_eq(written(), 9);
    cr_assert_eq(owner_kit_alerts(&kit, "ClockSkew", false), 1);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    cr_assert_eq(owner_kit_alerts(&kit, "StandbyStalled", false), 1, "not of this life");
    partition_alerts_free(instance.alerts);
}

/* Any client that may write to the topic wrote it. */
Test(partition_alerts, skips_records_that_it_has_no_use_for, .init = setup)
{
    struct operator_alert of_order = {
        .order_id = TEXT("o"), .code = TEXT("Stalled"), .by = TEXT("s-0"), .raised = true};
    broker_memory_append(kit.kafka, "p.alerts", 0, TEXT("x"), TEXT("garbage"));
    broker_memory_append(kit.kafka, "p.alerts", 0, TEXT("x"), (struct text){0});
    broker_memory_append(kit.kafka, "p.alerts", 0, TEXT("x"), owner_kit_unknown_schema);
    owner_kit_send(&kit, "p.alerts", 0, TEXT("o"), RECORD_OPERATOR_ALERT, &of_order);
    send("Stalled", "s-0", -1, true);
    send("Stalled", "s-0", -2, true);
    send("Stalled", "s-0", PARTITIONS, true);
    send("ClockSkew", "s-1", -2, true);
    send("StoreDamaged", "s-0", 0, true);
    int64_t end = written();
    owner_kit_run(&kit, 1000);
    begin();
    instance.runs[0] = instance.runs[1] = true;
    owner_kit_run(&kit, EARLIER_MS);
    cr_assert_eq(instance.asked, 0);
    cr_assert_eq(written(), end);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, remembers_a_bounded_number_of_open_alerts, .init = setup)
{
    char by[16];
    for (uint32_t i = 0; i <= PARTITION_ALERTS_MAX; i++) {
        snprintf(by, sizeof(by), "x-%u", i);
        send("Stalled", by, 0, true);
    }
    begin();
    instance.runs[0] = true;
    owner_kit_run(&kit, TICK_MS);
    answer("s-1");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), PARTITION_ALERTS_MAX);
    partition_alerts_free(instance.alerts);
}

Test(partition_alerts, forgets_what_was_open_in_a_topic_that_is_made_again, .init = setup)
{
    send("Stalled", "s-0", 0, true);
    begin();
    broker_memory_topic(kit.kafka, "p.alerts", 1);
    owner_kit_run(&kit, 10000);
    instance.runs[0] = true;
    owner_kit_run(&kit, EARLIER_MS);
    cr_assert_eq(instance.asked, 0);
    cr_assert_eq(written(), 0);
    partition_alerts_free(instance.alerts);
}
