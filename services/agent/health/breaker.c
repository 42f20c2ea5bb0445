/* SPDX-License-Identifier: Apache-2.0 */
/* See breaker.h. */
#include "services/agent/health/breaker.h"

#include "platform/logger.h"
#include "services/agent/health/health_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LEAVE_MS_MAX = 1000 /* for calls to end and be committed before the group is left */
};

struct agent_breaker {
    const struct service_context *service;
    const char *agent; /* its name */
    struct health_report *health;
    const struct agent_breaker_ops *ops;
    void *ctx;
    struct circuit circuit;
    bool probing;
    bool stopped;
    bool leaving; /* open, and still a member of the group */
    /* Running calls that began since the circuit is half-open. */
    uint32_t trials;
    uint32_t last_calls; /* of known offenders */
    char why[MESSAGE_BYTES_MAX + 1];
    struct loop_deferred react;    /* to a circuit that opened */
    struct loop_timer leave_timer; /* when the group is left at the latest */
    struct loop_timer open_timer;  /* when the service is probed */
};

static struct loop *loop_of(const struct agent_breaker *breaker)
{
    return breaker->service->loop;
}

static int64_t now_ms(const struct agent_breaker *breaker)
{
    return clock_mono_ms(breaker->service->clock);
}

/* ---- leaving ---- */

static void leave(void *ctx)
{
    struct agent_breaker *breaker = ctx;
    breaker->leaving = false;
    loop_timer_cancel(loop_of(breaker), &breaker->leave_timer);
    breaker->ops->leave(breaker->ctx);
}

void agent_breaker_progress(struct agent_breaker *breaker, uint32_t in_flight)
{
    if (breaker->leaving && in_flight == 0)
        loop_defer(loop_of(breaker), &breaker->react);
}

static void wait_open(struct agent_breaker *breaker)
{
    assert(breaker->circuit.state == AGENT_CIRCUIT_OPEN && !breaker->stopped);
    int64_t open_ms = circuit_open_ms(&breaker->circuit);
    loop_timer_set(loop_of(breaker), &breaker->open_timer, breaker->circuit.since_ms + open_ms);
}

/* Deferred: the call that opened the circuit is in the middle of the attempts that are given up
 * here. */
static void on_react(void *ctx)
{
    struct agent_breaker *breaker = ctx;
    if (breaker->stopped || breaker->circuit.state != AGENT_CIRCUIT_OPEN)
        return;
    if (breaker->ops->halt(breaker->ctx)) {
        breaker->leaving = true;
        loop_timer_after(loop_of(breaker), &breaker->leave_timer, LEAVE_MS_MAX);
    }
    if (breaker->leaving && breaker->ops->commit_all(breaker->ctx))
        leave(breaker);
}

/* ---- calls ---- */

static void on_opened(struct agent_breaker *breaker)
{
    log_warning("the remote service is unhealthy, its circuit is open: leaving the group",
                LOG_STR("agent", breaker->agent), LOG_STR("why", breaker->why),
                LOG_I64("open_ms", circuit_open_ms(&breaker->circuit)));
    wait_open(breaker);
    loop_defer(loop_of(breaker), &breaker->react);
    health_report_now(breaker->health);
}

enum breaker_trial agent_breaker_call_began(struct agent_breaker *breaker, struct text order_id)
{
    if (breaker->circuit.state != AGENT_CIRCUIT_HALF_OPEN)
        return BREAKER_NO_TRIAL;
    bool last = agent_breaker_puts_last(breaker, order_id);
    *(last ? &breaker->last_calls : &breaker->trials) += 1;
    return last ? BREAKER_LAST_TRIAL : BREAKER_TRIAL;
}

static void on_closed(struct agent_breaker *breaker)
{
    log_info("the remote service is healthy again, its circuit is closed",
             LOG_STR("agent", breaker->agent));
    health_report_now(breaker->health);
}

void agent_breaker_call_ended(struct agent_breaker *breaker, const struct breaker_call *call)
{
    struct circuit *circuit = &breaker->circuit;
    bool counts = call->began_ms >= circuit->counts_from_ms;
    if (counts && call->trial == BREAKER_TRIAL && breaker->trials > 0)
        breaker->trials--;
    if (counts && call->trial == BREAKER_LAST_TRIAL && breaker->last_calls > 0)
        breaker->last_calls--;
    if (call->unhealthy)
        snprintf(breaker->why, sizeof(breaker->why), "%.*s", TEXT_ARG(call->why));
    if (breaker->stopped ||
        !circuit_ended(circuit, call->order_id, call->began_ms, now_ms(breaker), call->unhealthy))
        return;
    if (circuit->state == AGENT_CIRCUIT_OPEN)
        on_opened(breaker);
    else
        on_closed(breaker);
}

