/* SPDX-License-Identifier: Apache-2.0 */
/* The table of agents: entries appear, change, lapse and disappear; impossible ones are ignored. */
#include "platform/logger.h"
#include "replica/agents/agent_table.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { START_MS = 1000000 };

struct seen {
    int changed, lapsed, removed, outdated;
    int paused, resumed;
    char last[WHO_BYTES_MAX + NAME_BYTES_MAX + 16];
    char last_outdated[256];
};

static void on_changed(void *ctx, const struct agent_entry *entry)
{
    struct seen *seen = ctx;
    seen->changed++;
    snprintf(seen->last, sizeof(seen->last), "%s/%s", entry->instance, entry->agent);
}

static void on_gone(void *ctx, const struct agent_entry *entry, bool lapsed)
{
    struct seen *seen = ctx;
    *(lapsed ? &seen->lapsed : &seen->removed) += 1;
    snprintf(seen->last, sizeof(seen->last), "%s/%s", entry->instance, entry->agent);
}

static void on_paused(void *ctx, struct text agent, const struct agent_pause_entry *pause)
{
    struct seen *seen = ctx;
    *(pause != NULL ? &seen->paused : &seen->resumed) += 1;
    cr_assert(pause == NULL || text_equal(text_of(pause->agent), agent));
    snprintf(seen->last, sizeof(seen->last), "%.*s by %s", TEXT_ARG(agent),
             pause != NULL ? pause->by : "?");
}

static void on_outdated(void *ctx, struct text key)
{
    struct seen *seen = ctx;
    seen->outdated++;
    snprintf(seen->last_outdated, sizeof(seen->last_outdated), "%.*s", TEXT_ARG(key));
}

static const struct agent_table_ops ops = {
    .changed = on_changed, .gone = on_gone, .paused = on_paused, .outdated = on_outdated};

static struct agent_health health_of(const char *agent, const char *instance)
{
    return (struct agent_health){.agent = text_of(agent),
                                 .instance = text_of(instance),
                                 .capacity = 16,
                                 .in_flight = 4,
                                 .partitions = 2,
                                 .latency_p50_ms = 20,
                                 .latency_p95_ms = 80,
                                 .circuit = TEXT("closed"),
                                 .version = TEXT("1"),
                                 .heartbeat_ms = 2000,
                                 .reported_at = START_MS};
}

/* Appended and read at START_MS + at. */
static enum error_class put_at(struct agent_table *table, const struct agent_health *health,
                               int64_t at)
{
    char key[512];
    struct error error;
    int size = snprintf(key, sizeof(key), "%.*s/%.*s", TEXT_ARG(health->instance),
                        TEXT_ARG(health->agent));
    return agent_table_put(table, (struct text){key, (uint32_t)size}, health, START_MS + at,
                           START_MS + at, at, &error);
}

Test(agent_table, finds_entries_by_agent_in_order)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_health b = health_of("carrier-a", "i2");
    struct agent_health a = health_of("carrier-a", "i1");
    struct agent_health other = health_of("stock", "i1");
    cr_assert_null(agent_table_find(table, TEXT("carrier-a")));
    cr_assert_eq(put_at(table, &b, 0), ERROR_OK);
    cr_assert_eq(put_at(table, &other, 0), ERROR_OK);
    cr_assert_eq(put_at(table, &a, 0), ERROR_OK);
    const struct agent_group *group = agent_table_find(table, TEXT("carrier-a"));
    cr_assert_eq(group->count, 2);
    cr_assert_str_eq(group->entries->instance, "i1");
    cr_assert_str_eq(group->entries->next->instance, "i2");
    cr_assert_null(group->entries->next->next);
    cr_assert_eq(group->entries->capacity, 16);
    cr_assert_eq(group->entries->circuit, AGENT_CIRCUIT_CLOSED);
    cr_assert_eq(agent_table_groups(table), group);
    cr_assert_str_eq(group->next->agent, "stock");
    cr_assert_eq(agent_table_count(table), 3);
    cr_assert_eq(seen.changed, 3);
    agent_table_free(table);
}

