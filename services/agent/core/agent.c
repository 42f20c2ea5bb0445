/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's phases, its calls, its clock, and how it leaves. See core.h. */
#include "base/names.h"
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/core/core.h"
#include "services/agent/core/sanitize.h"
#include "services/agent/health/breaker.h"
#include "services/agent/health/health_report.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOPIC_AGAIN_MS = 2000,
    TOPIC_ANSWER_MS = 1000,
    CLOCK_AGAIN_MS = 30000,
    TRY_MS_MIN = 10,         /* with less time left no further try begins */
    LANES_IDLE_MAX = 1 << 16 /* orders and steps remembered after their end */
};

static const char *const phase_names[] = {"starting",     "no topic", "working", "clock off",
                                          "circuit open", "draining", "leaving", "left"};
_Static_assert(sizeof(phase_names) / sizeof(phase_names[0]) == AGENT_PHASE_COUNT,
               "every phase has a name");

const char *agent_phase_name(enum agent_phase phase)
{
    return (unsigned)phase < AGENT_PHASE_COUNT ? phase_names[phase] : "?";
}

uint32_t agent_capacity(const struct agent *agent)
{
    const struct config *config = agent->service->config;
    if (agent->ops->capacity > 0 && !config_is_set(config, "agent.in.flight.max"))
        return agent->ops->capacity;
    return (uint32_t)config_int(config, "agent.in.flight.max");
}

/* ---- calls ---- */

_Static_assert(offsetof(struct agent_attempt, call) == 0, "a call is the head of its attempt");

static struct agent *agent_of(const struct agent_attempt *attempt)
{
    return attempts_ctx(attempt->owner);
}

static void on_start(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    FAILPOINT("agent.try");
    breaker_call_began(agent->breaker);
    health_load(agent->health);
    if (attempt->request.ref.direction == DIRECTION_DO) {
        agent->ops->execute(agent->ctx, &attempt->call);
        return;
    }
    if (agent->ops->compensate != NULL) {
        agent->ops->compensate(agent->ctx, &attempt->call);
        return;
    }
    agent_call_fail(&attempt->call,
                    &(struct agent_failure){.name = TEXT("Agent.NoCompensate"),
                                            .message = TEXT("this agent cannot undo anything"),
                                            .effect = EFFECT_NONE});
}

/* `why`: how the service is ill. */
static void call_ended(struct agent *agent, const struct agent_attempt *attempt,
                       enum agent_call_end end, bool ill, struct text why)
{
    int64_t took_us = clock_mono_us(agent->service->clock) - attempt->try_started_us;
    agent_metrics_call(agent->metrics, end, took_us);
    health_call_ended(agent->health, took_us, ill, why);
    breaker_call_ended(agent->breaker, attempt->try_started_us / 1000, ill, why);
    FAILPOINT("agent.called");
}

void agent_call_succeed(struct agent_call *call, struct text output)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    heap_arena_reset(&agent->scratch);
    call_ended(agent, attempt, AGENT_CALL_SUCCEEDED, false, TEXT(""));
    attempts_succeeded(agent->attempts, attempt, agent_output(output, &agent->scratch.arena));
}

void agent_call_fail(struct agent_call *call, const struct agent_failure *failure)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    enum agent_call_end end = failure->retriable ? AGENT_CALL_RETRIABLE : AGENT_CALL_FAILED;
    struct agent_failure fit = *failure;
    heap_arena_reset(&agent->scratch);
    if (!agent_error_name_valid(failure->name))
        fit.name = TEXT("Agent.Error");
    fit.message = agent_message(failure->message, &agent->scratch.arena);
    call_ended(agent, attempt, end, failure->service_ill, fit.message);
    attempts_failed(agent->attempts, attempt, &fit);
    agent_progress(agent); /* it may have ended in silence */
}

static void on_extend_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    if (error != NULL && error_is(error))
        log_warning_limited("a wish for more time was not delivered", LOG_ERR(error));
}

