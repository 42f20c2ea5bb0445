/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's phases, its membership, its clock, and how it drains. See core.h. */
#include "base/names.h"
#include "platform/logger.h"
#include "replica/service/order_traces.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/core/agent_internal.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/health/breaker.h"
#include "services/agent/health/health_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOPIC_AGAIN_MS = 2000,
    TOPIC_ANSWER_MS = 1000,
    CLOCK_WAIT_MS = 10000,   /* for the first measurement; then calls begin without it */
    TRY_MS_MIN = 10,         /* with less time left no further try begins */
    IDLE_STEPS_MAX = 1 << 16 /* remembered after their attempts have ended */
};

static const char *const phase_names[] = {"starting",     "no topic", "working", "clock off",
                                          "circuit open", "draining", "leaving", "left"};
_Static_assert(sizeof(phase_names) / sizeof(phase_names[0]) == AGENT_PHASE_COUNT,
               "every phase has a name");

static const char *phase_name(enum agent_phase phase)
{
    return (unsigned)phase < AGENT_PHASE_COUNT ? phase_names[phase] : "?";
}

/* clang-format off */
static const bool transitions[AGENT_PHASE_COUNT][AGENT_PHASE_COUNT] = {
    [AGENT_PHASE_STARTING] = {[AGENT_PHASE_NO_TOPIC] = true, [AGENT_PHASE_WORKING] = true,
                              [AGENT_PHASE_CLOCK_OFF] = true, [AGENT_PHASE_DRAINING] = true},
    [AGENT_PHASE_NO_TOPIC] = {[AGENT_PHASE_NO_TOPIC] = true, [AGENT_PHASE_WORKING] = true,
                              [AGENT_PHASE_CLOCK_OFF] = true, [AGENT_PHASE_DRAINING] = true},
    [AGENT_PHASE_WORKING] = {[AGENT_PHASE_CLOCK_OFF] = true, [AGENT_PHASE_CIRCUIT_OPEN] = true,
                             [AGENT_PHASE_DRAINING] = true},
    [AGENT_PHASE_CLOCK_OFF] = {[AGENT_PHASE_WORKING] = true, [AGENT_PHASE_CIRCUIT_OPEN] = true,
                               [AGENT_PHASE_DRAINING] = true},
    [AGENT_PHASE_CIRCUIT_OPEN] = {[AGENT_PHASE_WORKING] = true, [AGENT_PHASE_CLOCK_OFF] = true,
                                  [AGENT_PHASE_DRAINING] = true},
    [AGENT_PHASE_DRAINING] = {[AGENT_PHASE_LEAVING] = true},
    [AGENT_PHASE_LEAVING] = {[AGENT_PHASE_LEFT] = true},
};
/* clang-format on */

static void enter(struct agent *agent, enum agent_phase phase)
{
    assert(transitions[agent->phase][phase]);
    agent->phase = phase;
}

/* ---- accessors ---- */

const char *agent_name(const struct agent *agent)
{
    return agent->name;
}

struct cluster *agent_cluster(const struct agent *agent)
{
    return agent->cluster;
}

struct broker_group *agent_group(const struct agent *agent)
{
    return agent->group;
}

const struct attempts *agent_attempts(const struct agent *agent)
{
    return agent->attempts;
}

struct agent_breaker *agent_breaker(const struct agent *agent)
{
    return agent->breaker;
}

enum agent_phase agent_phase(const struct agent *agent)
{
    return agent->phase;
}

uint32_t agent_capacity(const struct agent *agent)
{
    const struct config *config = agent->service->config;
    if (agent->ops->capacity > 0 && !config_is_set(config, "agent.in.flight.max"))
        return agent->ops->capacity;
    return (uint32_t)config_int(config, "agent.in.flight.max");
}

/* ---- membership ---- */

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct agent *agent = ctx;
    assert(agent->group != NULL);
    log_info("partitions assigned", LOG_STR("topic", agent->topic), LOG_U64("count", count));
    if (agent->phase == AGENT_PHASE_CIRCUIT_OPEN)
        return; /* it is leaving */
    agent->assigned = true;
    attempts_own(agent->attempts, partitions, count);
    agent_intake_assign(agent->intake, partitions, count);
    health_report_now(agent->health);
}

static void on_revoked(void *ctx, bool lost)
{
    struct agent *agent = ctx;
    assert(agent->group != NULL);
    log_info("partitions revoked", LOG_STR("topic", agent->topic), LOG_BOOL("lost", lost));
    attempts_revoke(agent->attempts);
    agent_intake_revoke(agent->intake, lost);
    health_report_soon(agent->health);
}