Test(agent_table, reports_only_changes)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_health health = health_of("a", "i");
    cr_assert_eq(put_at(table, &health, 0), ERROR_OK);
    health.reported_at++;
    health.last_error = TEXT("refused");
    cr_assert_eq(put_at(table, &health, 2000), ERROR_OK);
    cr_assert_eq(seen.changed, 1);
    cr_assert_str_eq(agent_table_find(table, TEXT("a"))->entries->last_error, "refused");
    health.circuit = TEXT("open");
    cr_assert_eq(put_at(table, &health, 2100), ERROR_OK);
    cr_assert_eq(seen.changed, 2);
    cr_assert_eq(agent_table_find(table, TEXT("a"))->entries->circuit, AGENT_CIRCUIT_OPEN);
    agent_table_free(table);
}

Test(agent_table, removes_entries_by_tombstone_or_silence)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_health one = health_of("a", "i1");
    struct agent_health two = health_of("a", "i2");
    cr_assert_eq(put_at(table, &one, 0), ERROR_OK);
    cr_assert_eq(put_at(table, &two, 1000), ERROR_OK);
    cr_assert_eq(agent_table_sweep(table, 5999), 6000);
    cr_assert_eq(agent_table_sweep(table, 6000), 7000);
    cr_assert_eq(seen.lapsed, 1);
    cr_assert_str_eq(seen.last, "i1/a");
    agent_table_remove(table, TEXT("i2/a"));
    agent_table_remove(table, TEXT("i2/a"));
    agent_table_remove(table, TEXT(""));
    cr_assert_eq(seen.removed, 1);
    cr_assert_null(agent_table_find(table, TEXT("a")));
    cr_assert_null(agent_table_groups(table));
    cr_assert_eq(agent_table_sweep(table, 6000), INT64_MAX);
    agent_table_free(table);
}

Test(agent_table, trusts_the_append_time_and_not_the_clock_of_the_agent)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    struct agent_health health = health_of("a", "i");
    struct error error;
    health.reported_at = INT64_MAX;
    cr_assert_eq(
        agent_table_put(table, TEXT("i/a"), &health, START_MS - 5000, START_MS, 77, &error),
        ERROR_OK);
    cr_assert_eq(agent_table_find(table, TEXT("a"))->entries->lapses_ms, 77 + 1000);
    /* An append time to come is taken for now. */
    cr_assert_eq(
        agent_table_put(table, TEXT("i/a"), &health, START_MS + 99999, START_MS, 77, &error),
        ERROR_OK);
    cr_assert_eq(agent_table_find(table, TEXT("a"))->entries->lapses_ms, 77 + 6000);
    agent_table_free(table);
}

Test(agent_table, bounds_heartbeats)
{
    static const struct {
        int64_t told, lapses;
    } cases[] = {{0, 30000}, {1, 300}, {INT64_MAX, 180000}, {500, 1500}};
    struct agent_table *table = agent_table_new(NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct agent_health health = health_of("a", "i");
        health.heartbeat_ms = cases[i].told;
        cr_assert_eq(put_at(table, &health, 0), ERROR_OK);
        cr_assert_eq(agent_table_find(table, TEXT("a"))->entries->lapses_ms, cases[i].lapses);
    }
    agent_table_free(table);
}

static void expect_refused(struct agent_table *table, struct agent_health health)
{
    cr_assert_eq(put_at(table, &health, 1000), ERROR_REJECT);
    cr_assert_eq(agent_table_count(table), 1);
    cr_assert_eq(agent_table_groups(table)->entries->lapses_ms, 6000);
}

Test(agent_table, ignores_impossible_records)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    struct agent_health health = health_of("a", "i");
    struct error error;
    cr_assert_eq(put_at(table, &health, 0), ERROR_OK);
    health.capacity = AGENT_TABLE_CAPACITY_MAX + 1;
    expect_refused(table, health);
    health = health_of("a", "i");
    health.circuit = TEXT("ajar");
    expect_refused(table, health);
    health = health_of("a", "i");
    health.errors_permille = 1001;
    expect_refused(table, health);
    health = health_of("a", "i");
    health.latency_p95_ms = 19;
    expect_refused(table, health);
    health = health_of("a", "i");
    health.latency_p50_ms = health.latency_p95_ms = -1;
    expect_refused(table, health);
    health = health_of("a", "i");
    health.heartbeat_ms = -1;
    expect_refused(table, health);
    expect_refused(table, health_of("no name", "i"));
    expect_refused(table, health_of("", "i"));
    expect_refused(table, health_of("a", ""));
    health = health_of("a", "i");
    cr_assert_eq(agent_table_put(table, TEXT("j/a"), &health, 0, 0, 0, &error), ERROR_REJECT);
    cr_assert_eq(agent_table_put(table, TEXT(""), &health, 0, 0, 0, &error), ERROR_REJECT);
    agent_table_free(table);
}