void agent_call_extend(struct agent_call *call, int64_t extra_ms, struct text progress)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    const struct step_request *request = call->request;
    struct error error;
    assert(extra_ms > 0 && extra_ms <= DURATION_MS_MAX);
    heap_arena_reset(&agent->scratch);
    struct extend_step wish = {
        .order_id = request->order_id,
        .step = request->ref.step,
        .direction = request->ref.direction,
        .attempt = request->ref.attempt,
        .complete_by = clock_wall_ms(agent->service->clock) + extra_ms,
        .progress = agent_message(progress, &agent->scratch.arena),
    };
    if (reports_extend(agent, &wish, on_extend_appended, agent, &error) != ERROR_OK)
        log_warning_limited("a wish for more time was not sent",
                            LOG_TEXT("order", request->order_id),
                            LOG_TEXT("step", request->ref.step), LOG_ERR(&error));
}

void agent_call_accept(struct agent_call *call)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    call_ended(agent, attempt, AGENT_CALL_ACCEPTED, false, TEXT(""));
    attempts_accepted(agent->attempts, attempt);
}

struct text agent_call_callback(const struct agent_call *call, struct arena *arena)
{
    const struct agent_attempt *attempt = (const struct agent_attempt *)call;
    return callbacks_url(agent_of(attempt)->callbacks, call->request, arena);
}

static void on_wait_over(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_attempt *attempt = userdata;
    (void)loop;
    (void)timer;
    attempts_resume(attempt->owner, attempt);
}

static void on_wait(void *ctx, struct agent_attempt *attempt, int64_t delay_ms)
{
    struct agent *agent = ctx;
    loop_timer_init(&attempt->timer, on_wait_over, attempt);
    loop_timer_after(agent->service->loop, &attempt->timer, delay_ms);
}

static void on_unwait(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    loop_timer_cancel(agent->service->loop, &attempt->timer);
}

static void on_report(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    reports_send(agent->reports, attempt);
}

static void on_settled(void *ctx, const struct request_origin *origin)
{
    struct agent *agent = ctx;
    intake_settled(agent->intake, origin);
}

static bool on_recall(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    return agent_memory_recall(agent->memory, attempt);
}

static void on_extended(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    if (agent->ops->extended != NULL)
        agent->ops->extended(agent->ctx, &attempt->call);
}

static const struct attempts_ops attempts_ops = {on_start,   on_wait,   on_unwait,  on_report,
                                                 on_settled, on_recall, on_extended};

/* ---- membership ---- */

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct agent *agent = ctx;
    log_info("partitions assigned", LOG_STR("topic", agent->topic), LOG_U64("count", count));
    if (agent->phase == AGENT_SERVICE_ILL)
        return; /* it leaves */
    agent->assigned = true;
    attempts_own(agent->attempts, partitions, count);
    intake_assign(agent->intake, partitions, count);
    health_now(agent->health);
}

static void on_revoked(void *ctx, bool lost)
{
    struct agent *agent = ctx;
    log_info("partitions revoked", LOG_STR("topic", agent->topic), LOG_BOOL("lost", lost));
    attempts_revoke(agent->attempts);
    intake_revoke(agent->intake, lost);
    health_soon(agent->health);
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

void agent_join(struct agent *agent)
{
    if (!breaker_may_join(agent->breaker))
        return;
    agent->phase = AGENT_WORKING;
    agent->assigned = false;
    clock_guard_init(&agent->clock_guard, agent->clock_guard.limit_ms);
    log_info("joining", LOG_STR("group", agent->group_name), LOG_STR("topic", agent->topic));
    agent->group =
        broker_join(agent->cluster->broker, agent->group_name, agent->topic, &group_ops, agent);
}

static void leave(struct agent *agent, void (*left)(void *ctx))
{
    struct broker_group *group = agent->group;
    intake_close(agent->intake);
    attempts_own(agent->attempts, NULL, 0);
    agent->group = NULL;
    broker_leave(group, left, agent);
    health_now(agent->health);
}

/* Nobody waits for that. */
static void on_left_for_now(void *ctx)
{
    (void)ctx;
}

void agent_leave(struct agent *agent)
{
    leave(agent, on_left_for_now);
}

static void look_for_topic(struct agent *agent)
{
    int32_t count = broker_partition_count(agent->cluster->broker, agent->topic, TOPIC_ANSWER_MS);
    if (count > 0) {
        agent_join(agent);
        return;
    }
    agent->phase = AGENT_NO_TOPIC;
    log_warning_limited("the topic of this agent's requests is not there yet: `reeve topics apply` "
                        "makes it; or this user may not Read it",
                        LOG_STR("topic", agent->topic));
    loop_timer_after(agent->service->loop, &agent->timer, TOPIC_AGAIN_MS);
}

static void on_cluster_ready(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase != AGENT_STARTING)
        return;
    health_start(agent->health);
    look_for_topic(agent);
}

