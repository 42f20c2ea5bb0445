/* SPDX-License-Identifier: Apache-2.0 */
/* Whole schedulers over the broker in memory: what they do as members of their group. */
#include "services/scheduler/scheduler.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { PARTITIONS = 2, HOUR_MS = 3600000, BEGIN_MS = 10000 };

static struct owner_kit kit;

struct member {
    struct owner_kit_process *process;
    struct scheduler *scheduler;
};

static struct member join(const char *name, const char *standbys)
{
    struct error error = {0};
    struct member member = {.process = owner_kit_host(&kit, name, standbys)};
    enum error_class class =
        scheduler_open(&member.process->service, member.process->broker, &member.scheduler, &error);
    cr_assert_eq(class, ERROR_OK, "%s", error.message);
    return member;
}

static void rebalance(void)
{
    broker_memory_rebalance(kit.kafka, "p.scheduler");
    owner_kit_run(&kit, 5000);
}

/* Why it is not ready, "" = it is. Static memory. */
static const char *not_ready(const struct member *member)
{
    static char reason[ERROR_MESSAGE_SIZE];
    bool ready = scheduler_ready(member->scheduler, reason, sizeof(reason));
    return ready ? "" : reason;
}

/* The first member owns partition 0, the second one partition 1. */
static void begin(struct member *ret_first, struct member *ret_second)
{
    owner_kit_begin(&kit, PARTITIONS);
    *ret_first = join("s1", "0");
    *ret_second = join("s2", "0");
    owner_kit_run(&kit, BEGIN_MS);
    rebalance();
    cr_assert_str_empty(not_ready(ret_first));
    cr_assert_str_empty(not_ready(ret_second));
}

/* It has left: the other member gets its partition, and decides. */
static void expect_gone(const struct member *gone, const char *why)
{
    uint32_t decided = owner_kit_decisions(&kit, 0);
    cr_assert(strstr(not_ready(gone), why) != NULL, "%s", not_ready(gone));
    rebalance();
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 7));
    owner_kit_run(&kit, 5000);
    cr_assert_geq(owner_kit_decisions(&kit, 0), decided + 1);
}

Test(scheduler, leaves_its_group_while_its_clock_is_wrong)
{
    struct member first, second;
    begin(&first, &second);
    first.process->clock.now_wall_ms += HOUR_MS;
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 30000);
    expect_gone(&first, "clock");
    cr_assert_str_empty(not_ready(&second));
    first.process->clock.now_wall_ms -= HOUR_MS;
    owner_kit_run(&kit, 5000);
    rebalance();
    cr_assert_str_empty(not_ready(&first));
}

Test(scheduler, leaves_its_group_while_only_its_version_cannot_read_a_partition)
{
    struct member first, second;
    begin(&first, &second);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), owner_kit_unknown_schema);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 20000);
    cr_assert(strstr(not_ready(&first), "newer version") != NULL, "%s", not_ready(&first));
    owner_kit_run(&kit, 35000);
    rebalance();
    cr_assert(strstr(not_ready(&first), "upgrade this instance") != NULL, "%s", not_ready(&first));
}

/* The other partitions need it. */
Test(scheduler, stays_in_its_group_when_it_owns_all_partitions)
{
    owner_kit_begin(&kit, PARTITIONS);
    struct member only = join("s1", "0");
    owner_kit_run(&kit, BEGIN_MS);
    rebalance();
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), owner_kit_unknown_schema);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 60000);
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 1));
    owner_kit_run(&kit, 5000);
    cr_assert(strstr(not_ready(&only), "upgrade this instance") != NULL, "%s", not_ready(&only));
    cr_assert_eq(owner_kit_decisions(&kit, 1), 1);
}

/* ---- standbys ---- */

/* Each owns one partition and has a standby for the other. */
static void begin_with_standbys(struct member *ret_first, struct member *ret_second)
{
    owner_kit_begin(&kit, PARTITIONS);
    *ret_first = join("s1", "1");
    *ret_second = join("s2", "1");
    owner_kit_run(&kit, BEGIN_MS);
    rebalance();
    owner_kit_run(&kit, 5000);
}

static const char *degraded(const struct member *member)
{
    static char reason[ERROR_MESSAGE_SIZE];
    return scheduler_degraded(member->scheduler, reason, sizeof(reason)) ? reason : "";
}

