/* SPDX-License-Identifier: Apache-2.0 */
/* Follows <p>.agents into a table of agents and pauses; a timer removes what lapses. */
#include "platform/logger.h"
#include "replica/agents/internal.h"

#include <assert.h>

enum { REOPEN_MS = 5000 };

/* The timer is at the next lapse, or earlier. */
static void look_again_at(struct agent_table *table, int64_t due_ms)
{
    if (!loop_timer_armed(&table->timer) || due_ms < table->timer.due_ms)
        loop_timer_set(cluster_loop(table->cluster), &table->timer, due_ms);
}

static void check_clock(struct agent_table *table, const struct broker_record *record,
                        const struct agent_health *health)
{
    int64_t margin = config_ms(table->cluster->service->config, "clock.skew.max.ms");
    if (agent_table_clock_is_ahead(health, record->timestamp, margin))
        log_warning_limited(
            "an agent's clock is ahead of the broker's append time, which counts",
            LOG_TEXT("agent", health->agent), LOG_TEXT("instance", health->instance),
            LOG_I64("reported_at", health->reported_at), LOG_I64("appended_at", record->timestamp));
}

/* Of the past, no record shows when it was read to its end. */
static int64_t age_of(struct agent_table *table, int64_t appended_at)
{
    const struct clock *clock = table->cluster->service->clock;
    int64_t mono_ms = clock_mono_ms(clock);
    if (appended_at - mono_ms > table->brokers_lead_ms)
        table->brokers_lead_ms = appended_at - mono_ms;
    if (table->ops.silence_ms != NULL)
        return table->complete ? 0 : table->ops.silence_ms(table->ctx, appended_at);
    return (table->complete ? table->brokers_lead_ms + mono_ms : clock_wall_ms(clock)) -
           appended_at;
}

static void put(struct agent_table *table, const struct broker_record *record,
                const struct agent_health *health)
{
    struct error error = {.class = ERROR_OK};
    const struct clock *clock = table->cluster->service->clock;
    int64_t now_ms = record->timestamp + age_of(table, record->timestamp);
    if (agent_table_put(table, record->key, health, record->timestamp, now_ms, clock_mono_ms(clock),
                        &error) != ERROR_OK) {
        log_warning_limited("an agent's health record is not plausible: ignored",
                            LOG_TEXT("key", record->key), LOG_STR("topic", record->topic),
                            LOG_I64("partition", record->partition),
                            LOG_I64("offset", record->offset), LOG_ERR(&error));
        return;
    }
    if (!table->complete)
        return;
    const struct agent_entry *entry = agent_table_entry(table, record->key);
    check_clock(table, record, health);
    look_again_at(table, entry != NULL ? entry->lapses_ms : clock_mono_ms(clock));
}

static enum error_class put_decoded(struct agent_table *table, const struct broker_record *record,
                                    const struct record *decoded, struct error *ret_error)
{
    if (decoded->kind == RECORD_AGENT_PAUSE)
        return agent_table_put_pause(table, record->key, &decoded->agent_pause, ret_error);
    if (decoded->kind != RECORD_AGENT_HEALTH)
        return error_set(ret_error, CODE_UNEXPECTED_RECORD,
                         "%s is neither AgentHealth nor AgentPause",
                         record_kind_name(decoded->kind));
    put(table, record, &decoded->agent_health);
    return ERROR_OK;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct agent_table *table = ctx;
    struct record decoded;
    struct error error = {.class = ERROR_OK};
    table->offset = record->offset;
    if (record->value.data == NULL) {
        agent_table_remove(table, record->key);
        return;
    }
    heap_arena_reset(&table->heap);
    enum error_class class = codec_decode(table->cluster->codec, record->value, true,
                                          &table->heap.arena, &decoded, &error);
    if (class == ERROR_OK)
        class = put_decoded(table, record, &decoded, &error);
    if (class == ERROR_OK)
        return;
    log_warning_limited("a record about an agent is not usable: ignored",
                        LOG_TEXT("key", record->key), LOG_STR("topic", record->topic),
                        LOG_I64("partition", record->partition), LOG_I64("offset", record->offset),
                        LOG_ERR(&error));
}

static void sweep(void *ctx)
{
    struct agent_table *table = ctx;
    int64_t next_ms = agent_table_sweep(table, clock_mono_ms(table->cluster->service->clock));
    if (next_ms != INT64_MAX)
        look_again_at(table, next_ms);
}

/* Instances that vanished before we started are outdated, or gone if that was while the topic was
 * being read; the others are reported. */
static void on_end(void *ctx, int64_t next_offset)
{
    struct agent_table *table = ctx;
    const struct agent_group *group;
    const struct agent_entry *entry;
    (void)next_offset;
    if (table->complete)
        return;
    table->complete = true;
    sweep(table);
    agent_table_report_pauses(table); /* before the capacities with which steps start */
    for (group = table->groups; group != NULL && table->ops.changed != NULL; group = group->next)
        for (entry = group->entries; entry != NULL; entry = entry->next)
            table->ops.changed(table->ctx, entry);
}

static const struct topic_reader_ops reader_ops = {.record = on_record, .end = on_end};

struct agent_table *agent_table_follow(struct cluster *cluster, const struct agent_table_ops *ops,
                                       void *ctx)
{
    struct agent_table *table = agent_table_new(ops, ctx);
    table->complete = false;
    table->cluster = cluster;
    table->brokers_lead_ms = INT64_MIN / 2;
    heap_arena_init(&table->heap, 4096);
    loop_timer_init(&table->timer, sweep, table);
    topic_reader_init(&table->reader, cluster, cluster->topics.agents, 0, REOPEN_MS, &reader_ops,
                      table);
    return table;
}

void agent_table_unfollow(struct agent_table *table)
{
    if (table->cluster == NULL)
        return;
    topic_reader_close(&table->reader);
    loop_timer_cancel(cluster_loop(table->cluster), &table->timer);
    heap_arena_deinit(&table->heap);
    table->cluster = NULL;
}
