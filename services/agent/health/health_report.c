/* SPDX-License-Identifier: Apache-2.0 */
/* See health_report.h. */
#include "services/agent/health/health_report.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REEVE_VERSION
#define REEVE_VERSION "unknown"
#endif

enum { LOAD_STEPS = 8 /* of the capacity: a load that differs by one of them is reported */ };

struct past_call {
    int64_t ended_ms;
    int64_t took_us;
    bool unhealthy;
};

struct health_report {
    struct service_context *service;
    struct cluster *cluster;
    const char *agent; /* its name */
    const struct health_report_ops *ops;
    void *ctx;
    char key[WHO_BYTES_MAX + 1 + NAME_BYTES_MAX + 1];
    bool started;
    bool stopped;
    bool reported; /* the topic has a record of this agent */
    bool waiting;  /* for the broker's acknowledgement */
    int64_t sent_ms;
    int64_t record_sent_us;
    uint32_t reported_load;
    uint32_t load_step; /* a difference of this size is reported */
    int64_t heartbeat_ms;
    struct past_call calls[HEALTH_CALLS]; /* a ring */
    uint64_t call_count;
    char last_error[HEALTH_ERROR_BYTES + 1];
    struct loop_timer timer;
};

static void on_timer(void *ctx);

static int64_t now_ms(const struct health_report *health)
{
    return clock_mono_ms(health->service->clock);
}

struct health_report *health_report_new(struct cluster *cluster, const char *agent,
                                        uint32_t capacity, const struct health_report_ops *ops,
                                        void *ctx)
{
    struct health_report *health = calloc(1, sizeof(*health));
    assert(health != NULL);
    health->service = cluster->service;
    health->cluster = cluster;
    health->agent = agent;
    health->ops = ops;
    health->ctx = ctx;
    health->load_step = capacity / LOAD_STEPS > 1 ? capacity / LOAD_STEPS : 1;
    health->heartbeat_ms = config_ms(health->service->config, "agent.heartbeat.ms");
    snprintf(health->key, sizeof(health->key), "%s/%s", health->service->instance_id, agent);
    loop_timer_init(&health->timer, on_timer, health);
    return health;
}

void health_report_free(struct health_report *health)
{
    if (health == NULL)
        return;
    loop_timer_cancel(health->service->loop, &health->timer);
    free(health);
}

/* ---- the record ---- */

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int64_t rank_ms(const int64_t *sorted_us, size_t count, size_t percent)
{
    return (sorted_us[(count - 1) * percent / 100] + 500) / 1000;
}

static void summarize_calls(const struct health_report *health, struct agent_health *record)
{
    int64_t times[HEALTH_CALLS];
    int64_t oldest = now_ms(health) - HEALTH_CALLS_MS;
    uint64_t kept = health->call_count < HEALTH_CALLS ? health->call_count : HEALTH_CALLS;
    size_t count = 0;
    size_t unhealthy = 0;
    for (uint64_t i = 0; i < kept; i++) {
        const struct past_call *call = &health->calls[i];
        if (call->ended_ms < oldest)
            continue;
        times[count++] = call->took_us;
        unhealthy += call->unhealthy;
    }
    if (count == 0)
        return;
    qsort(times, count, sizeof(times[0]), compare_times);
    record->latency_p50_ms = rank_ms(times, count, 50);
    record->latency_p95_ms = rank_ms(times, count, 95);
    record->errors_permille = (uint32_t)(unhealthy * 1000 / count);
}

static struct agent_health record_of(const struct health_report *health)
{
    struct agent_health record = {
        .agent = text_of(health->agent),
        .instance = text_of(health->service->instance_id),
        .version = TEXT(REEVE_VERSION),
        .last_error = text_of(health->last_error),
        .heartbeat_ms = health->heartbeat_ms,
        .reported_at = clock_wall_ms(health->service->clock),
    };
    health->ops->describe(health->ctx, &record);
    summarize_calls(health, &record);
    return record;
}

/* ---- sending ---- */