bool agent_breaker_allows_call(const struct agent_breaker *breaker)
{
    return breaker->circuit.state == AGENT_CIRCUIT_HALF_OPEN
               ? breaker->trials < circuit_limit(&breaker->circuit)
               : breaker->circuit.state != AGENT_CIRCUIT_OPEN;
}

bool agent_breaker_puts_last(const struct agent_breaker *breaker, struct text order_id)
{
    return breaker->circuit.state == AGENT_CIRCUIT_HALF_OPEN &&
           circuit_is_offender(&breaker->circuit, order_id, now_ms(breaker));
}

bool agent_breaker_allows_last(const struct agent_breaker *breaker)
{
    /* Not before the outcome of another order's call. */
    return breaker->circuit.state == AGENT_CIRCUIT_HALF_OPEN && breaker->last_calls == 0 &&
           (breaker->trials == 0 || breaker->circuit.successes > 0);
}

uint32_t agent_breaker_limit(const struct agent_breaker *breaker)
{
    return circuit_limit(&breaker->circuit);
}

enum agent_circuit agent_breaker_state(const struct agent_breaker *breaker)
{
    return breaker->circuit.state;
}

/* ---- half-open ---- */

static void half_open(struct agent_breaker *breaker)
{
    assert(!breaker->probing);
    circuit_half_open(&breaker->circuit, now_ms(breaker));
    breaker->trials = 0;
    breaker->last_calls = 0;
    if (breaker->leaving)
        leave(breaker);
    log_info("the circuit is half-open: calling the remote service again",
             LOG_STR("agent", breaker->agent));
    breaker->ops->resume(breaker->ctx);
}

void agent_breaker_probed(struct agent_breaker *breaker, bool healthy, struct text why)
{
    assert(breaker->probing);
    breaker->probing = false;
    if (breaker->stopped)
        return;
    if (healthy) {
        half_open(breaker);
        return;
    }
    snprintf(breaker->why, sizeof(breaker->why), "%.*s", TEXT_ARG(why));
    circuit_open_again(&breaker->circuit, now_ms(breaker));
    wait_open(breaker);
    log_warning_limited("the remote service is still unhealthy", LOG_STR("agent", breaker->agent),
                        LOG_STR("why", breaker->why),
                        LOG_I64("open_ms", circuit_open_ms(&breaker->circuit)));
    health_report_error(breaker->health, why);
}

static void on_open_timer(void *ctx)
{
    struct agent_breaker *breaker = ctx;
    assert(breaker->circuit.state == AGENT_CIRCUIT_OPEN);
    assert(!breaker->probing && !breaker->stopped);
    breaker->probing = true;
    if (breaker->ops->probe(breaker->ctx))
        return;
    breaker->probing = false;
    half_open(breaker);
}

void agent_breaker_reason(const struct agent_breaker *breaker, char *ret_reason, size_t reason_size)
{
    snprintf(ret_reason, reason_size, "the circuit of the remote service is open: %s",
             breaker->why);
}

/* ---- new and free ---- */

struct agent_breaker *agent_breaker_new(const struct service_context *service, const char *agent,
                                        struct health_report *health,
                                        const struct agent_breaker_ops *ops, void *ctx)
{
    struct agent_breaker *breaker = calloc(1, sizeof(*breaker));
    const struct config *config = service->config;
    assert(breaker != NULL);
    breaker->service = service;
    breaker->agent = agent;
    breaker->health = health;
    breaker->ops = ops;
    breaker->ctx = ctx;
    loop_deferred_init(&breaker->react, on_react, breaker);
    loop_timer_init(&breaker->leave_timer, leave, breaker);
    loop_timer_init(&breaker->open_timer, on_open_timer, breaker);
    struct circuit_options options = {
        .errors_min = (uint32_t)config_int(config, "agent.circuit.errors.min"),
        .errors_percent = (uint32_t)config_int(config, "agent.circuit.errors.percent"),
        .window_ms = config_ms(config, "agent.circuit.window.ms"),
        .open_ms = config_ms(config, "agent.circuit.open.ms"),
        .open_ms_max = config_ms(config, "agent.circuit.open.max.ms"),
        .successes = (uint32_t)config_int(config, "agent.circuit.successes"),
    };
    circuit_init(&breaker->circuit, &options, now_ms(breaker));
    return breaker;
}

void agent_breaker_stop(struct agent_breaker *breaker)
{
    breaker->stopped = true;
    breaker->leaving = false;
    loop_defer_cancel(loop_of(breaker), &breaker->react);
    loop_timer_cancel(loop_of(breaker), &breaker->leave_timer);
    loop_timer_cancel(loop_of(breaker), &breaker->open_timer);
}

void agent_breaker_free(struct agent_breaker *breaker)
{
    if (breaker == NULL)
        return;
    agent_breaker_stop(breaker);
    free(breaker);
}