Test(agent_table, bounds_the_entries_and_sweeps_the_lapsed_ones)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    char name[32];
    for (int i = 0; i < AGENT_TABLE_MAX; i++) {
        snprintf(name, sizeof(name), "i%d", i);
        struct agent_health health = health_of("a", name);
        cr_assert_eq(put_at(table, &health, 0), ERROR_OK);
    }
    struct agent_health late = health_of("a", "late");
    cr_assert_eq(put_at(table, &late, 5999), ERROR_REJECT);
    cr_assert_eq(agent_table_count(table), AGENT_TABLE_MAX);
    cr_assert_eq(put_at(table, &late, 6000), ERROR_OK);
    cr_assert_eq(agent_table_count(table), 1);
    agent_table_free(table);
}

/* ---- on a topic ---- */

struct stage {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct codec *codec;
    struct service_context service;
    struct cluster *cluster;
    struct agent_table *table;
    struct seen seen;
};

static void settle(struct stage *stage)
{
    site_settle(stage->kafka, stage->service.loop);
}

static void on_ready(void *ctx)
{
    struct stage *stage = ctx;
    stage->table = agent_table_follow(stage->cluster, &ops, &stage->seen);
}

static void append(struct stage *stage, const struct agent_health *health, bool tombstone)
{
    char bytes[256];
    int size = snprintf(bytes, sizeof(bytes), "%.*s/%.*s", TEXT_ARG(health->instance),
                        TEXT_ARG(health->agent));
    struct text key = {bytes, (uint32_t)size};
    if (tombstone)
        broker_memory_append(stage->kafka, "t.agents", 0, key, (struct text){NULL, 0});
    else
        site_append(stage->kafka, stage->codec, "t.agents", 0, key, RECORD_AGENT_HEALTH, health);
}

static struct stage *stage_new(void)
{
    static struct stage stage;
    clock_manual_init(&stage.clock, START_MS);
    stage.kafka = broker_memory_cluster_new(1, &stage.clock.clock);
    SITE_TOPICS(stage.kafka, 1, "t.commands", "t.events", "t.schemas", "t.agents");
    stage.codec = codec_new();
    stage.service =
        (struct service_context){.name = "test", .instance_id = "t1", .clock = &stage.clock.clock};
    simulated_service_open(&stage.service, "t", NULL);
    log_set_level(LOG_LEVEL_ERROR);
    return &stage;
}

static void stage_open(struct stage *stage)
{
    stage->cluster = site_open_cluster(&stage->service, broker_memory_new(stage->kafka, "t1"), 0,
                                       on_ready, stage);
    settle(stage);
}

static void stage_free(struct stage *stage)
{
    agent_table_free(stage->table);
    cluster_close(stage->cluster);
    simulated_service_close(&stage->service);
    codec_free(stage->codec);
    broker_memory_cluster_free(stage->kafka);
}

static void advance(struct stage *stage, int64_t ms)
{
    clock_manual_advance(&stage->clock, ms);
    settle(stage);
}

