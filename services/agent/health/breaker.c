/* SPDX-License-Identifier: Apache-2.0 */
/* See breaker.h. */
#include "services/agent/health/breaker.h"

#include "platform/logger.h"
#include "services/agent/core/sanitize.h"
#include "services/agent/health/health_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LET_GO_MS = 1000 /* for what ends to be reported and committed, before the group is left */
};

struct agent_probe {
    struct agent_breaker *breaker;
};

struct agent_breaker {
    struct agent *agent;
    struct circuit circuit;
    struct agent_probe probe;
    bool probing;
    bool stopped;
    bool letting_go; /* open, and still a member of the group */
    uint32_t trials; /* calls that run and began half-open */
    char why[MESSAGE_BYTES_MAX + 1];
    struct loop_work act;          /* on a circuit that opened */
    struct loop_timer let_go;      /* the group is left at the latest */
    struct loop_timer opening_end; /* then the service is asked */
};

static struct loop *loop_of(const struct agent_breaker *breaker)
{
    return breaker->agent->service->loop;
}

static int64_t now_ms(const struct agent_breaker *breaker)
{
    return clock_mono_ms(breaker->agent->service->clock);
}

/* ---- leaving ---- */

static void leave(struct agent_breaker *breaker)
{
    breaker->letting_go = false;
    loop_timer_cancel(loop_of(breaker), &breaker->let_go);
    if (breaker->agent->group == NULL)
        return;
    intake_commit(breaker->agent->intake);
    agent_leave(breaker->agent);
}

static void on_let_go(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    leave(userdata);
}

void breaker_progress(struct agent_breaker *breaker)
{
    if (breaker->letting_go && attempts_in_hand(breaker->agent->attempts) == 0)
        loop_defer(loop_of(breaker), &breaker->act);
}

static void leave_if_done(struct agent_breaker *breaker)
{
    struct agent *agent = breaker->agent;
    if (attempts_in_hand(agent->attempts) > 0)
        return;
    intake_commit(agent->intake);
    if (intake_idle(agent->intake))
        leave(breaker);
}

static void begin_to_leave(struct agent_breaker *breaker)
{
    struct agent *agent = breaker->agent;
    agent->phase = AGENT_SERVICE_ILL;
    breaker->letting_go = true;
    loop_timer_after(loop_of(breaker), &breaker->let_go, LET_GO_MS);
    intake_halt(agent->intake);
    attempts_drain(agent->attempts);
    intake_commit(agent->intake);
    health_now(agent->health);
}

static void wait_open(struct agent_breaker *breaker)
{
    int64_t open_ms = circuit_open_ms(&breaker->circuit);
    loop_timer_set(loop_of(breaker), &breaker->opening_end, breaker->circuit.since_ms + open_ms);
}

/* Not from within the call that opened it: callers up the stack are in the middle of the attempts
 * that are given up here. */
static void on_act(struct loop *loop, struct loop_work *work, void *userdata)
{
    struct agent_breaker *breaker = userdata;
    (void)loop;
    (void)work;
    if (breaker->stopped || breaker->circuit.state != AGENT_CIRCUIT_OPEN)
        return;
    if (breaker->agent->phase == AGENT_WORKING)
        begin_to_leave(breaker);
    if (breaker->letting_go)
        leave_if_done(breaker);
}

/* ---- calls ---- */

static void on_opened(struct agent_breaker *breaker)
{
    log_warning("the remote service is ill, its circuit is open: partitions are given back",
                LOG_STR("agent", breaker->agent->name), LOG_STR("why", breaker->why),
                LOG_I64("open_ms", circuit_open_ms(&breaker->circuit)));
    wait_open(breaker);
    loop_defer(loop_of(breaker), &breaker->act);
    health_now(breaker->agent->health);
}

void breaker_call_began(struct agent_breaker *breaker)
{
    if (breaker->circuit.state == AGENT_CIRCUIT_HALF_OPEN)
        breaker->trials++;
}

static void on_closed(struct agent_breaker *breaker)
{
    log_info("the remote service is well again, its circuit is closed",
             LOG_STR("agent", breaker->agent->name));
    health_now(breaker->agent->health);
}