Test(scheduler, names_what_a_standby_waits_for_and_stays_ready)
{
    struct member first, second;
    begin_with_standbys(&first, &second);
    cr_assert_str_empty(degraded(&first));
    broker_memory_set_partition_fault(kit.kafka, "p.events", 1, PARTITION_UNREADABLE);
    owner_kit_run(&kit, 15000);
    cr_assert(strstr(degraded(&first), "partition 1 is standby and has waited") != NULL, "%s",
              degraded(&first));
    cr_assert(strstr(degraded(&first), "the records of p.events[1]") != NULL, "%s",
              degraded(&first));
    cr_assert_str_empty(not_ready(&first));
    cr_assert_eq(owner_kit_alerts(&kit, "StandbyStalled", true), 0, "no order waits for it");
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_alerts(&kit, "StandbyStalled", true), 1);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 15000);
    cr_assert_str_empty(degraded(&first));
    cr_assert_eq(owner_kit_alerts(&kit, "StandbyStalled", false), 1);
}

Test(scheduler, names_a_standby_that_cannot_be_opened)
{
    struct member first, second;
    char path[300];
    owner_kit_begin(&kit, PARTITIONS);
    first = join("s1", "1");
    snprintf(path, sizeof(path), "%s/partition-1", first.process->folder);
    FILE *file = fopen(path, "w"); /* where the store's directory would be */
    cr_assert_not_null(file);
    cr_assert_eq(fclose(file), 0);
    second = join("s2", "1");
    (void)second;
    owner_kit_run(&kit, BEGIN_MS);
    rebalance();
    owner_kit_run(&kit, 5000);
    cr_assert(strstr(degraded(&first), "the standby of partition 1 cannot be opened") != NULL, "%s",
              degraded(&first));
    cr_assert_str_empty(not_ready(&first));
}

/* In model time: it has the records already, and only claims. */
Test(scheduler, claims_at_once_when_it_stood_by)
{
    struct member first, second;
    begin_with_standbys(&first, &second);
    for (uint32_t i = 0; i < 50; i++)
        owner_kit_submit(&kit, owner_kit_id(&kit, 1, i));
    owner_kit_run(&kit, 5000);
    uint32_t claims = owner_kit_count(&kit, "p.events", 1, RECORD_CLAIM);
    broker_memory_kill(second.process->broker);
    broker_memory_expire(second.process->broker, "p.scheduler");
    broker_memory_rebalance(kit.kafka, "p.scheduler");
    owner_kit_run(&kit, 100);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 1, RECORD_CLAIM), claims + 1);
    uint32_t decided = owner_kit_decisions(&kit, 1);
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 60));
    owner_kit_run(&kit, 500);
    cr_assert_geq(owner_kit_decisions(&kit, 1), decided + 1);
}

/* ---- alerts ---- */

/* The first member has waited for long enough to report it. */
static void stall_first(struct member *first)
{
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 20000);
    cr_assert(strstr(not_ready(first), "partition 0 is") != NULL, "%s", not_ready(first));
}

static void lose(const struct member *member)
{
    broker_memory_expire(member->process->broker, "p.scheduler");
    broker_memory_clear_partition_faults(kit.kafka);
    rebalance();
}

Test(scheduler, reports_that_its_partition_stalls)
{
    struct member first, second;
    begin(&first, &second);
    stall_first(&first);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.alerts", 0), 2);
}

/* By the time its records get through, another one decides the partition's commands. */
Test(scheduler, reports_nothing_about_a_partition_that_it_lost_while_it_was_cut_off)
{
    struct member first, second;
    begin(&first, &second);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 100);
    broker_memory_disconnect(first.process->broker);
    owner_kit_run(&kit, 30000);
    lose(&first);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 2));
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 2);
    broker_memory_connect(first.process->broker);
    owner_kit_run(&kit, 30000);
    rebalance();
    cr_assert_eq(owner_kit_end(&kit, "p.alerts", 0), 0);
}

/* The outage was short, or hit all of them: no other scheduler has taken the partition. */
Test(scheduler, reports_what_still_stalls_when_it_hears_from_the_coordinator_again)
{
    struct member first, second;
    begin(&first, &second);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_NO_LEADER);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 100);
    broker_memory_disconnect(first.process->broker);
    owner_kit_run(&kit, 30000);
    broker_memory_connect(first.process->broker);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
}

Test(scheduler, closes_the_alerts_of_a_killed_owner_and_writes_nothing_else)
{
    struct member first, second;
    struct record record;
    begin(&first, &second);
    stall_first(&first);
    broker_memory_kill(first.process->broker);
    lose(&first);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    cr_assert(owner_kit_read(&kit, "p.alerts", 0, 1, &record));
    cr_assert(text_equal(record.operator_alert.by, TEXT("s1")));
    cr_assert_eq(record.operator_alert.partition, 0);
    uint32_t claims = owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM);
    broker_memory_kill(second.process->broker);
    join("s3", "0");
    owner_kit_run(&kit, BEGIN_MS);
    lose(&second);
    owner_kit_run(&kit, 5000);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), claims + 1);
    cr_assert_eq(owner_kit_end(&kit, "p.alerts", 0), 2, "nothing was open");
}