static void on_group_error(void *ctx, const struct error *error)
{
    struct agent *agent = ctx;
    if (error->class != ERROR_RETRY)
        service_fail(agent->cluster->service, error);
    else
        log_warning_limited("consumer group", LOG_STR("group", agent->group_name), LOG_ERR(error));
}

static const struct broker_group_ops group_ops = {on_assigned, on_revoked, on_group_error};

/* ---- the clock ---- */

bool agent_clock_is_measured(const struct agent *agent)
{
    return agent->clock_measured;
}

static void stop_for_clock(struct agent *agent)
{
    enter(agent, AGENT_PHASE_CLOCK_OFF);
    log_error("this machine's clock differs too much from the brokers' append times: no requests "
              "are read until it is right",
              LOG_I64("skew_ms", agent->clock_guard.skew_ms),
              LOG_I64("limit_ms", agent->clock_guard.margin_ms / 2));
}

/* Joins the group, or later if the circuit is open or the clock is off. */
static void join(struct agent *agent)
{
    assert(agent->group == NULL);
    if (agent_breaker_state(agent->breaker) == AGENT_CIRCUIT_OPEN) {
        enter(agent, AGENT_PHASE_CIRCUIT_OPEN);
        return;
    }
    if (agent->clock_guard.bad) {
        stop_for_clock(agent);
        return;
    }
    enter(agent, AGENT_PHASE_WORKING);
    agent->assigned = false;
    if (!agent_clock_is_measured(agent))
        loop_timer_after(agent->service->loop, &agent->timer, CLOCK_WAIT_MS);
    log_info("joining", LOG_STR("group", agent->group_name), LOG_STR("topic", agent->topic));
    agent->group =
        broker_join(agent->cluster->broker, agent->group_name, agent->topic, &group_ops, agent);
}

static void leave(struct agent *agent, void (*left)(void *ctx))
{
    struct broker_group *group = agent->group;
    assert(group != NULL);
    agent_intake_close(agent->intake);
    attempts_own(agent->attempts, NULL, 0);
    agent->group = NULL;
    broker_leave(group, left, agent);
    health_report_now(agent->health);
}

static void ignore_left(void *ctx)
{
    (void)ctx;
}

static void commit_and_leave(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->group == NULL)
        return;
    agent_intake_commit(agent->intake);
    leave(agent, ignore_left);
}

static void begin_calls(struct agent *agent)
{
    agent->clock_measured = true;
    agent_intake_continue(agent->intake);
}

/* Leaves the group when this shows that the clock is off, and joins it again when it is right. */
static void measure_clock(void *ctx, int64_t sent_us, int64_t appended_at)
{
    struct agent *agent = ctx;
    struct clock_guard *guard = &agent->clock_guard;
    clock_guard_measure(guard, agent->service->clock, sent_us, appended_at);
    if (guard->bad && agent->phase == AGENT_PHASE_WORKING) {
        loop_timer_cancel(agent->service->loop, &agent->timer);
        stop_for_clock(agent);
        commit_and_leave(agent);
    } else if (!guard->bad && agent->phase == AGENT_PHASE_CLOCK_OFF) {
        log_info("this machine's clock is right again");
        join(agent);
    }
    if (!agent->clock_measured)
        begin_calls(agent);
}

/* ---- the health report ---- */

static void describe(void *ctx, struct agent_health *record)
{
    const struct agent *agent = ctx;
    uint32_t capacity = agent_capacity(agent);
    uint32_t limit = agent_breaker_limit(agent->breaker);
    record->capacity = limit < capacity ? limit : capacity;
    /* Including those between two tries or being reported: they take up capacity. */
    record->in_flight = attempts_in_flight(agent->attempts);
    record->queued = agent_queued(agent);
    record->partitions = agent_intake_partitions(agent->intake);
    record->circuit = text_of(agent_circuit_name(agent_breaker_state(agent->breaker)));
}

static const struct health_report_ops health_ops = {describe, measure_clock};

/* ---- the circuit ---- */

static bool halt(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase != AGENT_PHASE_WORKING)
        return false;
    enter(agent, AGENT_PHASE_CIRCUIT_OPEN);
    agent_intake_halt(agent->intake);
    attempts_drain(agent->attempts);
    agent_intake_commit(agent->intake);
    health_report_now(agent->health);
    return true;
}

static bool commit_all(void *ctx)
{
    struct agent *agent = ctx;
    if (attempts_in_flight(agent->attempts) > 0)
        return false;
    agent_intake_commit(agent->intake);
    return agent_intake_idle(agent->intake);
}

static void resume(void *ctx)
{
    struct agent *agent = ctx;
    assert(agent->phase != AGENT_PHASE_CIRCUIT_OPEN || agent->group == NULL);
    assert(agent_breaker_state(agent->breaker) != AGENT_CIRCUIT_OPEN);
    attempts_continue(agent->attempts);
    health_report_now(agent->health);
    if (agent->phase == AGENT_PHASE_CIRCUIT_OPEN)
        join(agent);
}