/* ---- the clock ---- */

bool agent_clock_is_right(struct agent *agent, int64_t append_time, bool fresh)
{
    struct clock_guard *guard = &agent->clock_guard;
    int64_t now = clock_wall_ms(agent->service->clock);
    if (agent->phase != AGENT_WORKING || !broker_has_append_time(agent->cluster->broker) ||
        (!fresh && append_time <= now))
        return true;
    clock_guard_observe(guard, now, append_time);
    if (!guard->bad)
        return true;
    log_error("this machine's clock differs too much from the broker's append times: not working "
              "until it is right",
              LOG_I64("skew_ms", guard->skew_ms), LOG_I64("limit_ms", guard->limit_ms));
    agent->phase = AGENT_CLOCK_OFF;
    agent_leave(agent);
    loop_timer_after(agent->service->loop, &agent->timer, CLOCK_AGAIN_MS);
    return false;
}

static void on_phase_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent *agent = userdata;
    (void)loop;
    (void)timer;
    if (agent->phase == AGENT_NO_TOPIC)
        look_for_topic(agent);
    else if (agent->phase == AGENT_CLOCK_OFF)
        agent_join(agent);
}

/* ---- leaving ---- */

static void on_left(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->phase != AGENT_LEAVING)
        return; /* the service stops already */
    agent->phase = AGENT_LEFT;
    agent->drained(agent->drained_ctx);
}

void agent_progress(struct agent *agent)
{
    breaker_progress(agent->breaker);
    health_load(agent->health);
    if (agent->phase != AGENT_DRAINING || attempts_in_hand(agent->attempts) > 0 ||
        !intake_idle(agent->intake) || !callbacks_idle(agent->callbacks))
        return;
    agent->phase = AGENT_LEAVING;
    if (agent->group != NULL)
        leave(agent, on_left);
    else
        on_left(agent);
}

void agent_drain(struct agent *agent, void (*drained)(void *ctx), void *ctx)
{
    agent->phase = AGENT_DRAINING;
    agent->drained = drained;
    agent->drained_ctx = ctx;
    loop_timer_cancel(agent->service->loop, &agent->timer);
    breaker_stop(agent->breaker);
    health_stop(agent->health);
    intake_drain(agent->intake);
    attempts_drain(agent->attempts);
    log_info("draining", LOG_U64("calls", attempts_running(agent->attempts)),
             LOG_U64("in_hand", attempts_in_hand(agent->attempts)));
    agent_progress(agent);
}

/* ---- making and freeing ---- */

