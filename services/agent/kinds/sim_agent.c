/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated calls: wait as planned, append the operation to the ledger, answer. Without latency and
 * ledger a call is answered at once; with a ledger all calls of a turn share one sync. */
#include "services/agent/kinds/kinds.h"

#include "platform/logger.h"
#include "services/agent/kinds/sim_ledger.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SILENCE_EXTRA_MS = 20, /* a silent call ends when its deadline has passed for certain */
    BATCH_MAX = 1024
};

struct sim_call {
    struct sim_agent *agent;
    struct agent_call *call;
    struct sim_entry entry;
    struct loop_timer timer;
    struct sim_call *next; /* in the pool, or in the batch */
    struct sim_call *all_prev, *all_next;
};

struct sim_agent {
    struct loop *loop;
    const struct clock *clock;
    struct sim_options options;
    struct sim_ledger *ledger; /* NULL = none */
    struct sim_call *all;      /* in flight */
    struct sim_call *pool;
    struct sim_call *batch; /* waiting for the ledger, the oldest first */
    struct sim_call **batch_end;
    struct loop_deferred flush;
};

static void on_flush(void *ctx);
static void on_silence_over(void *ctx);

/* ---- start and stop ---- */

static enum error_class read_options(struct sim_agent *agent, const struct config *config,
                                     struct error *ret_error)
{
    struct sim_options *options = &agent->options;
    options->fail_share = config_double(config, "agent.sim.fail.share");
    options->silent_share = config_double(config, "agent.sim.silent.share");
    options->unknown_share = config_double(config, "agent.sim.unknown.share");
    options->seed = (uint64_t)config_int(config, "agent.sim.seed");
    if (options->fail_share + options->silent_share + options->unknown_share > 1)
        return error_set(ret_error, CODE_CONFIG,
                         "agent.sim.fail.share, .silent.share and .unknown.share add up to more "
                         "than 1");
    return sim_latency_parse(config_string(config, "agent.sim.latency.ms"), &options->latency,
                             ret_error);
}

static void stop(void *ctx)
{
    struct sim_agent *agent = ctx;
    loop_defer_cancel(agent->loop, &agent->flush);
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
    sim_ledger_close(agent->ledger);
    free(agent);
}

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    struct sim_agent *agent = calloc(1, sizeof(*agent));
    const char *ledger = config_string(service->config, "agent.sim.ledger");
    assert(agent != NULL);
    agent->loop = service->loop;
    agent->clock = service->clock;
    agent->batch_end = &agent->batch;
    loop_deferred_init(&agent->flush, on_flush, agent);
    enum error_class class = read_options(agent, service->config, ret_error);
    if (class == ERROR_OK && ledger[0] != '\0')
        class = sim_ledger_open(ledger, &agent->ledger, ret_error);
    if (class != ERROR_OK) {
        stop(agent);
        return class;
    }
    *ret_ctx = agent;
    return ERROR_OK;
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

static void refuse(struct agent_call *call, const char *name)
{
    agent_call_fail(call, &(struct agent_failure){.name = text_of(name),
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
    int64_t left_ms = sim->entry.request->complete_by - clock_wall_ms(agent->clock);
    loop_timer_init(&sim->timer, on_silence_over, sim);
    loop_timer_after(agent->loop, &sim->timer, (left_ms > 0 ? left_ms : 0) + SILENCE_EXTRA_MS);
}

static void answer(struct sim_call *sim)
{
    struct agent_call *call = sim->call;
    struct sim_entry entry = sim->entry;
    if (entry.plan.outcome == SIM_SILENT) {
        hold(sim);
        return;
    }
    put_back(sim); /* the answer may start the next call */
    if (entry.plan.outcome == SIM_UNKNOWN)
        fail_unknown(call, "Sim.Unknown", false);
    else if (entry.undone_before)
        refuse(call, "AlreadyUndone");
    else if (entry.plan.outcome == SIM_REFUSED && !entry.done_before)
        refuse(call, "Sim.Refused");
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

/* ---- the ledger ---- */

static void enqueue(struct sim_call *sim)
{
    struct sim_agent *agent = sim->agent;
    sim->next = NULL;
    *agent->batch_end = sim;
    agent->batch_end = &sim->next;
    loop_defer(agent->loop, &agent->flush);
}

static void answer_batch(struct sim_call *const sims[], size_t count, enum error_class class)
{
    for (size_t i = 0; i < count; i++) {
        struct agent_call *call = sims[i]->call;
        if (class == ERROR_OK) {
            answer(sims[i]);
            continue;
        }
        put_back(sims[i]);
        fail_unknown(call, "Sim.LedgerFailed", true);
    }
}

static void on_flush(void *ctx)
{
    struct sim_agent *agent = ctx;
    struct sim_call *sims[BATCH_MAX];
    struct sim_entry *entries[BATCH_MAX];
    struct error error;
    size_t count = 0;
    for (; agent->batch != NULL && count < BATCH_MAX; agent->batch = agent->batch->next) {
        sims[count] = agent->batch;
        entries[count++] = &agent->batch->entry;
    }
    if (agent->batch == NULL)
        agent->batch_end = &agent->batch;
    else
        loop_defer(agent->loop, &agent->flush);
    enum error_class class =
        sim_ledger_write(agent->ledger, entries, count, clock_wall_ms(agent->clock), &error);
    if (class != ERROR_OK)
        log_error_limited("the simulated service cannot write its ledger", LOG_ERR(&error));
    answer_batch(sims, count, class);
}

/* ---- calls ---- */

static void perform(void *ctx)
{
    struct sim_call *sim = ctx;
    if (sim->agent->ledger != NULL)
        enqueue(sim);
    else
        answer(sim);
}

/* Also an undo: the request says which it is. */
static void execute(void *ctx, struct agent_call *call)
{
    struct sim_agent *agent = ctx;
    struct sim_call *sim = take_call(agent);
    sim->call = call;
    sim->entry = (struct sim_entry){.request = call->request,
                                    .plan = sim_plan_of(&agent->options, call->request),
                                    .sent = call->started_at};
    if (sim->entry.plan.latency_ms == 0) {
        perform(sim);
        return;
    }
    loop_timer_init(&sim->timer, perform, sim);
    loop_timer_after(agent->loop, &sim->timer, sim->entry.plan.latency_ms);
}

const struct agent_ops sim_agent_ops = {
    .name = NULL,
    .start = start,
    .execute = execute,
    .compensate = execute,
    .stop = stop,
};