void breaker_call_ended(struct agent_breaker *breaker, int64_t began_ms, bool ill, struct text why)
{
    struct circuit *circuit = &breaker->circuit;
    if (breaker->trials > 0 && began_ms >= circuit->counts_from_ms)
        breaker->trials--;
    if (ill)
        snprintf(breaker->why, sizeof(breaker->why), "%.*s", TEXT_ARG(why));
    if (breaker->stopped || !circuit_ended(circuit, began_ms, now_ms(breaker), ill))
        return;
    if (circuit->state == AGENT_CIRCUIT_OPEN)
        on_opened(breaker);
    else
        on_closed(breaker);
}

bool breaker_has_room(const struct agent_breaker *breaker)
{
    return breaker->circuit.state == AGENT_CIRCUIT_HALF_OPEN
               ? breaker->trials < circuit_limit(&breaker->circuit)
               : breaker->circuit.state != AGENT_CIRCUIT_OPEN;
}

uint32_t breaker_limit(const struct agent_breaker *breaker)
{
    return circuit_limit(&breaker->circuit);
}

enum agent_circuit breaker_state(const struct agent_breaker *breaker)
{
    return breaker->circuit.state;
}

/* ---- coming back ---- */

static void half_open(struct agent_breaker *breaker)
{
    struct agent *agent = breaker->agent;
    circuit_half_open(&breaker->circuit, now_ms(breaker));
    breaker->trials = 0;
    if (breaker->letting_go)
        leave(breaker);
    attempts_go_on(agent->attempts);
    log_info("the remote service is tried again", LOG_STR("agent", agent->name));
    health_now(agent->health);
    if (agent->phase == AGENT_SERVICE_ILL)
        agent_join(agent);
}

void agent_probe_end(struct agent_probe *probe, bool well, struct text why)
{
    struct agent_breaker *breaker = probe->breaker;
    struct heap_arena *scratch = &breaker->agent->scratch;
    assert(breaker->probing);
    breaker->probing = false;
    if (breaker->stopped)
        return;
    if (well) {
        half_open(breaker);
        return;
    }
    heap_arena_reset(scratch);
    why = agent_message(why, &scratch->arena);
    snprintf(breaker->why, sizeof(breaker->why), "%.*s", TEXT_ARG(why));
    circuit_open_again(&breaker->circuit, now_ms(breaker));
    wait_open(breaker);
    log_warning_limited("the remote service is still ill", LOG_STR("agent", breaker->agent->name),
                        LOG_STR("why", breaker->why),
                        LOG_I64("open_ms", circuit_open_ms(&breaker->circuit)));
    health_error(breaker->agent->health, why);
}

static void on_opening_end(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_breaker *breaker = userdata;
    struct agent *agent = breaker->agent;
    (void)loop;
    (void)timer;
    assert(breaker->circuit.state == AGENT_CIRCUIT_OPEN && !breaker->probing);
    if (agent->ops->probe == NULL) {
        half_open(breaker);
        return;
    }
    breaker->probing = true;
    agent->ops->probe(agent->ctx, &breaker->probe);
}

bool breaker_may_join(struct agent_breaker *breaker)
{
    if (breaker->circuit.state != AGENT_CIRCUIT_OPEN)
        return true;
    breaker->agent->phase = AGENT_SERVICE_ILL;
    return false;
}

void breaker_reason(const struct agent_breaker *breaker, char *ret_reason, size_t reason_size)
{
    snprintf(ret_reason, reason_size, "the circuit of the remote service is open: %s",
             breaker->why);
}

/* ---- making and freeing ---- */

struct agent_breaker *breaker_new(struct agent *agent)
{
    struct agent_breaker *breaker = calloc(1, sizeof(*breaker));
    const struct config *config = agent->service->config;
    assert(breaker != NULL);
    breaker->agent = agent;
    breaker->probe.breaker = breaker;
    loop_work_init(&breaker->act, on_act, breaker);
    loop_timer_init(&breaker->let_go, on_let_go, breaker);
    loop_timer_init(&breaker->opening_end, on_opening_end, breaker);
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

void breaker_stop(struct agent_breaker *breaker)
{
    breaker->stopped = true;
    breaker->letting_go = false;
    loop_defer_cancel(loop_of(breaker), &breaker->act);
    loop_timer_cancel(loop_of(breaker), &breaker->let_go);
    loop_timer_cancel(loop_of(breaker), &breaker->opening_end);
}

void breaker_free(struct agent_breaker *breaker)
{
    if (breaker == NULL)
        return;
    breaker_stop(breaker);
    free(breaker);
}
