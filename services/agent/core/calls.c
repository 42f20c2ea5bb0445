/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the vtable: what the attempts start, how the SDK's agent_call_ functions end it, and the
 * probe of an unhealthy service. */
#include "engine/output.h"
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "replica/service/order_traces.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/core/agent_internal.h"
#include "services/agent/core/sanitize.h"
#include "services/agent/health/breaker.h"
#include "services/agent/health/health_report.h"

#include <assert.h>
#include <stddef.h>

_Static_assert(offsetof(struct agent_attempt, call) == 0, "a call is the head of its attempt");

static struct agent *agent_of(const struct agent_attempt *attempt)
{
    return attempts_ctx(attempt->owner);
}

static void on_start(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    assert(attempt->state == ATTEMPT_RUNNING && attempt->call.time_left_ms > 0);
    FAILPOINT("agent.try");
    attempt->trial = agent_breaker_call_began(agent->breaker, attempt->request.order_id);
    health_report_load(agent->health, attempts_in_flight(agent->attempts));
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

/* `error`: why it failed; empty: it did not. */
static void trace_call(struct agent *agent, const struct agent_attempt *attempt, int64_t took_us,
                       struct text error)
{
    const struct step_request *request = &attempt->request;
    if (agent->trace_export == NULL)
        return;
    struct order_trace trace = order_trace_of(request->order);
    int64_t start_us = attempt->call.started_at * 1000;
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = request->order_id},
        {.name = "reeve.step", .value = request->ref.step},
        {.name = "reeve.direction", .value = text_of(direction_name(request->ref.direction))},
        {.name = "reeve.attempt", .number = request->ref.attempt},
        {.name = "reeve.try", .number = attempt->call.try_number},
        {.name = "reeve.agent", .value = text_of(agent->name)},
        {.name = "reeve.action", .value = request->action},
    };
    if (order_trace_sampled(&trace))
        trace_export_add(
            agent->trace_export,
            &(struct trace_span){.trace = trace.id,
                                 .id = call_span_id(request, attempt->call.try_number),
                                 .parent = attempt_span_id(request->order_id, &request->ref),
                                 .name = request->action,
                                 .is_client = true,
                                 .start_us = start_us,
                                 .end_us = start_us + took_us,
                                 .failed = !text_empty(error),
                                 .message = error,
                                 .attributes = attributes,
                                 .attribute_count = sizeof(attributes) / sizeof(attributes[0])});
}

/* `failure`: NULL, it did not. */
static void call_ended(struct agent *agent, const struct agent_attempt *attempt,
                       enum agent_call_outcome outcome, const struct agent_failure *failure)
{
    assert(attempt->state == ATTEMPT_RUNNING);
    int64_t took_us = clock_mono_us(agent->service->clock) - attempt->try_started_us;
    bool unhealthy = failure != NULL && failure->service_unhealthy;
    struct text why = failure != NULL ? failure->message : TEXT("");
    trace_call(agent, attempt, took_us, failure != NULL ? failure->name : TEXT(""));
    agent_metrics_call(agent->metrics, outcome, took_us);
    health_report_call_ended(agent->health, took_us, unhealthy, why);
    health_report_load(agent->health, attempts_in_flight(agent->attempts));
    agent_breaker_call_ended(agent->breaker,
                             &(struct breaker_call){.order_id = attempt->request.order_id,
                                                    .began_ms = attempt->try_started_us / 1000,
                                                    .trial = attempt->trial,
                                                    .unhealthy = unhealthy,
                                                    .why = why});
    agent_intake_call_ended(agent->intake);
    FAILPOINT("agent.called");
}

void agent_call_succeed(struct agent_call *call, struct text output)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    heap_arena_reset(&agent->scratch);
    call_ended(agent, attempt, AGENT_CALL_SUCCEEDED, NULL);
    attempts_succeeded(agent->attempts, attempt,
                       output_canonical(output, REPORT_OUTPUT_BYTES_MAX, &agent->scratch.arena));
}