/* Nothing is sent before `due_ms`, nor HEALTH_GAP_MS after the last. */
static void send_at(struct health_report *health, int64_t due_ms)
{
    int64_t earliest = health->sent_ms + HEALTH_GAP_MS;
    if (!health->started || health->stopped)
        return;
    assert(health->sent_ms <= now_ms(health));
    if (due_ms < earliest)
        due_ms = earliest;
    if (!loop_timer_armed(&health->timer) || due_ms < health->timer.due_ms)
        loop_timer_set(health->service->loop, &health->timer, due_ms);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct health_report *health = ctx;
    (void)token;
    (void)offset;
    assert(health->waiting);
    health->waiting = false;
    if (!health->stopped)
        health->ops->answered(health->ctx, health->record_sent_us,
                              broker_appended_at(health->cluster->broker));
    if (error != NULL && error_is(error))
        log_warning_limited("a health record was not delivered",
                            LOG_STR("topic", health->cluster->topics.agents), LOG_ERR(error));
}

static void send(struct health_report *health)
{
    struct cluster *cluster = health->cluster;
    struct agent_health record = record_of(health);
    struct error error;
    assert(!health->waiting && !health->stopped);
    health->reported_load = record.in_flight;
    health->waiting = true;
    health->reported = true;
    health->record_sent_us = clock_mono_us(health->service->clock);
    if (cluster_append(cluster, BROKER_PRODUCER_EFFECTS, cluster->topics.agents, 0,
                       text_of(health->key), RECORD_AGENT_HEALTH, &record, on_appended, health, 0,
                       &error) != ERROR_OK)
        health->waiting = false; /* the queue to the brokers is full: at the next heartbeat */
}

static void on_timer(void *ctx)
{
    struct health_report *health = ctx;
    struct loop *loop = health->service->loop;
    health->sent_ms = now_ms(health);
    if (health->waiting) { /* the brokers are away */
        loop_timer_after(loop, &health->timer, HEALTH_GAP_MS);
        return;
    }
    send(health);
    loop_timer_after(loop, &health->timer, health->heartbeat_ms);
}

void health_report_start(struct health_report *health)
{
    assert(!health->started);
    health->started = true;
    health_report_now(health);
}

static void on_tombstone(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    if (error != NULL && error_is(error))
        log_warning_limited(
            "the tombstone of this agent's health record was not delivered: the record expires",
            LOG_ERR(error));
}

/* Appended after the last record, by the same producer to the same partition: it stays last. */
void health_report_stop(struct health_report *health)
{
    struct cluster *cluster = health->cluster;
    struct error error;
    if (health->stopped)
        return;
    health->stopped = true;
    loop_timer_cancel(health->service->loop, &health->timer);
    if (!health->reported)
        return;
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = cluster->topics.agents,
                                   .partition = 0,
                                   .key = text_of(health->key),
                                   .value = {NULL, 0},
                                   .done = on_tombstone};
    if (broker_append(cluster->broker, &append, &error) != ERROR_OK)
        on_tombstone(NULL, 0, -1, &error);
}

/* ---- events ---- */

static void keep_error(struct health_report *health, struct text why)
{
    struct text fit = {why.data, why.size < HEALTH_ERROR_BYTES ? why.size : HEALTH_ERROR_BYTES};
    while (fit.size < why.size && fit.size > 0 && ((uint8_t)fit.data[fit.size] & 0xc0) == 0x80)
        fit.size--; /* between characters */
    snprintf(health->last_error, sizeof(health->last_error), "%.*s", TEXT_ARG(fit));
}

void health_report_call_ended(struct health_report *health, int64_t took_us, bool unhealthy,
                              struct text why)
{
    struct past_call *call = &health->calls[health->call_count++ % HEALTH_CALLS];
    *call = (struct past_call){
        .ended_ms = loop_now_ms(health->service->loop), .took_us = took_us, .unhealthy = unhealthy};
    if (unhealthy)
        keep_error(health, why);
}

void health_report_load(struct health_report *health, uint32_t in_flight)
{
    uint32_t reported = health->reported_load;
    uint32_t differs = in_flight > reported ? in_flight - reported : reported - in_flight;
    if (differs >= health->load_step)
        send_at(health, health->sent_ms + HEALTH_LOAD_MS);
}

void health_report_error(struct health_report *health, struct text why)
{
    keep_error(health, why);
    health_report_now(health);
}

void health_report_now(struct health_report *health)
{
    send_at(health, now_ms(health));
}

void health_report_soon(struct health_report *health)
{
    send_at(health, now_ms(health) + HEALTH_GAP_MS);
}