static const struct agent_breaker_ops breaker_ops = {halt, commit_all, commit_and_leave, resume,
                                                     agent_begin_probe};

/* ---- the topic ---- */

static void check_topic(struct agent *agent)
{
    int32_t count = broker_partition_count(agent->cluster->broker, agent->topic, TOPIC_ANSWER_MS);
    if (count > 0) {
        join(agent);
        return;
    }
    if (agent->phase != AGENT_PHASE_NO_TOPIC)
        log_warning("the topic of this agent's requests does not exist, or this user may not Read "
                    "it: create it with `reeve topics apply`, or grant the right",
                    LOG_STR("topic", agent->topic));
    enter(agent, AGENT_PHASE_NO_TOPIC);
    loop_timer_after(agent->service->loop, &agent->timer, TOPIC_AGAIN_MS);
}

static void on_cluster_ready(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase != AGENT_PHASE_STARTING)
        return;
    health_report_start(agent->health);
    check_topic(agent);
}

static void on_phase_timer(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase == AGENT_PHASE_NO_TOPIC)
        check_topic(agent);
    else if (agent->phase == AGENT_PHASE_WORKING)
        begin_calls(agent);
}

/* ---- draining ---- */

static void on_left(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase != AGENT_PHASE_LEAVING)
        return; /* the service is stopping already */
    enter(agent, AGENT_PHASE_LEFT);
    assert(agent->group == NULL && attempts_in_flight(agent->attempts) == 0);
    agent->drained(agent->drained_ctx);
}

void agent_progress(struct agent *agent)
{
    uint32_t in_flight = attempts_in_flight(agent->attempts);
    agent_breaker_progress(agent->breaker, in_flight);
    health_report_load(agent->health, in_flight);
    if (agent->phase != AGENT_PHASE_DRAINING || in_flight > 0 ||
        !agent_intake_idle(agent->intake) || !agent_callbacks_idle(agent->callbacks))
        return;
    enter(agent, AGENT_PHASE_LEAVING);
    if (agent->group != NULL)
        leave(agent, on_left);
    else
        on_left(agent);
}

void agent_drain(struct agent *agent, void (*drained)(void *ctx), void *ctx)
{
    assert(drained != NULL && agent->drained == NULL);
    enter(agent, AGENT_PHASE_DRAINING);
    agent->drained = drained;
    agent->drained_ctx = ctx;
    loop_timer_cancel(agent->service->loop, &agent->timer);
    agent_breaker_stop(agent->breaker);
    health_report_stop(agent->health);
    agent_intake_drain(agent->intake);
    attempts_drain(agent->attempts);
    log_info("draining", LOG_U64("calls", attempts_running(agent->attempts)),
             LOG_U64("in_flight", attempts_in_flight(agent->attempts)));
    agent_progress(agent);
}

/* ---- new and free ---- */

bool agent_ready(const struct agent *agent, char *ret_reason, size_t reason_size)
{
    if (agent->cluster != NULL && broker_trouble(agent->cluster->broker, ret_reason, reason_size))
        return false;
    switch (agent->phase) {
    case AGENT_PHASE_WORKING:
        if (agent->assigned)
            return agent_intake_ready(agent->intake, ret_reason, reason_size);
        snprintf(ret_reason, reason_size, "joining the group %s", agent->group_name);
        return false;
    case AGENT_PHASE_NO_TOPIC:
        snprintf(ret_reason, reason_size,
                 "topic %s does not exist: create it with `reeve topics apply`", agent->topic);
        return false;
    case AGENT_PHASE_CLOCK_OFF:
        snprintf(ret_reason, reason_size,
                 "this machine's clock is %lld ms off the brokers' append times",
                 (long long)agent->clock_guard.skew_ms);
        return false;
    case AGENT_PHASE_CIRCUIT_OPEN:
        agent_breaker_reason(agent->breaker, ret_reason, reason_size);
        return false;
    case AGENT_PHASE_STARTING:
    case AGENT_PHASE_DRAINING:
    case AGENT_PHASE_LEAVING:
    case AGENT_PHASE_LEFT:
    case AGENT_PHASE_COUNT:
        break;
    }
    snprintf(ret_reason, reason_size, "%s", phase_name(agent->phase));
    return false;
}

enum error_class agent_name_check(const char *name, struct error *ret_error)
{
    if (name[0] == '\0')
        return error_set(
            ret_error, CODE_CONFIG,
            "agent.name (--agent-name) is not set: give the agent's name in workflows");
    if (!name_valid_new(text_of(name)))
        return error_set(ret_error, CODE_CONFIG,
                         "agent.name must be the agent's name in workflows: " NAME_NEW_EXPECTED);
    return ERROR_OK;
}