bool agent_ready(const struct agent *agent, char *ret_reason, size_t reason_size)
{
    if (agent->cluster != NULL && broker_trouble(agent->cluster->broker, ret_reason, reason_size))
        return false;
    switch (agent->phase) {
    case AGENT_WORKING:
        if (agent->assigned)
            return true;
        snprintf(ret_reason, reason_size, "joining the group %s", agent->group_name);
        return false;
    case AGENT_NO_TOPIC:
        snprintf(ret_reason, reason_size, "topic %s does not exist: `reeve topics apply` makes it",
                 agent->topic);
        return false;
    case AGENT_CLOCK_OFF:
        snprintf(ret_reason, reason_size,
                 "this machine's clock is %lld ms off the broker's append times",
                 (long long)agent->clock_guard.skew_ms);
        return false;
    case AGENT_SERVICE_ILL:
        breaker_reason(agent->breaker, ret_reason, reason_size);
        return false;
    case AGENT_STARTING:
    case AGENT_DRAINING:
    case AGENT_LEAVING:
    case AGENT_LEFT:
    case AGENT_PHASE_COUNT:
        break;
    }
    snprintf(ret_reason, reason_size, "%s", agent_phase_name(agent->phase));
    return false;
}

static enum error_class name_agent(struct agent *agent, struct error *ret_error)
{
    const char *name = config_string(agent->service->config, "agent.name");
    if (name[0] == '\0' && agent->ops->name != NULL)
        name = agent->ops->name;
    if (!name_valid(text_of(name)))
        return error_set(ret_error, ERROR_REJECT, "Config",
                         "agent.name: an agent needs its name in workflows, 1 to %d of "
                         "[A-Za-z0-9._-]",
                         NAME_BYTES_MAX);
    snprintf(agent->name, sizeof(agent->name), "%s", name);
    return ERROR_OK;
}

static void name_topics(struct agent *agent)
{
    const struct topics *topics = &agent->cluster->topics;
    topics_requests(topics, text_of(agent->name), agent->topic);
    int size = snprintf(agent->group_name, sizeof(agent->group_name), "%s.agent.%s", topics->prefix,
                        agent->name);
    assert(size > 0 && (size_t)size < sizeof(agent->group_name)); /* shorter than the topic */
}

static void make_parts(struct agent *agent)
{
    const struct service_context *service = agent->service;
    struct attempts_options options = {
        .clock = service->clock,
        .lanes_idle_max = LANES_IDLE_MAX,
        .backoff_ms = config_ms(service->config, "agent.retry.backoff.ms"),
        .backoff_ms_max = config_ms(service->config, "agent.retry.backoff.max.ms"),
        .try_ms_min = TRY_MS_MIN,
        .seed = (uint64_t)clock_mono_us(service->clock),
    };
    agent->attempts = attempts_new(&options, &attempts_ops, agent);
    agent->metrics = agent_metrics_new(agent);
    agent->reports = reports_new(agent);
    agent->callbacks = callbacks_new(agent);
    agent->intake = intake_new(agent);
    agent->breaker = breaker_new(agent);
    agent->health = health_new(agent);
    agent->clock_guard.limit_ms = config_ms(service->config, "clock.skew.max.ms") / 2;
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
    class = agent_memory_new(agent, &agent->memory, ret_error);
    if (class != ERROR_OK) {
        agent_free(agent);
        return class;
    }
    make_parts(agent);
    *ret_agent = agent;
    return ERROR_OK;
}

/* Calls first: nothing of theirs may come back. Then the broker, which still tells of appends. Then
 * what they speak of. */
void agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    agent->phase = AGENT_LEFT;
    loop_timer_cancel(agent->service->loop, &agent->timer);
    if (agent->started && agent->ops->stop != NULL)
        agent->ops->stop(agent->ctx);
    if (agent->intake != NULL)
        intake_close(agent->intake);
    if (agent->group != NULL)
        broker_leave(agent->group, on_left, agent);
    cluster_close(agent->cluster);
    attempts_free(agent->attempts);
    reports_free(agent->reports);
    intake_free(agent->intake);
    breaker_free(agent->breaker);
    health_free(agent->health);
    agent_memory_free(agent->memory);
    callbacks_free(agent->callbacks);
    agent_metrics_free(agent->metrics);
    heap_arena_deinit(&agent->scratch);
    free(agent);
}
