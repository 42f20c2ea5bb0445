/* SPDX-License-Identifier: Apache-2.0 */
/* The role "schedules" over the broker in memory: which orders are submitted, by one supervisor
 * after another, whose own clocks may be wrong. */
#include "services/supervisor/schedules.h"

#include "platform/logger.h"
#include "schedule/registry.h"
#include "schemas/details.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 1000000, STEP_MS = 100, MINUTE_MS = 60000, ELECTED_MS = 30000, INSTANCES = 2 };
#define START_MS INT64_C(1795485600000) /* 2026-11-24T02:00:00Z */

#define EVERY_MINUTE "Schedule: tick\nCron: '* * * * *'\nOrder: {workflow: work}\n"
#define WORK(version) "Name: work\nVersion: " version "\nSteps: [{Name: A, Agent: a}]\n"

/* A supervisor, as far as it submits schedules. */
struct instance {
    struct clock_manual clock;
    struct service_context service;
    struct broker *broker;
    struct cluster *cluster;
    struct schedules *schedules;
};

static struct clock_manual right; /* that of the brokers */
static struct broker_memory_cluster *kafka;
static struct codec *codec;
static struct instance instances[INSTANCES];

/* ---- the world ---- */

static void set_up(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    clock_manual_init(&right, START_MS);
    kafka = broker_memory_cluster_new(1, &right.clock);
    codec = codec_new();
    SITE_TOPICS(kafka, 1, "p.commands", "p.events", "p.submissions", "p.schemas", "p.workflows",
                "p.schedules", "p.leadership", "p.alerts", "p.dead-letters");
    site_deploy(kafka, codec, "p.workflows", TEXT("work"), 1, "yaml", TEXT(WORK("1")));
}

static void stop(int at)
{
    struct instance *instance = &instances[at];
    if (instance->cluster == NULL)
        return;
    schedules_free(instance->schedules);
    cluster_close(instance->cluster);
    simulated_service_close(&instance->service);
    instance->cluster = NULL;
}

static void tear_down(void)
{
    for (int i = 0; i < INSTANCES; i++)
        stop(i);
    broker_memory_cluster_free(kafka);
    codec_free(codec);
}

TestSuite(schedules, .init = set_up, .fini = tear_down);

static void settle(void)
{
    bool again = true;
    while (again) {
        again = broker_memory_settle(kafka, STEPS_MAX) > 0;
        for (int i = 0; i < INSTANCES; i++)
            if (instances[i].cluster != NULL)
                again = loop_once(instances[i].service.loop, 0) > 0 || again;
    }
}

static void run(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += STEP_MS) {
        settle();
        clock_manual_advance(&right, STEP_MS);
        for (int i = 0; i < INSTANCES; i++)
            if (instances[i].cluster != NULL)
                clock_manual_advance(&instances[i].clock, STEP_MS);
    }
    settle();
}

static void on_ready(void *ctx)
{
    struct instance *instance = ctx;
    struct error error;
    cr_assert_eq(schedules_new(instance->cluster, &instance->schedules, &error), ERROR_OK, "%s",
                 error.message);
}

/* Its wall clock is wrong by so much. */
static void begin(int at, int64_t wrong_ms)
{
    static const char *const names[INSTANCES] = {"supervisor-1", "supervisor-2"};
    struct instance *instance = &instances[at];
    clock_manual_init(&instance->clock, right.now_wall_ms + wrong_ms);
    instance->service = (struct service_context){
        .name = "supervisor", .instance_id = names[at], .clock = &instance->clock.clock};
    simulated_service_open(&instance->service, "p", NULL);
    instance->broker = broker_memory_new(kafka, names[at]);
    instance->cluster = site_open_cluster(&instance->service, instance->broker,
                                          CLUSTER_FOLLOWS_WORKFLOWS, on_ready, instance);
    settle();
}

static void kill_instance(int at)
{
    broker_memory_kill(instances[at].broker);
    stop(at);
}

static void put(const char *name, const char *text, bool paused)
{
    struct schedule_definition schedule = {.name = text_of(name),
                                           .text = text_of(text),
                                           .format = TEXT("yaml"),
                                           .deployed_by = TEXT("ann"),
                                           .paused = paused};
    site_append(kafka, codec, "p.schedules", 0, schedule.name, RECORD_SCHEDULE, &schedule);
}

static void deploy(const char *text)
{
    put("tick", text, false);
}

/* ---- what was submitted ---- */

struct submitted {
    char ids[4096]; /* each of them once, in the order of their first submissions: "02:01 02:02" */
    uint32_t count; /* of all submissions */
    uint32_t different; /* that have an id of before and another content */
};