Test(agent_table, follows_the_topic)
{
    struct stage *stage = stage_new();
    struct agent_health dead = health_of("a", "dead");
    struct agent_health alive = health_of("a", "alive");
    struct agent_health stopped = health_of("a", "stopped");
    append(stage, &dead, false);
    append(stage, &stopped, false);
    clock_manual_advance(&stage->clock, 5000);
    append(stage, &stopped, true);
    append(stage, &alive, false);
    clock_manual_advance(&stage->clock, 1000);
    stage_open(stage);
    cr_assert(agent_table_is_complete(stage->table));
    cr_assert_eq(agent_table_count(stage->table), 1);
    cr_assert_str_eq(agent_table_find(stage->table, TEXT("a"))->entries->instance, "alive");
    cr_assert_eq(stage->seen.changed, 1);
    cr_assert_eq(stage->seen.lapsed, 0, "those that vanished earlier were never reported");
    /* It beats on, and then no more. */
    for (int i = 0; i < 10; i++) {
        advance(stage, 2000);
        append(stage, &alive, false);
        settle(stage);
    }
    cr_assert_eq(agent_table_count(stage->table), 1);
    advance(stage, 5999);
    cr_assert_eq(agent_table_count(stage->table), 1);
    advance(stage, 1);
    cr_assert_eq(agent_table_count(stage->table), 0);
    cr_assert_eq(stage->seen.lapsed, 1);
    stage_free(stage);
}

/* The cleaner has to learn of an instance that vanished while it did not look, but not of one
 * that has a later record. */
Test(agent_table, reports_outdated_records_of_the_topic_once_it_is_read_to_its_end)
{
    struct stage *stage = stage_new();
    struct agent_health dead = health_of("a", "dead");
    struct agent_health revived = health_of("a", "revived");
    struct agent_health stopped = health_of("a", "stopped");
    append(stage, &dead, false);
    append(stage, &revived, false);
    append(stage, &stopped, false);
    clock_manual_advance(&stage->clock, 6000);
    append(stage, &stopped, true);
    append(stage, &revived, false);
    stage_open(stage);
    advance(stage, 1);
    cr_assert_eq(stage->seen.outdated, 1);
    cr_assert_str_eq(stage->seen.last_outdated, "dead/a");
    cr_assert_eq(agent_table_count(stage->table), 1);
    cr_assert_eq(stage->seen.lapsed + stage->seen.removed, 0, "it was never there");
    /* A record that comes late, such as after a pause of this process. */
    append(stage, &dead, false);
    clock_manual_advance(&stage->clock, 5999);
    append(stage, &revived, false);
    clock_manual_advance(&stage->clock, 1);
    settle(stage);
    advance(stage, 1);
    cr_assert_eq(stage->seen.outdated, 2);
    cr_assert_eq(agent_table_count(stage->table), 1);
    stage_free(stage);
}

Test(agent_table, takes_no_record_that_it_just_read_for_outdated)
{
    struct stage *stage = stage_new();
    struct agent_health health = health_of("a", "alive");
    stage_open(stage);
    append(stage, &health, false);
    stage->clock.now_wall_ms += 6000; /* the clock is ahead; nothing has passed */
    settle(stage);
    advance(stage, 1);
    cr_assert_eq(agent_table_count(stage->table), 1);
    cr_assert_eq(stage->seen.outdated, 0);
    stage_free(stage);
}

Test(agent_table, forgets_outdated_records_with_the_table)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_health dead = health_of("a", "dead");
    struct error error;
    cr_assert_eq(
        agent_table_put(table, TEXT("dead/a"), &dead, START_MS, START_MS + 6000, 6000, &error),
        ERROR_OK);
    agent_table_free(table);
    cr_assert_eq(seen.outdated, 0);
}

/* A reader that begins again, as after its topic was away, meets them all again. */
Test(agent_table, does_not_call_gone_what_vanished_long_ago)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_health dead = health_of("a", "dead");
    struct error error;
    for (int64_t at = 0; at < 10; at++) {
        cr_assert_eq(agent_table_put(table, TEXT("dead/a"), &dead, START_MS + at,
                                     START_MS + 6000 + at, 6000, &error),
                     ERROR_OK);
        agent_table_sweep(table, 6000);
    }
    cr_assert_eq(agent_table_count(table), 0);
    cr_assert_eq(seen.changed + seen.lapsed + seen.removed, 0);
    agent_table_free(table);
}

