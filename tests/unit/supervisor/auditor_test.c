/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor over the broker in memory, with a clock of its own that may be wrong: which agents it
 * takes for vanished, and which orders for stuck. */
#include "services/supervisor/auditor.h"
#include "tests/lib/site.h"
#include "tests/unit/supervisor/world.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600 * 1000, BEAT_MS = 2000, SILENT_MS = 3 * BEAT_MS, ELECTED_MS = 30000 };

struct audit {
    struct supervised_world *world;
    struct auditor *auditor;
};

static struct follower *watched(void *ctx, int32_t partition, bool *ret_current)
{
    struct audit *audit = ctx;
    (void)partition;
    return supervisor_partition_follower(audit->world->partition, ret_current);
}

static void auditor_begin(struct audit *audit)
{
    const struct auditor_watch watch = {watched, audit};
    struct error error;
    cr_assert(auditor_new(audit->world->cluster, audit->world->stores, &watch, &audit->auditor,
                          &error) == ERROR_OK,
              "%s", error.message);
}

/* The clock is wrong from the beginning on. */
static struct audit *audit_new(int64_t clock_ms)
{
    static struct audit audit;
    audit = (struct audit){.world = world_new("A")};
    audit.world->clock.now_wall_ms += clock_ms;
    open_and_fold(audit.world);
    auditor_begin(&audit);
    return &audit;
}

static void audit_free(struct audit *audit)
{
    auditor_free(audit->auditor);
    world_free(audit->world);
}

static void beat(struct audit *audit, const char *instance)
{
    char key[64];
    struct agent_health health = {.agent = TEXT("pay"),
                                  .instance = text_of(instance),
                                  .capacity = 1,
                                  .partitions = 1,
                                  .version = TEXT("1"),
                                  .heartbeat_ms = BEAT_MS,
                                  .reported_at = audit->world->right.now_wall_ms};
    int size = snprintf(key, sizeof(key), "%s/pay", instance);
    site_append(audit->world->kafka, audit->world->codec, "p.agents", 0,
                (struct text){key, (uint32_t)size}, RECORD_AGENT_HEALTH, &health);
}

/* While the agent lives. */
static void run_with_agent(struct audit *audit, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += BEAT_MS) {
        beat(audit, "alive");
        world_run(audit->world, BEAT_MS);
    }
}

static uint32_t tombstones(struct audit *audit)
{
    struct broker_record record;
    uint32_t count = 0;
    for (int64_t at = 0; broker_memory_record(audit->world->kafka, "p.agents", 0, at, &record);
         at++)
        count += record.value.data == NULL;
    return count;
}

Test(auditor, removes_the_agents_that_vanish_and_no_other_whatever_its_clock_shows)
{
    static const int64_t clocks_ms[] = {0, SILENT_MS, HOUR_MS, -HOUR_MS};
    for (size_t i = 0; i < sizeof(clocks_ms) / sizeof(clocks_ms[0]); i++) {
        struct audit *audit = audit_new(clocks_ms[i]);
        run_with_agent(audit, ELECTED_MS);
        cr_expect_eq(tombstones(audit), 0, "clock %zu", i);
        beat(audit, "vanishes");
        run_with_agent(audit, SILENT_MS - BEAT_MS);
        cr_expect_eq(tombstones(audit), 0, "clock %zu", i);
        run_with_agent(audit, 3 * SILENT_MS);
        cr_expect_eq(tombstones(audit), 1, "clock %zu: %u", i, tombstones(audit));
        audit_free(audit);
    }
}

Test(auditor, removes_no_agent_when_its_clock_is_set)
{
    struct audit *audit = audit_new(0);
    run_with_agent(audit, ELECTED_MS);
    audit->world->clock.now_wall_ms += HOUR_MS;
    run_with_agent(audit, ELECTED_MS);
    audit->world->clock.now_wall_ms -= 2 * HOUR_MS;
    run_with_agent(audit, ELECTED_MS);
    cr_assert_eq(tombstones(audit), 0);
    audit_free(audit);
}

Test(auditor, removes_what_vanished_before_it_led)
{
    struct audit *audit = audit_new(0);
    beat(audit, "vanished");
    world_run(audit->world, 2 * ELECTED_MS);
    cr_assert_eq(tombstones(audit), 1);
    audit_free(audit);
}

/* Nothing can be written meanwhile, and everything comes back at its own pace. */
Test(auditor, removes_no_agent_after_an_outage_of_the_brokers)
{
    static const int64_t outages_ms[] = {SILENT_MS + 1000, 5 * ELECTED_MS};
    for (size_t i = 0; i < sizeof(outages_ms) / sizeof(outages_ms[0]); i++) {
        struct audit *audit = audit_new(0);
        run_with_agent(audit, ELECTED_MS);
        broker_memory_set_partition_fault(audit->world->kafka, "p.leadership", 0,
                                          PARTITION_NO_LEADER);
        broker_memory_set_partition_fault(audit->world->kafka, "p.agents", 0, PARTITION_NO_LEADER);
        world_run(audit->world, outages_ms[i]);
        broker_memory_clear_partition_faults(audit->world->kafka);
        world_run(audit->world, 2 * BEAT_MS);
        run_with_agent(audit, ELECTED_MS);
        cr_expect_eq(tombstones(audit), 0, "outage %zu: %u", i, tombstones(audit));
        audit_free(audit);
    }
}