/* What is new in ids: behind NAME@2026-11-24T, without the Z. */
static struct submitted submissions(void)
{
    struct heap_arena heap;
    struct content_hash hashes[2048];
    struct text ids[2048];
    uint32_t known = 0;
    struct submitted found = {0};
    size_t used = 0;
    struct broker_record record;
    heap_arena_init(&heap, 64 * 1024);
    for (int64_t at = 0; broker_memory_record(kafka, "p.submissions", 0, at, &record); at++) {
        struct record decoded;
        site_decode(codec, record.value, &heap.arena, &decoded);
        cr_assert_eq(decoded.kind, RECORD_SUBMIT_ORDER);
        cr_assert(text_equal(record.key, decoded.command.order_id));
        struct content_hash hash = details_content_hash(&decoded.command.submit_order);
        uint32_t same = 0;
        found.count++;
        while (same < known && !text_equal(ids[same], decoded.command.order_id))
            same++;
        if (same < known) {
            found.different += memcmp(&hashes[same], &hash, sizeof(hash)) != 0;
            continue;
        }
        cr_assert(known < 2048);
        ids[known] = decoded.command.order_id;
        hashes[known++] = hash;
        const char *tick = memchr(record.key.data, '@', record.key.size);
        cr_assert_not_null(tick);
        uint32_t from = (uint32_t)(tick - record.key.data) + 12; /* behind the date */
        if (used < sizeof(found.ids) - 16)
            used += (size_t)snprintf(found.ids + used, sizeof(found.ids) - used, "%s%.*s",
                                     used > 0 ? " " : "", (int)(record.key.size - from - 1),
                                     record.key.data + from);
    }
    heap_arena_deinit(&heap);
    return found;
}

static void expect_ticks(const char *ticks)
{
    struct submitted found = submissions();
    cr_expect_str_eq(found.ids, ticks, "%s, not %s", found.ids, ticks);
    cr_expect_eq(found.different, 0);
}

static uint64_t counted(int at, const char *outcome)
{
    return metrics_counter(instances[at].service.metrics, "reeve_schedule_ticks_total", "",
                           METRICS_LABEL("outcome", outcome))
        ->value;
}

static double schedules_in(int at, const char *state)
{
    return metrics_gauge(instances[at].service.metrics, "reeve_schedules", "",
                         METRICS_LABEL("state", state))
        ->value;
}

/* ---- one leader ---- */

Test(schedules, submit_each_tick_once)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    run(5 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:03 02:04 02:05");
    cr_expect_eq(submissions().count, 5);
    cr_expect_eq(counted(0, "submitted"), 5);
    cr_expect_eq(counted(0, "made_up"), 0);
    cr_expect_eq(schedules_in(0, "active"), 1);
}

