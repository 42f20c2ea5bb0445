/* SPDX-License-Identifier: Apache-2.0 */
/* See health.h. */
#include "services/agent/health/health_report.h"

#include "platform/logger.h"
#include "services/agent/health/breaker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REEVE_VERSION
#define REEVE_VERSION "unknown"
#endif

enum { LOAD_PARTS = 8 /* of the capacity: a load that differs by one of them is told */ };

struct past_call {
    int64_t ended_ms;
    int64_t took_us;
    bool ill;
};

struct agent_health_report {
    struct agent *agent;
    char key[WHO_BYTES_MAX + 1 + NAME_BYTES_MAX + 1];
    bool started;
    bool stopped;
    bool told;    /* there is a record of ours */
    bool waiting; /* for the broker to take one */
    int64_t sent_ms;
    uint32_t told_load;
    uint32_t load_step; /* so much of a difference is told */
    uint32_t capacity;
    int64_t heartbeat_ms;
    struct past_call calls[HEALTH_CALLS]; /* a ring */
    uint64_t call_count;
    char last_error[HEALTH_ERROR_BYTES + 1];
    struct loop_timer timer;
};

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata);

static int64_t now_ms(const struct agent_health_report *health)
{
    return clock_mono_ms(health->agent->service->clock);
}

struct agent_health_report *health_new(struct agent *agent)
{
    struct agent_health_report *health = calloc(1, sizeof(*health));
    const struct service_context *service = agent->service;
    assert(health != NULL);
    health->agent = agent;
    health->capacity = agent_capacity(agent);
    health->load_step = health->capacity / LOAD_PARTS > 1 ? health->capacity / LOAD_PARTS : 1;
    health->heartbeat_ms = config_ms(service->config, "agent.heartbeat.ms");
    snprintf(health->key, sizeof(health->key), "%s/%s", service->instance_id, agent->name);
    loop_timer_init(&health->timer, on_timer, health);
    return health;
}

void health_free(struct agent_health_report *health)
{
    if (health == NULL)
        return;
    loop_timer_cancel(health->agent->service->loop, &health->timer);
    free(health);
}

/* ---- what is told ---- */

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

static void look_at_calls(const struct agent_health_report *health, struct agent_health *record)
{
    int64_t times[HEALTH_CALLS];
    int64_t oldest = now_ms(health) - HEALTH_CALLS_MS;
    uint64_t kept = health->call_count < HEALTH_CALLS ? health->call_count : HEALTH_CALLS;
    size_t count = 0;
    size_t ill = 0;
    for (uint64_t i = 0; i < kept; i++) {
        const struct past_call *call = &health->calls[i];
        if (call->ended_ms < oldest)
            continue;
        times[count++] = call->took_us;
        ill += call->ill;
    }
    if (count == 0)
        return;
    qsort(times, count, sizeof(times[0]), compare_times);
    record->latency_p50_ms = rank_ms(times, count, 50);
    record->latency_p95_ms = rank_ms(times, count, 95);
    record->errors_permille = (uint32_t)(ill * 1000 / count);
}

static struct agent_health record_of(const struct agent_health_report *health)
{
    const struct agent *agent = health->agent;
    uint32_t limit = breaker_limit(agent->breaker);
    struct agent_health record = {
        .agent = text_of(agent->name),
        .instance = text_of(agent->service->instance_id),
        .capacity = limit < health->capacity ? limit : health->capacity,
        /* Also between two tries, and being reported: they hold their places. */
        .in_flight = attempts_in_hand(agent->attempts),
        .queued = intake_queued(agent->intake),
        .partitions = intake_partitions(agent->intake),
        .circuit = text_of(agent_circuit_name(breaker_state(agent->breaker))),
        .version = TEXT(REEVE_VERSION),
        .last_error = text_of(health->last_error),
        .heartbeat_ms = health->heartbeat_ms,
        .reported_at = clock_wall_ms(agent->service->clock),
    };
    look_at_calls(health, &record);
    return record;
}

