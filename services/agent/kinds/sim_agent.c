/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated calls: wait as planned, then answer; without latency at once. */
#include "services/agent/kinds/kinds.h"

#include "services/agent/kinds/sim_plan.h"

#include <assert.h>
#include <stdlib.h>

enum { SILENCE_EXTRA_MS = 20 /* a silent call ends when its deadline has passed for certain */ };

struct sim_call {
    struct sim_agent *agent;
    struct agent_call *call;
    enum sim_outcome outcome;
    struct loop_timer timer;
    struct sim_call *next; /* in the pool */
    struct sim_call *all_prev, *all_next;
};

struct sim_agent {
    struct loop *loop;
    const struct clock *clock;
    struct sim_options options;
    struct sim_call *all; /* in flight */
    struct sim_call *pool;
};

static void on_silence_over(void *ctx);

/* ---- start and stop ---- */

static void stop(void *ctx)
{
    struct sim_agent *agent = ctx;
    for (struct sim_call *sim = agent->all; sim != NULL;) {
        struct sim_call *next = sim->all_next;
        loop_timer_cancel(agent->loop, &sim->timer);
        free(sim);
        sim = next;
    }
    for (struct sim_call *sim = agent->pool; sim != NULL;) {
        struct sim_call *next = sim->next;
        free(sim);
        sim = next;
    }
    free(agent);
}

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    struct sim_agent *agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    agent->loop = service->loop;
    agent->clock = service->clock;
    enum error_class class = sim_options_read(service->config, &agent->options, ret_error);
    if (class == ERROR_OK)
        *ret_ctx = agent;
    else
        free(agent);
    return class;
}

static struct sim_call *take_call(struct sim_agent *agent)
{
    struct sim_call *sim = agent->pool;
    if (sim != NULL)
        agent->pool = sim->next;
    else
        sim = calloc(1, sizeof(*sim));
    assert(sim != NULL);
    *sim = (struct sim_call){.agent = agent, .all_next = agent->all};
    if (agent->all != NULL)
        agent->all->all_prev = sim;
    agent->all = sim;
    return sim;
}

static void put_back(struct sim_call *sim)
{
    struct sim_agent *agent = sim->agent;
    *(sim->all_prev != NULL ? &sim->all_prev->all_next : &agent->all) = sim->all_next;
    if (sim->all_next != NULL)
        sim->all_next->all_prev = sim->all_prev;
    sim->next = agent->pool;
    agent->pool = sim;
}

/* ---- answers ---- */

static void refuse(struct agent_call *call)
{
    agent_call_fail(call, &(struct agent_failure){.name = TEXT("Sim.Refused"),
                                                  .message = TEXT("the simulated service refused"),
                                                  .effect = EFFECT_NONE});
}

static void fail_unknown(struct agent_call *call, const char *name, bool retriable)
{
    agent_call_fail(call, &(struct agent_failure){.name = text_of(name),
                                                  .message = TEXT("the simulated service did not "
                                                                  "say what it did"),
                                                  .effect = EFFECT_UNKNOWN,
                                                  .retriable = retriable});
}

/* A silent call is held for as long as an answer could count. */
static void hold(struct sim_call *sim)
{
    const struct sim_agent *agent = sim->agent;
    int64_t left_ms = sim->call->request->complete_by - clock_wall_ms(agent->clock);
    loop_timer_init(&sim->timer, on_silence_over, sim);
    loop_timer_after(agent->loop, &sim->timer, (left_ms > 0 ? left_ms : 0) + SILENCE_EXTRA_MS);
}

static void answer(void *ctx)
{
    struct sim_call *sim = ctx;
    struct agent_call *call = sim->call;
    enum sim_outcome outcome = sim->outcome;
    if (outcome == SIM_SILENT) {
        hold(sim);
        return;
    }
    put_back(sim); /* the answer may start the next call */
    if (outcome == SIM_UNKNOWN)
        fail_unknown(call, "Sim.Unknown", false);
    else if (outcome == SIM_REFUSED)
        refuse(call);
    else
        agent_call_succeed(call, TEXT("{}"));
}

static void on_silence_over(void *ctx)
{
    struct sim_call *sim = ctx;
    struct agent_call *call = sim->call;
    put_back(sim);
    fail_unknown(call, "Sim.Silent", true);
}

/* ---- calls ---- */

/* Also an undo: the request says which it is. */
static void execute(void *ctx, struct agent_call *call)
{
    struct sim_agent *agent = ctx;
    struct sim_call *sim = take_call(agent);
    struct sim_plan plan = sim_plan_of(&agent->options, call->request);
    sim->call = call;
    sim->outcome = plan.outcome;
    if (plan.latency_ms == 0) {
        answer(sim);
        return;
    }
    loop_timer_init(&sim->timer, answer, sim);
    loop_timer_after(agent->loop, &sim->timer, plan.latency_ms);
}

const struct agent_ops sim_agent_ops = {
    .name = NULL,
    .start = start,
    .execute = execute,
    .compensate = execute,
    .stop = stop,
};