Test(schedules, know_the_time_from_the_brokers_alone)
{
    begin(0, -3600000);
    begin(1, 3600000);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    run(3 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:03");
    cr_expect_eq(submissions().count, 3);
    /* Both step, one of them by a day. */
    instances[0].clock.now_wall_ms -= 86400000;
    instances[1].clock.now_wall_ms += 30000;
    run(2 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:03 02:04 02:05");
}

Test(schedules, submit_several_schedules)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    put("often", "Schedule: often\nEverySeconds: 20\nOrder: {workflow: work, input: '${tick}'}\n",
        false);
    run(MINUTE_MS);
    expect_ticks("02:00:40 02:01 02:01 02:01:20");
}

Test(schedules, follow_what_is_deployed_paused_and_removed)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    run(2 * MINUTE_MS);
    put("tick", EVERY_MINUTE, true);
    run(2 * MINUTE_MS);
    cr_expect_eq(schedules_in(0, "paused"), 1);
    put("tick", EVERY_MINUTE, false);
    run(MINUTE_MS);
    expect_ticks("02:01 02:02 02:05");
    deploy("Schedule: tick\nCron: '*/2 * * * *'\nOrder: {workflow: work}\n");
    run(4 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:05 02:06 02:08");
    deploy("Schedule: tick\nCron: '30 2 * * *'\nOrder: {workflow: work}\n");
    run(3 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:05 02:06 02:08");
    broker_memory_append(kafka, "p.schedules", 0, TEXT("tick"), (struct text){NULL, 0});
    run(4 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:05 02:06 02:08");
    cr_expect_eq(schedules_in(0, "active"), 0);
}

Test(schedules, go_on_next_to_one_that_cannot_be_read)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    put("broken", "Schedule: broken\nCron: x\n", false);
    put("other", EVERY_MINUTE, false);
    broker_memory_append(kafka, "p.schedules", 0, TEXT("bytes"), TEXT("\xc3\x01unknown!"));
    broker_memory_append(kafka, "p.schedules", 0, TEXT("no name"), TEXT("x"));
    run(2 * MINUTE_MS);
    expect_ticks("02:01 02:02");
    cr_expect_eq(schedules_in(0, "active"), 1);
    cr_expect_eq(schedules_in(0, "unusable"), 3);
}

Test(schedules, wait_for_their_workflow)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy("Schedule: tick\nCron: '* * * * *'\nCatchUpSeconds: 90\n"
           "Order: {workflow: work, workflow_version: 2}\n");
    run(4 * MINUTE_MS);
    expect_ticks("");
    cr_expect_eq(schedules_in(0, "unusable"), 1);
    cr_expect_eq(counted(0, "missed"), 2); /* 02:01, 02:02 */
    site_deploy(kafka, codec, "p.workflows", TEXT("work"), 2, "yaml", TEXT(WORK("2")));
    run(MINUTE_MS);
    expect_ticks("02:03 02:04 02:05");
    cr_expect_eq(schedules_in(0, "active"), 1);
}

Test(schedules, refuse_a_tick_that_makes_no_order)
{
    site_deploy(kafka, codec, "p.workflows", TEXT("work"), 2, "yaml",
                TEXT(WORK("2") "InputShape: {n: integer}\n"));
    begin(0, 0);
    run(ELECTED_MS);
    deploy("Schedule: tick\nCron: '* * * * *'\nOrder: {workflow: work, input: {n: \"${tick}\"}}\n");
    run(2 * MINUTE_MS);
    expect_ticks("");
    cr_expect_eq(counted(0, "refused"), 2);
}

Test(schedules, send_again_what_was_not_acknowledged)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    broker_memory_set_partition_fault(kafka, "p.submissions", 0, PARTITION_FAILS_APPEND);
    run(3 * MINUTE_MS);
    expect_ticks("");
    broker_memory_clear_partition_faults(kafka);
    run(MINUTE_MS);
    expect_ticks("02:01 02:02 02:03 02:04");
    cr_expect_eq(counted(0, "submitted") + counted(0, "made_up"), 4);
    cr_expect_geq(counted(0, "made_up"), 2);
}

/* A tick of this term was not missed because it took a while to submit it. */
Test(schedules, submit_a_tick_of_the_term_although_nothing_is_made_up)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy("Schedule: tick\nCron: '* * * * *'\nCatchUpSeconds: 0\nOrder: {workflow: work}\n");
    broker_memory_set_partition_fault(kafka, "p.submissions", 0, PARTITION_FAILS_APPEND);
    run(MINUTE_MS); /* 02:01 fails */
    broker_memory_clear_partition_faults(kafka);
    run(MINUTE_MS / 4);
    expect_ticks("02:01");
    broker_memory_set_partition_fault(kafka, "p.submissions", 0, PARTITION_FAILS_APPEND);
    run(2 * MINUTE_MS); /* 02:02 as well, for too long */
    broker_memory_clear_partition_faults(kafka);
    run(MINUTE_MS / 4);
    expect_ticks("02:01 02:03 02:04");
    cr_expect_eq(counted(0, "missed"), 1);
}

Test(schedules, do_nothing_while_their_topic_is_not_read)
{
    char reason[256];
    deploy(EVERY_MINUTE);
    broker_memory_set_partition_fault(kafka, "p.schedules", 0, PARTITION_UNREADABLE);
    begin(0, 0);
    run(3 * MINUTE_MS);
    expect_ticks("");
    cr_expect(!schedules_trouble(instances[0].schedules, reason, sizeof(reason)));
    broker_memory_clear_partition_faults(kafka);
    run(MINUTE_MS);
    expect_ticks("02:00 02:01 02:02 02:03 02:04"); /* deployed at 02:00 */
}

static void put_many(const char *prefix, int count)
{
    for (int i = 0; i < count; i++) {
        char name[32], text[128];
        snprintf(name, sizeof(name), "%s-%d", prefix, i);
        snprintf(text, sizeof(text), "Schedule: %s\nEverySeconds: 86400\nOrder: {workflow: work}\n",
                 name);
        put(name, text, false);
    }
}

Test(schedules, forget_those_of_a_topic_that_was_made_again)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    put_many("a", SCHEDULES_MAX - 1);
    run(MINUTE_MS);
    expect_ticks("02:01");
    broker_memory_topic(kafka, "p.schedules", 1);
    settle(); /* it notices that the records are gone */
    put_many("b", SCHEDULES_MAX);
    run(2 * MINUTE_MS);
    expect_ticks("02:01");
    cr_expect_eq(schedules_in(0, "active"), (double)SCHEDULES_MAX);
}