void agent_call_fail(struct agent_call *call, const struct agent_failure *failure)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    enum agent_call_outcome outcome = failure->retriable ? AGENT_CALL_RETRIABLE : AGENT_CALL_FAILED;
    struct agent_failure fit = *failure;
    heap_arena_reset(&agent->scratch);
    if (!error_name_valid(failure->name))
        fit.name = TEXT("Agent.Error");
    fit.message = agent_message(failure->message, &agent->scratch.arena);
    call_ended(agent, attempt, outcome, &fit);
    attempts_failed(agent->attempts, attempt, &fit);
    agent_progress(agent); /* it may have ended without a report */
}

static void on_extend_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    if (error != NULL && error_is(error))
        log_warning_limited("a request for more time was not delivered", LOG_ERR(error));
}

void agent_call_extend(struct agent_call *call, int64_t extra_ms, struct text progress)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    const struct step_request *request = call->request;
    struct error error;
    assert(extra_ms > 0 && extra_ms <= DURATION_MS_MAX);
    heap_arena_reset(&agent->scratch);
    struct extend_step extension = {
        .order_id = request->order_id,
        .step = request->ref.step,
        .direction = request->ref.direction,
        .attempt = request->ref.attempt,
        .complete_by = clock_wall_ms(agent->service->clock) + extra_ms,
        .progress = agent_message(progress, &agent->scratch.arena),
    };
    if (agent_reports_extend(agent, &extension, on_extend_appended, agent, &error) != ERROR_OK)
        log_warning_limited("a request for more time was not sent",
                            LOG_TEXT("order", request->order_id),
                            LOG_TEXT("step", request->ref.step), LOG_ERR(&error));
}

void agent_call_accept(struct agent_call *call)
{
    struct agent_attempt *attempt = (struct agent_attempt *)call;
    struct agent *agent = agent_of(attempt);
    call_ended(agent, attempt, AGENT_CALL_ACCEPTED, NULL);
    attempts_accepted(agent->attempts, attempt);
}

struct text agent_call_callback(const struct agent_call *call, struct arena *arena)
{
    const struct agent_attempt *attempt = (const struct agent_attempt *)call;
    return agent_callback_url(agent_of(attempt), call->request, arena);
}

static void on_wait_over(void *ctx)
{
    struct agent_attempt *attempt = ctx;
    attempts_resume(attempt->owner, attempt);
}

static void on_wait(void *ctx, struct agent_attempt *attempt, int64_t delay_ms)
{
    struct agent *agent = ctx;
    assert(attempt->state == ATTEMPT_BACKOFF && delay_ms >= 0);
    loop_timer_init(&attempt->timer, on_wait_over, attempt);
    loop_timer_after(agent->service->loop, &attempt->timer, delay_ms);
}

static void on_unwait(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    assert(attempt->state == ATTEMPT_BACKOFF);
    loop_timer_cancel(agent->service->loop, &attempt->timer);
}

static void on_report(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    assert(attempt->state == ATTEMPT_REPORTING);
    agent_reports_send(agent->reports, attempt);
}

static void on_settled(void *ctx, const struct request_receipt *receipt)
{
    struct agent *agent = ctx;
    agent_intake_settled(agent->intake, receipt);
}

static bool on_recall(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    attempt->noted = answer_cache_recall(agent->answers, &attempt->request, &attempt->memory.arena,
                                         &attempt->answer);
    return attempt->noted;
}

static void on_extended(void *ctx, struct agent_attempt *attempt)
{
    struct agent *agent = ctx;
    if (agent->ops->extended != NULL)
        agent->ops->extended(agent->ctx, &attempt->call);
}

const struct attempts_ops agent_attempts_ops = {on_start,   on_wait,   on_unwait,  on_report,
                                                on_settled, on_recall, on_extended};

/* ---- probes ---- */

bool agent_begin_probe(void *ctx)
{
    struct agent *agent = ctx;
    if (agent->ops->probe == NULL)
        return false;
    agent->probe.agent = agent;
    agent->ops->probe(agent->ctx, &agent->probe);
    return true;
}

void agent_probe_end(struct agent_probe *probe, bool healthy, struct text why)
{
    struct agent *agent = probe->agent;
    heap_arena_reset(&agent->scratch);
    agent_breaker_probed(agent->breaker, healthy, agent_message(why, &agent->scratch.arena));
}