Test(agent_table, takes_only_a_time_from_the_future_for_a_wrong_clock)
{
    struct agent_health health = health_of("a", "i");
    cr_assert_not(agent_table_clock_is_ahead(&health, START_MS, 1000));
    cr_assert_not(agent_table_clock_is_ahead(&health, START_MS + 3600000, 1000), "it waited");
    cr_assert_not(agent_table_clock_is_ahead(&health, START_MS - 1000, 1000));
    cr_assert(agent_table_clock_is_ahead(&health, START_MS - 1001, 1000));
    health.reported_at = INT64_MAX;
    cr_assert(agent_table_clock_is_ahead(&health, -1, 1000));
    health.reported_at = INT64_MIN;
    cr_assert_not(agent_table_clock_is_ahead(&health, 1, 1000));
}

Test(agent_table, ignores_garbage_on_the_topic)
{
    struct stage *stage = stage_new();
    struct agent_health fine = health_of("a", "i");
    stage_open(stage);
    broker_memory_append(stage->kafka, "t.agents", 0, TEXT("i/a"), TEXT("garbage"));
    broker_memory_append(stage->kafka, "t.agents", 0, TEXT(""), TEXT(""));
    append(stage, &fine, false);
    settle(stage);
    cr_assert_eq(agent_table_count(stage->table), 1);
    stage_free(stage);
}

/* ---- pauses ---- */

static struct agent_pause pause_of(const char *agent, bool paused)
{
    return (struct agent_pause){text_of(agent), paused, TEXT("ann"), TEXT("the bank is down"),
                                START_MS};
}

static enum error_class put_pause(struct agent_table *table, const char *key,
                                  const struct agent_pause *pause)
{
    struct error error;
    enum error_class class = agent_table_put_pause(table, text_of(key), pause, &error);
    cr_assert(class == ERROR_OK || error.code == CODE_BAD_PAUSE);
    return class;
}

Test(agent_table, remembers_who_paused_an_agent_until_it_is_resumed)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_pause bank = pause_of("bank", true);
    struct agent_pause resumed = pause_of("bank", false);
    struct agent_pause atm = pause_of("atm", true);
    char key[AGENT_PAUSE_KEY_SIZE];
    cr_assert(text_equal(agent_pause_key(TEXT("bank"), key), TEXT("pause:bank")));
    cr_assert_null(agent_table_pause(table, TEXT("bank")));
    cr_assert_eq(put_pause(table, "pause:bank", &bank), ERROR_OK);
    cr_assert_eq(put_pause(table, "pause:atm", &atm), ERROR_OK);
    const struct agent_pause_entry *pause = agent_table_pause(table, TEXT("bank"));
    cr_assert_str_eq(pause->by, "ann");
    cr_assert_str_eq(pause->reason, "the bank is down");
    cr_assert_eq(pause->at, START_MS);
    cr_assert_str_eq(agent_table_pauses(table)->agent, "atm");
    cr_assert_eq(agent_table_pauses(table)->next, pause);
    cr_assert_eq(agent_table_pause_count(table), 2);
    cr_assert_null(agent_table_find(table, TEXT("bank")), "it needs no instance");
    bank.by = TEXT("bob");
    cr_assert_eq(put_pause(table, "pause:bank", &bank), ERROR_OK);
    cr_assert_str_eq(agent_table_pause(table, TEXT("bank"))->by, "bob");
    cr_assert_eq(seen.paused, 3);
    cr_assert_eq(put_pause(table, "pause:bank", &resumed), ERROR_OK);
    cr_assert_null(agent_table_pause(table, TEXT("bank")));
    agent_table_remove(table, TEXT("pause:atm"));
    cr_assert_null(agent_table_pauses(table));
    cr_assert_eq(seen.resumed, 2);
    agent_table_free(table);
}

Test(agent_table, keeps_pauses_and_instances_apart)
{
    struct seen seen = {.changed = 0};
    struct agent_table *table = agent_table_new(&ops, &seen);
    struct agent_pause bank = pause_of("bank", true);
    struct agent_health health = health_of("bank", "pause:bank");
    cr_assert_eq(put_pause(table, "pause:bank", &bank), ERROR_OK);
    cr_assert_eq(put_at(table, &health, 0), ERROR_OK);
    agent_table_remove(table, TEXT("pause:bank/bank"));
    cr_assert_eq(seen.removed, 1);
    cr_assert_not_null(agent_table_pause(table, TEXT("bank")));
    agent_table_sweep(table, INT64_MAX);
    cr_assert_not_null(agent_table_pause(table, TEXT("bank")), "it never lapses");
    agent_table_free(table);
}