static enum error_class name_agent(struct agent *agent, struct error *ret_error)
{
    const char *name = config_string(agent->service->config, "agent.name");
    if (name[0] == '\0' && agent->ops->name != NULL)
        name = agent->ops->name;
    enum error_class class = agent_name_check(name, ret_error);
    if (class == ERROR_OK)
        snprintf(agent->name, sizeof(agent->name), "%s", name);
    return class;
}

static void name_topics(struct agent *agent)
{
    const struct topics *topics = &agent->cluster->topics;
    topics_requests(topics, text_of(agent->name), agent->topic);
    int size = snprintf(agent->group_name, sizeof(agent->group_name), "%s.agent.%s", topics->prefix,
                        agent->name);
    assert(size > 0 && (size_t)size < sizeof(agent->group_name)); /* shorter than the topic */
}

static void create_modules(struct agent *agent)
{
    const struct service_context *service = agent->service;
    struct attempts_options options = {
        .clock = service->clock,
        .idle_steps_max = IDLE_STEPS_MAX,
        .backoff_ms = config_ms(service->config, "agent.retry.backoff.ms"),
        .backoff_ms_max = config_ms(service->config, "agent.retry.backoff.max.ms"),
        .try_ms_min = TRY_MS_MIN,
        .seed = (uint64_t)clock_mono_us(service->clock),
    };
    agent->attempts = attempts_new(&options, &agent_attempts_ops, agent);
    agent->metrics = agent_metrics_new(agent);
    agent->reports = agent_reports_new(agent);
    agent->callbacks = agent_callbacks_new(agent);
    agent->intake = agent_intake_new(agent);
    agent->health =
        health_report_new(agent->cluster, agent->name, agent_capacity(agent), &health_ops, agent);
    agent->breaker = agent_breaker_new(service, agent->name, agent->health, &breaker_ops, agent);
    clock_guard_init(&agent->clock_guard, config_ms(service->config, "clock.skew.max.ms"));
}

static enum error_class open_cluster(struct agent *agent, struct broker *broker,
                                     struct error *ret_error)
{
    if (broker != NULL)
        return cluster_open_on(agent->service, broker, 0, on_cluster_ready, agent, &agent->cluster,
                               ret_error);
    return cluster_open(agent->service, 0, on_cluster_ready, agent, &agent->cluster, ret_error);
}

enum error_class agent_new(struct service_context *service, const struct agent_ops *ops,
                           struct broker *broker, struct agent **ret_agent, struct error *ret_error)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    assert(agent != NULL && ops->execute != NULL);
    agent->service = service;
    agent->ops = ops;
    heap_arena_init(&agent->scratch, 16 * 1024);
    loop_timer_init(&agent->timer, on_phase_timer, agent);
    enum error_class class = name_agent(agent, ret_error);
    if (class == ERROR_OK)
        class = order_traces_open(service, &agent->trace_export, ret_error);
    if (class == ERROR_OK && ops->start != NULL)
        class = ops->start(service, &agent->ctx, ret_error);
    agent->started = class == ERROR_OK;
    if (class == ERROR_OK)
        class = open_cluster(agent, broker, ret_error);
    else
        broker_free(broker);
    if (class != ERROR_OK) {
        agent_free(agent);
        return class;
    }
    name_topics(agent);
    class = answer_cache_new(agent->service, agent->name, &agent->answers, ret_error);
    if (class != ERROR_OK) {
        agent_free(agent);
        return class;
    }
    create_modules(agent);
    *ret_agent = agent;
    return ERROR_OK;
}

/* Calls first: none of them may end any more. Then the broker, which still reports appends. Then
 * the attempts and partitions that those refer to. */
void agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    agent->phase = AGENT_PHASE_LEFT; /* from any phase */
    loop_timer_cancel(agent->service->loop, &agent->timer);
    if (agent->started && agent->ops->stop != NULL)
        agent->ops->stop(agent->ctx);
    if (agent->intake != NULL)
        agent_intake_close(agent->intake);
    if (agent->group != NULL)
        broker_leave(agent->group, on_left, agent);
    cluster_close(agent->cluster);
    attempts_free(agent->attempts);
    agent_reports_free(agent->reports);
    agent_intake_free(agent->intake);
    agent_breaker_free(agent->breaker);
    health_report_free(agent->health);
    answer_cache_free(agent->answers);
    agent_callbacks_free(agent->callbacks);
    agent_metrics_free(agent->metrics);
    trace_export_free(agent->trace_export);
    heap_arena_deinit(&agent->scratch);
    free(agent);
}