/* ---- one leader after another ---- */

Test(schedules, are_taken_over_without_a_gap)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    begin(1, 0);
    run(3 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:03");
    cr_expect_eq(submissions().count, 3);
    run(MINUTE_MS / 2 - 1000); /* just before 02:04 */
    kill_instance(0);
    run(2 * MINUTE_MS);
    expect_ticks("02:01 02:02 02:03 02:04 02:05");
    /* The second leader has sent all of them again, with the same content. */
    cr_expect_eq(submissions().count, 8);
}

Test(schedules, make_up_what_was_missed)
{
    deploy("Schedule: tick\nCron: '* * * * *'\nCatchUpSeconds: 150\nOrder: {workflow: work}\n");
    put("never",
        "Schedule: never\nCron: '* * * * *'\nCatchUpSeconds: 0\n"
        "Order: {workflow: work}\n",
        false);
    run(10 * MINUTE_MS + 5000);
    begin(0, 0);
    run(ELECTED_MS); /* it leads within that, at 02:10 */
    expect_ticks("02:08 02:09 02:10");
    cr_expect_eq(submissions().count, 3);
    run(MINUTE_MS); /* from now on both */
    expect_ticks("02:08 02:09 02:10 02:11 02:11");
}

Test(schedules, make_up_at_most_the_newest_thousand)
{
    deploy("Schedule: tick\nEverySeconds: 1\nCatchUpSeconds: 518400\nOrder: {workflow: work}\n");
    clock_manual_advance(&right, 5000 * 1000);
    begin(0, 0);
    run(ELECTED_MS);
    struct submitted found = submissions();
    cr_expect_geq(found.count, 1000);
    cr_expect_leq(found.count, 1000 + ELECTED_MS / 1000);
    cr_expect_eq(strncmp(found.ids, "03:06:", 6), 0, "%.20s", found.ids);
    cr_expect_eq(counted(0, "missed"), 1000); /* at least */
}

Test(schedules, make_up_nothing_of_which_the_order_may_be_forgotten)
{
    static const char *const settings[] = {"orders.retention.ms", "180000", NULL};
    deploy("Schedule: tick\nCron: '* * * * *'\nCatchUpSeconds: 86400\nOrder: {workflow: work}\n");
    run(10 * MINUTE_MS);
    struct instance *instance = &instances[0];
    clock_manual_init(&instance->clock, right.now_wall_ms);
    instance->service = (struct service_context){
        .name = "supervisor", .instance_id = "supervisor-1", .clock = &instance->clock.clock};
    simulated_service_open(&instance->service, "p", settings);
    instance->broker = broker_memory_new(kafka, "supervisor-1");
    instance->cluster = site_open_cluster(&instance->service, instance->broker,
                                          CLUSTER_FOLLOWS_WORKFLOWS, on_ready, instance);
    run(ELECTED_MS);
    expect_ticks("02:08 02:09 02:10");
}

Test(schedules, count_no_tick_before_their_newest_record)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy(EVERY_MINUTE);
    run(2 * MINUTE_MS);
    deploy("Schedule: tick\nCron: '* * * * *'\nOrder: {workflow: work, input: 7}\n");
    run(MINUTE_MS);
    expect_ticks("02:01 02:02 02:03");
    kill_instance(0);
    begin(1, 0);
    run(MINUTE_MS);
    expect_ticks("02:01 02:02 02:03 02:04");
    cr_expect_eq(submissions().count, 5); /* 02:03 twice */
}

/* The first leader is cut off, and goes on for a part of its lease; what it sent meanwhile arrives
 * after the second one has submitted the same ticks. */
Test(schedules, have_one_content_for_a_tick_where_two_lead)
{
    begin(0, 0);
    run(ELECTED_MS);
    deploy("Schedule: tick\nEverySeconds: 1\nOrder: {workflow: work, input: '${tick}'}\n");
    begin(1, 0);
    run(MINUTE_MS);
    broker_memory_disconnect(instances[0].broker);
    run(MINUTE_MS);
    broker_memory_connect(instances[0].broker);
    run(MINUTE_MS);
    struct submitted found = submissions();
    uint32_t ticks = 1;
    for (const char *at = found.ids; *at != '\0'; at++)
        ticks += *at == ' ';
    cr_expect_eq(ticks, 3 * MINUTE_MS / 1000 + 1, "%u", ticks);
    cr_expect_gt(found.count, ticks);
    cr_expect_eq(found.different, 0);
}