Test(agent_table, ignores_pauses_under_other_keys)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    struct agent_pause bank = pause_of("bank", true);
    struct agent_pause bad = pause_of("b/d", true);
    struct agent_pause none = pause_of("", true);
    static const char *const keys[] = {"",           "pause:", "pause:bank2",
                                       "pause/bank", "bank",   "Pause:bank"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        cr_expect_eq(put_pause(table, keys[i], &bank), ERROR_REJECT, "%s", keys[i]);
    cr_assert_eq(put_pause(table, "pause:b/d", &bad), ERROR_REJECT);
    cr_assert_eq(put_pause(table, "pause:", &none), ERROR_REJECT);
    cr_assert_eq(agent_table_pause_count(table), 0);
    agent_table_remove(table, TEXT("pause:"));
    agent_table_remove(table, TEXT("pause:unknown"));
    agent_table_free(table);
}

Test(agent_table, keeps_a_pause_whose_texts_cannot_be_shown)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    struct agent_pause bank = pause_of("bank", true);
    static char longest[4 * MESSAGE_BYTES_MAX];
    memset(longest, 'x', sizeof(longest));
    bank.by = TEXT("a\033[2J");
    bank.reason = (struct text){longest, sizeof(longest)};
    bank.at = INT64_MIN;
    cr_assert_eq(put_pause(table, "pause:bank", &bank), ERROR_OK);
    const struct agent_pause_entry *pause = agent_table_pause(table, TEXT("bank"));
    cr_assert_str_eq(pause->by, "?");
    cr_assert_eq(strlen(pause->reason), MESSAGE_BYTES_MAX);
    cr_assert_eq(pause->at, 0);
    agent_table_free(table);
}

Test(agent_table, takes_a_bounded_number_of_pauses)
{
    struct agent_table *table = agent_table_new(NULL, NULL);
    char name[32];
    char key[AGENT_PAUSE_KEY_SIZE];
    for (int i = 0; i <= AGENT_PAUSES_MAX; i++) {
        snprintf(name, sizeof(name), "agent-%d", i);
        struct agent_pause pause = pause_of(name, true);
        agent_pause_key(text_of(name), key);
        cr_assert_eq(put_pause(table, key, &pause), i < AGENT_PAUSES_MAX ? ERROR_OK : ERROR_REJECT);
    }
    struct agent_pause again = pause_of("agent-7", true);
    cr_assert_eq(put_pause(table, "pause:agent-7", &again), ERROR_OK);
    cr_assert_eq(agent_table_pause_count(table), AGENT_PAUSES_MAX);
    agent_table_free(table);
}

static void append_pause(struct stage *stage, const struct agent_pause *pause)
{
    char key[AGENT_PAUSE_KEY_SIZE];
    site_append(stage->kafka, stage->codec, "t.agents", 0, agent_pause_key(pause->agent, key),
                RECORD_AGENT_PAUSE, pause);
}

Test(agent_table, reports_each_pause_once_when_it_is_complete_and_first_of_all)
{
    struct stage *stage = stage_new();
    struct agent_pause bank = pause_of("bank", true);
    struct agent_pause resumed = pause_of("bank", false);
    struct agent_pause atm = pause_of("atm", true);
    struct agent_health health = health_of("atm", "i1");
    append(stage, &health, false);
    append_pause(stage, &bank);
    append_pause(stage, &resumed);
    append_pause(stage, &atm);
    stage_open(stage);
    cr_assert(agent_table_is_complete(stage->table));
    cr_assert_eq(stage->seen.paused, 1);
    cr_assert_eq(stage->seen.resumed, 0);
    cr_assert_str_eq(stage->seen.last, "i1/atm");
    cr_assert_eq(agent_table_offset(stage->table), 3);
    append_pause(stage, &bank);
    settle(stage);
    cr_assert_eq(stage->seen.paused, 2);
    cr_assert_str_eq(stage->seen.last, "bank by ann");
    cr_assert_eq(agent_table_offset(stage->table), 4);
    stage_free(stage);
}