/* The timers of a process that was suspended are due before it reads what came meanwhile. */
Test(auditor, removes_no_agent_after_it_was_suspended)
{
    struct audit *audit = audit_new(0);
    run_with_agent(audit, ELECTED_MS);
    for (int64_t passed = 0; passed < SILENT_MS; passed += BEAT_MS) {
        clock_manual_advance(&audit->world->clock, BEAT_MS);
        clock_manual_advance(&audit->world->right, BEAT_MS);
        beat(audit, "alive");
    }
    loop_once(audit->world->service.loop, 0);
    run_with_agent(audit, ELECTED_MS);
    cr_assert_eq(tombstones(audit), 0);
    audit_free(audit);
}

/* ---- stuck orders ---- */

enum { GRACE_MS = 120000, WALK_MS = 60000 };

static uint32_t stuck_alerts(struct audit *audit, bool raised)
{
    return world_alerts(audit->world, "OrderStuck", raised);
}

/* An order is overdue, and nothing asks for its recovery. */
static struct audit *audit_of_a_stuck_order(void)
{
    struct audit *audit = audit_new(0);
    supervisor_partition_suspend(audit->world->partition, true);
    world_submit(audit->world, 0, audit->world->right.now_wall_ms);
    return audit;
}

Test(auditor, raises_an_alert_about_a_stuck_order_and_closes_it_when_the_order_moves)
{
    struct audit *audit = audit_of_a_stuck_order();
    world_run(audit->world, world_due(audit->world, 0) - audit->world->right.now_wall_ms);
    world_run(audit->world, GRACE_MS - 1000);
    cr_assert_eq(stuck_alerts(audit, true), 0);
    world_run(audit->world, ELECTED_MS + 2 * WALK_MS);
    cr_assert_eq(stuck_alerts(audit, true), 1);
    cr_assert_eq(stuck_alerts(audit, false), 0);
    world_report(audit->world, 0);
    world_run(audit->world, 2 * WALK_MS);
    cr_assert_eq(stuck_alerts(audit, true), 1);
    cr_assert_eq(stuck_alerts(audit, false), 1);
    audit_free(audit);
}

/* While the brokers were away nothing could be done about it. */
Test(auditor, takes_no_order_for_stuck_right_after_an_outage_of_the_brokers)
{
    static const int64_t outages_ms[] = {7000, 10 * WALK_MS};
    for (size_t i = 0; i < sizeof(outages_ms) / sizeof(outages_ms[0]); i++) {
        struct audit *audit = audit_of_a_stuck_order();
        world_run(audit->world, world_due(audit->world, 0) - audit->world->right.now_wall_ms);
        world_run(audit->world, GRACE_MS - 5000);
        broker_memory_set_partition_fault(audit->world->kafka, "p.leadership", 0,
                                          PARTITION_NO_LEADER);
        world_run(audit->world, outages_ms[i]);
        broker_memory_clear_partition_faults(audit->world->kafka);
        world_run(audit->world, GRACE_MS - 1000);
        cr_expect_eq(stuck_alerts(audit, true), 0, "outage %zu", i);
        world_run(audit->world, ELECTED_MS + 2 * WALK_MS);
        cr_expect_eq(stuck_alerts(audit, true), 1, "outage %zu", i);
        audit_free(audit);
    }
}

static void on_stopped(void *ctx)
{
    bool *stopped = ctx;
    *stopped = true;
}

/* The next one raises its own if need be. */
Test(auditor, closes_its_alert_when_it_stops)
{
    bool stopped = false;
    struct audit *audit = audit_of_a_stuck_order();
    world_run(audit->world, GRACE_MS + 3 * WALK_MS);
    cr_assert_eq(stuck_alerts(audit, true), 1);
    auditor_stop(audit->auditor, on_stopped, &stopped);
    world_run(audit->world, 5000);
    cr_assert(stopped);
    cr_assert_eq(stuck_alerts(audit, false), 1);
    audit_free(audit);
}

/* For readers that forget an alert whose auditor was killed. */
Test(auditor, repeats_its_alert_while_the_order_is_stuck)
{
    struct audit *audit = audit_of_a_stuck_order();
    world_run(audit->world, GRACE_MS + 3 * WALK_MS);
    cr_assert_eq(stuck_alerts(audit, true), 1);
    world_run(audit->world, CLUSTER_STUCK_AGAIN_MS + WALK_MS);
    cr_assert_eq(stuck_alerts(audit, true), 2);
    cr_assert_eq(stuck_alerts(audit, false), 0);
    audit_free(audit);
}
