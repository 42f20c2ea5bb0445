/* SPDX-License-Identifier: Apache-2.0 */
/* Calls wait as planned, are written to the ledger, and are answered. All calls of a turn of the
 * loop share one sync. */
#include "tests/lib/ledger_agent.h"

#include "tests/lib/sim_ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum {
    SILENCE_EXTRA_MS = 20, /* a silent call ends when its deadline has passed for certain */
    BATCH_MAX = 1024
};

struct ledger_call {
    struct ledger_agent *agent;
    struct agent_call *call;
    struct sim_entry entry;
    struct loop_timer timer;
    struct ledger_call *next; /* in the batch */
    struct ledger_call *all_prev, *all_next;
};

struct ledger_agent {
    struct loop *loop;
    const struct clock *clock;
    struct sim_options options;
    struct sim_ledger *ledger;
    struct ledger_call *all;   /* in flight */
    struct ledger_call *batch; /* waiting for the ledger, the oldest first */
    struct ledger_call **batch_end;
    struct loop_deferred flush;
};

static void on_flush(void *ctx);

/* ---- start and stop ---- */

static void stop(void *ctx)
{
    struct ledger_agent *agent = ctx;
    loop_defer_cancel(agent->loop, &agent->flush);
    for (struct ledger_call *own = agent->all; own != NULL;) {
        struct ledger_call *next = own->all_next;
        loop_timer_cancel(agent->loop, &own->timer);
        free(own);
        own = next;
    }
    sim_ledger_close(agent->ledger);
    free(agent);
}

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    struct ledger_agent *agent = calloc(1, sizeof(*agent));
    const char *path = getenv("REEVE_TEST_LEDGER");
    assert(agent != NULL && path != NULL);
    agent->loop = service->loop;
    agent->clock = service->clock;
    agent->batch_end = &agent->batch;
    loop_deferred_init(&agent->flush, on_flush, agent);
    enum error_class class = sim_options_read(service->config, &agent->options, ret_error);
    if (class != ERROR_OK) {
        stop(agent);
        return class;
    }
    agent->ledger = sim_ledger_open(path);
    *ret_ctx = agent;
    return ERROR_OK;
}

static void link_in(struct ledger_call *own)
{
    struct ledger_agent *agent = own->agent;
    own->all_next = agent->all;
    if (agent->all != NULL)
        agent->all->all_prev = own;
    agent->all = own;
}

static void forget(struct ledger_call *own)
{
    *(own->all_prev != NULL ? &own->all_prev->all_next : &own->agent->all) = own->all_next;
    if (own->all_next != NULL)
        own->all_next->all_prev = own->all_prev;
    free(own);
}

/* ---- answers ---- */

static void fail(struct agent_call *call, const char *name, enum effect effect, bool retriable)
{
    agent_call_fail(call, &(struct agent_failure){.name = text_of(name),
                                                  .message = TEXT("as the plan says"),
                                                  .effect = effect,
                                                  .retriable = retriable});
}

static void on_silence_over(void *ctx)
{
    struct ledger_call *own = ctx;
    struct agent_call *call = own->call;
    forget(own);
    fail(call, "Sim.Silent", EFFECT_UNKNOWN, true);
}

/* A silent call is held for as long as an answer could count. */
static void hold(struct ledger_call *own)
{
    const struct ledger_agent *agent = own->agent;
    int64_t left_ms = own->call->request->complete_by - clock_wall_ms(agent->clock);
    loop_timer_init(&own->timer, on_silence_over, own);
    loop_timer_after(agent->loop, &own->timer, (left_ms > 0 ? left_ms : 0) + SILENCE_EXTRA_MS);
}

static void answer(struct ledger_call *own)
{
    struct agent_call *call = own->call;
    struct sim_entry entry = own->entry;
    if (entry.outcome == SIM_SILENT) {
        hold(own);
        return;
    }
    forget(own);
    if (entry.outcome == SIM_UNKNOWN)
        fail(call, "Sim.Unknown", EFFECT_UNKNOWN, false);
    else if (entry.undone_before)
        fail(call, "AlreadyUndone", EFFECT_NONE, false);
    else if (entry.outcome == SIM_REFUSED && !entry.done_before)
        fail(call, "Sim.Refused", EFFECT_NONE, false);
    else
        agent_call_succeed(call, TEXT("{}"));
}

/* ---- calls ---- */

static void on_flush(void *ctx)
{
    struct ledger_agent *agent = ctx;
    struct ledger_call *calls[BATCH_MAX];
    struct sim_entry *entries[BATCH_MAX];
    size_t count = 0;
    for (; agent->batch != NULL && count < BATCH_MAX; agent->batch = agent->batch->next) {
        calls[count] = agent->batch;
        entries[count++] = &agent->batch->entry;
    }
    if (agent->batch == NULL)
        agent->batch_end = &agent->batch;
    else
        loop_defer(agent->loop, &agent->flush);
    sim_ledger_write(agent->ledger, entries, count, clock_wall_ms(agent->clock));
    for (size_t i = 0; i < count; i++)
        answer(calls[i]);
}

static void perform(void *ctx)
{
    struct ledger_call *own = ctx;
    struct ledger_agent *agent = own->agent;
    *agent->batch_end = own;
    agent->batch_end = &own->next;
    loop_defer(agent->loop, &agent->flush);
}

/* Half of the calls whose outcome the agent does not learn are applied. */
static bool applies(const struct ledger_agent *agent, const struct step_request *request,
                    enum sim_outcome outcome)
{
    struct text key = request->idempotency_key;
    if (outcome == SIM_DONE || outcome == SIM_REFUSED)
        return outcome == SIM_DONE;
    return XXH3_64bits_withSeed(key.data, key.size, agent->options.seed + request->ref.attempt) & 1;
}

/* Also an undo: the request says which it is. */
static void execute(void *ctx, struct agent_call *call)
{
    struct ledger_agent *agent = ctx;
    struct sim_plan plan = sim_plan_of(&agent->options, call->request);
    struct ledger_call *own = calloc(1, sizeof(*own));
    assert(own != NULL);
    own->agent = agent;
    own->call = call;
    own->entry = (struct sim_entry){.request = call->request,
                                    .outcome = plan.outcome,
                                    .applies = applies(agent, call->request, plan.outcome),
                                    .sent = call->started_at};
    link_in(own);
    loop_timer_init(&own->timer, perform, own);
    if (plan.latency_ms == 0)
        perform(own);
    else
        loop_timer_after(agent->loop, &own->timer, plan.latency_ms);
}

const struct agent_ops ledger_agent_ops = {
    .name = NULL,
    .start = start,
    .execute = execute,
    .compensate = execute,
    .stop = stop,
};