/* ---- sending ---- */

/* Nothing is sent before `due_ms`, nor HEALTH_GAP_MS after the last. */
static void send_at(struct agent_health_report *health, int64_t due_ms)
{
    int64_t earliest = health->sent_ms + HEALTH_GAP_MS;
    if (!health->started || health->stopped)
        return;
    if (due_ms < earliest)
        due_ms = earliest;
    if (!loop_timer_armed(&health->timer) || due_ms < health->timer.due_ms)
        loop_timer_set(health->agent->service->loop, &health->timer, due_ms);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct agent_health_report *health = ctx;
    (void)token;
    (void)offset;
    health->waiting = false;
    if (error != NULL && error_is(error))
        log_warning_limited("a health record was not delivered",
                            LOG_STR("topic", health->agent->cluster->topics.agents),
                            LOG_ERR(error));
}

static void send(struct agent_health_report *health)
{
    struct cluster *cluster = health->agent->cluster;
    struct agent_health record = record_of(health);
    struct error error;
    health->told_load = record.in_flight;
    health->waiting = true;
    health->told = true;
    if (cluster_append(cluster, BROKER_PRODUCER_EFFECTS, cluster->topics.agents, 0,
                       text_of(health->key), RECORD_AGENT_HEALTH, &record, on_appended, health, 0,
                       &error) != ERROR_OK)
        health->waiting = false; /* the queue to the brokers is full: at the next beat */
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_health_report *health = userdata;
    health->sent_ms = now_ms(health);
    if (health->waiting) { /* the brokers are away */
        loop_timer_after(loop, timer, HEALTH_GAP_MS);
        return;
    }
    send(health);
    loop_timer_after(loop, timer, health->heartbeat_ms);
}

void health_start(struct agent_health_report *health)
{
    health->started = true;
    health_now(health);
}

static void on_tombstone(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    if (error != NULL && error_is(error))
        log_warning_limited("that this agent stops was not delivered: its record lapses",
                            LOG_ERR(error));
}

/* Appended behind the last record, to the same partition by the same producer: it stays behind. */
void health_stop(struct agent_health_report *health)
{
    struct cluster *cluster = health->agent->cluster;
    struct error error;
    if (health->stopped)
        return;
    health->stopped = true;
    loop_timer_cancel(health->agent->service->loop, &health->timer);
    if (!health->told)
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

/* ---- what happens ---- */

static void keep_error(struct agent_health_report *health, struct text why)
{
    struct text fit = {why.data, why.size < HEALTH_ERROR_BYTES ? why.size : HEALTH_ERROR_BYTES};
    while (fit.size < why.size && fit.size > 0 && ((uint8_t)fit.data[fit.size] & 0xc0) == 0x80)
        fit.size--; /* between characters */
    snprintf(health->last_error, sizeof(health->last_error), "%.*s", TEXT_ARG(fit));
}

void health_call_ended(struct agent_health_report *health, int64_t took_us, bool ill,
                       struct text why)
{
    struct past_call *call = &health->calls[health->call_count++ % HEALTH_CALLS];
    *call = (struct past_call){
        .ended_ms = loop_now_ms(health->agent->service->loop), .took_us = took_us, .ill = ill};
    if (ill)
        keep_error(health, why);
    health_load(health);
}

void health_load(struct agent_health_report *health)
{
    uint32_t load = attempts_in_hand(health->agent->attempts);
    uint32_t differs =
        load > health->told_load ? load - health->told_load : health->told_load - load;
    if (differs >= health->load_step)
        send_at(health, health->sent_ms + HEALTH_LOAD_MS);
}

void health_error(struct agent_health_report *health, struct text why)
{
    keep_error(health, why);
    health_now(health);
}

void health_now(struct agent_health_report *health)
{
    send_at(health, now_ms(health));
}

void health_soon(struct agent_health_report *health)
{
    send_at(health, now_ms(health) + HEALTH_GAP_MS);
}
