/* SPDX-License-Identifier: Apache-2.0 */
/* Agents, queues and capacities. pick.c picks the next step. */
#include "services/scheduler/router/internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* What an agent takes where routing is switched off. */
#define ANY_NUMBER (INT64_C(1) << 40)

/* What is left of an agent's turnover after a second in which it had work and completed nothing: a
 * queue that is short at the old turnover must not stay long at the new one. */
#define TURNOVER_LEFT 0.5

/* ---- agents ---- */

/* Where routing is switched off: an agent's status. */
static void set_any_number(const struct router *router, struct route_agent *agent)
{
    assert(router->options.switched_off);
    agent->status = (struct agent_status){
        .healthy = router->begun,
        .calls = router->begun ? ANY_NUMBER : 0,
        .why = router->begun ? NULL : "the topic of agents is not read to its end yet"};
    agent->limit = agent->status.calls;
    assert(agent->status.healthy == (agent->limit > 0));
}

struct route_agent *router_agent(struct router *router, struct text name)
{
    struct route_agent *agent = NULL;
    assert(name.size > 0 && name.size <= NAME_BYTES_MAX);
    HASH_FIND(hh, router->agents, name.data, name.size, agent);
    if (agent != NULL)
        return agent;
    agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    memcpy(agent->name, name.data, name.size);
    agent->status.why = "no live instance";
    if (router->options.switched_off)
        set_any_number(router, agent);
    agent->why_free = INT64_MIN;
    shares_init(&agent->shares, router->options.weights);
    HASH_ADD_KEYPTR(hh, router->agents, agent->name, name.size, agent);
    return agent;
}

int64_t route_agent_waiting(const struct route_agent *agent)
{
    int64_t waiting = 0;
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        waiting += agent->waiting[priority];
    assert(waiting >= 0);
    return waiting;
}

/* Steps that wait and for which no StartStep is on its way. */
static int64_t not_picked(const struct route_agent *agent)
{
    int64_t waiting = route_agent_waiting(agent) - agent->starting;
    return waiting > 0 ? waiting : 0;
}

int64_t route_agent_free(const struct route_agent *agent)
{
    assert(agent->limit >= 0);
    assert(agent->running >= 0 && agent->starting >= 0);
    return agent->pause != NULL ? 0 : agent->limit - agent->running - agent->starting;
}

static void set_limit(const struct router *router, struct route_agent *agent)
{
    agent->limit = 0;
    if (!agent->status.healthy || router->options.switched_off) {
        agent->limit = agent->status.healthy ? ANY_NUMBER : 0;
        return;
    }
    assert(agent->status.calls >= 0 && agent->status.probing >= 0);
    double capacity =
        (double)agent->status.calls * router->options.factor + (double)agent->status.probing;
    if (router->all > 0)
        capacity = capacity * router->own / router->all;
    /* Not while circuits are only half-open. */
    double brief = agent->turnover * (double)router->options.wait_ms / 1000;
    if (agent->status.calls > 0 && brief > capacity)
        capacity = brief;
    agent->limit = capacity > 1 ? (int64_t)ceil(capacity) : 1;
    assert(agent->limit >= 1);
}

void router_set_part(struct router *router, uint32_t own, uint32_t all)
{
    struct route_agent *agent;
    assert(own <= all);
    if (router->own == own && router->all == all)
        return;
    router->own = own;
    router->all = all;
    for (agent = router->agents; agent != NULL; agent = agent->hh.next)
        set_limit(router, agent);
    router_pick_soon(router);
}

void router_set_agent(struct router *router, struct text name, const struct agent_status *status)
{
    struct route_agent *agent = router_agent(router, name);
    assert(status->healthy || status->why != NULL);
    assert(!router->options.switched_off);
    agent->status = *status;
    agent->refused = false;
    if (!status->healthy)
        agent->turnover = 0; /* what comes back may be slower */
    set_limit(router, agent);
    assert(status->healthy == (agent->limit > 0));
    router_pick_soon(router);
}

/* An agent that has completed this many within wait_ms already takes as many from now on: until the
 * next measurement, a burst would queue here. */
static void raise_turnover(const struct router *router, struct route_agent *agent, int64_t now_ms)
{
    int64_t window_ms = now_ms - router->measured_ms;
    if (window_ms < router->options.wait_ms)
        window_ms = router->options.wait_ms;
    if (router->measured_ms == 0 || router->options.wait_ms == 0)
        return;
    double turnover = (double)agent->completed * 1000 / (double)window_ms;
    if (turnover <= agent->turnover || !agent->status.healthy)
        return;
    agent->turnover = turnover;
    set_limit(router, agent);
}

void router_completed(struct router *router, struct text name, int64_t now_ms)
{
    struct route_agent *agent = NULL;
    HASH_FIND(hh, router->agents, name.data, name.size, agent);
    if (agent == NULL)
        return;
    agent->completed++;
    raise_turnover(router, agent, now_ms);
}

/* While it has no work, nothing is learned about an agent. */
static bool is_idle(const struct route_agent *agent)
{
    return agent->running == 0 && agent->starting == 0 && agent->completed == 0;
}

void router_measure(struct router *router, int64_t now_ms)
{
    struct route_agent *agent;
    double seconds = (double)(now_ms - router->measured_ms) / 1000;
    bool first = router->measured_ms == 0;
    assert(now_ms > 0);
    if (!first && seconds <= 0)
        return;
    router->measured_ms = now_ms;
    for (agent = router->agents; agent != NULL; agent = agent->hh.next) {
        if (!first && is_idle(agent))
            continue;
        double turnover = first ? 0 : (double)agent->completed / seconds;
        double left = first ? 0 : agent->turnover * pow(TURNOVER_LEFT, seconds);
        agent->completed = 0;
        agent->turnover = turnover > left ? turnover : left;
        assert(agent->turnover >= 0);
        set_limit(router, agent);
    }
    router_pick_soon(router);
}

void router_begin(struct router *router)
{
    struct route_agent *agent;
    assert(router->options.switched_off && !router->begun);
    router->begun = true;
    for (agent = router->agents; agent != NULL; agent = agent->hh.next)
        set_any_number(router, agent);
    router_pick_soon(router);
}

void router_pause_agent(struct router *router, struct text name, const char *why)
{
    struct route_agent *agent = router_agent(router, name);
    free(agent->pause);
    agent->pause = why != NULL ? strdup(why) : NULL;
    assert((agent->pause != NULL) == (why != NULL));
    assert(agent->pause == NULL || route_agent_free(agent) == 0);
    agent->refused = false;
    agent->credit = agent->credit_last = 0;
    router_pick_soon(router);
}

struct route_agent *router_agents(struct router *router)
{
    struct route_agent *agent;
    const struct route_queue *queue;
    for (agent = router->agents; agent != NULL; agent = agent->hh.next)
        agent->stuck = 0;
    for (queue = router->queues; queue != NULL; queue = queue->hh.next) {
        int64_t waiting = 0;
        bool any_good = false; /* healthy, or left alone by an operator's decision */
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            waiting += queue->waiting[priority];
        assert(waiting >= 0);
        assert(queue->agent_count <= STEP_AGENTS_MAX);
        for (uint32_t i = 0; i < queue->agent_count; i++)
            any_good =
                any_good || queue->agents[i]->status.healthy || queue->agents[i]->pause != NULL;
        for (uint32_t i = 0; i < queue->agent_count && !any_good; i++)
            queue->agents[i]->stuck += waiting;
    }
    return router->agents;
}

/* ---- queues ---- */

static void add_to_agents(struct route_queue *queue, enum priority priority, int64_t more)
{
    assert(queue->agent_count <= STEP_AGENTS_MAX);
    for (uint32_t i = 0; i < queue->agent_count; i++) {
        queue->agents[i]->waiting[priority] += more;
        assert(queue->agents[i]->waiting[priority] >= 0);
    }
}

int64_t router_standing(const struct router *router, enum wait_kind what)
{
    assert((unsigned)what < WAIT_KIND_COUNT && router->standing[what] >= 0);
    return router->standing[what];
}

void router_add_waiting(struct router *router, struct route_queue *queue, enum priority priority,
                        int64_t more)
{
    assert((unsigned)priority < PRIORITY_COUNT);
    queue->waiting[priority] += more;
    router->waiting += more;
    assert(queue->waiting[priority] >= 0);
    assert(router->waiting >= queue->waiting[priority]);
    add_to_agents(queue, priority, more);
}

static void add_queue_agent(struct router *router, struct route_queue *queue, struct text name)
{
    struct route_agent *agent = router_agent(router, name);
    for (uint32_t i = 0; i < queue->agent_count; i++) {
        if (queue->agents[i] == agent)
            return;
    }
    assert(queue->agent_count < STEP_AGENTS_MAX);
    queue->agents[queue->agent_count++] = agent;
}

bool router_resolve(struct router *router, struct route_queue *queue)
{
    struct text workflow, agent;
    uint32_t version = 0;
    uint32_t step = 0;
    enum direction direction = DIRECTION_DO;
    if (queue->agent_count > 0)
        return true;
    bool parsed = queue_key_parse((struct text){queue->key, queue->key_size}, &workflow, &version,
                                  &step, &direction, &agent);
    assert(parsed); /* made by queue_key_of(), or checked when it was read from the store */
    assert(step == queue->step && direction == queue->direction);
    if (!text_empty(agent)) {
        add_queue_agent(router, queue, agent);
    } else {
        const struct workflow *found =
            workflow_registry_find(router->options.workflows, workflow, version);
        if (found == NULL || step >= found->step_count)
            return false;
        uint32_t count = router->options.switched_off ? 1 : found->steps[step].agent_count;
        for (uint32_t i = 0; i < count; i++)
            add_queue_agent(router, queue, found->steps[step].agents[i]);
    }
    assert(queue->agent_count > 0 && queue->agent_count <= STEP_AGENTS_MAX);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        add_to_agents(queue, (enum priority)priority, queue->waiting[priority]);
    return true;
}

struct route_queue *router_queue(struct router *router, struct text key)
{
    struct route_queue *queue = NULL;
    struct text workflow, agent;
    uint32_t version = 0;
    assert(key.size > 0 && key.size <= QUEUE_KEY_BYTES_MAX);
    HASH_FIND(hh, router->queues, key.data, key.size, queue);
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof(*queue));
    assert(queue != NULL && key.size <= sizeof(queue->key));
    memcpy(queue->key, key.data, key.size);
    queue->key_size = key.size;
    bool parsed =
        queue_key_parse(key, &workflow, &version, &queue->step, &queue->direction, &agent);
    assert(parsed);
    HASH_ADD_KEYPTR(hh, router->queues, queue->key, queue->key_size, queue);
    router_resolve(router, queue);
    return queue;
}

/* ---- capacity ---- */

static bool has_agent(const struct route_plan *plan, const struct route_agent *agent)
{
    bool has = false;
    assert(plan->routing.count <= WORKFLOW_AGENTS_MAX);
    for (uint32_t i = 0; i < plan->routing.count && !has; i++)
        has = plan->agents[i] == agent;
    return has;
}

static struct route_plan *new_plan(struct router *router, const struct workflow *workflow)
{
    struct route_plan *plan = calloc(1, sizeof(*plan));
    uint32_t most = 0;
    assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
    for (uint32_t i = 0; i < workflow->step_count; i++)
        most += workflow->steps[i].agent_count;
    assert(plan != NULL && most <= WORKFLOW_AGENTS_MAX);
    plan->workflow = workflow;
    plan->capacities = calloc(most + 1, sizeof(plan->capacities[0])); /* there may be no agent */
    plan->agents = calloc(most + 1, sizeof(plan->agents[0]));
    assert(plan->capacities != NULL && plan->agents != NULL);
    plan->routing = router->no_agents;
    plan->routing.agents = plan->capacities;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        for (uint32_t j = 0; j < workflow->steps[i].agent_count; j++) {
            struct route_agent *agent = router_agent(router, workflow->steps[i].agents[j]);
            if (has_agent(plan, agent))
                continue;
            plan->capacities[plan->routing.count].agent = text_of(agent->name);
            plan->agents[plan->routing.count++] = agent;
        }
    }
    assert(plan->routing.count <= most);
    HASH_ADD_PTR(router->plans, workflow, plan);
    return plan;
}

static char *put_number(char *at, int64_t number)
{
    char digits[24];
    int count = 0;
    uint64_t rest = number > 0 ? (uint64_t)number : 0;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    assert(count >= 1 && count <= 20);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static char *put_text(char *at, const char *text)
{
    size_t size = strlen(text);
    memcpy(at, text, size);
    return at + size;
}

/* "4 of 16 free, p95 80 ms". Called for each decision and agent, hence without printf. */
static struct text capacity_reason(struct route_agent *agent, int64_t free)
{
    if (agent->why_free != free || agent->why_limit != agent->limit ||
        agent->why_p95 != agent->status.latency_p95_ms) {
        char *at = put_number(agent->why, free);
        at = put_text(at, " of ");
        at = put_number(at, agent->limit);
        at = put_text(at, " free, p95 ");
        at = put_number(at, agent->status.latency_p95_ms);
        at = put_text(at, " ms");
        *at = '\0';
        assert((size_t)(at - agent->why) < sizeof(agent->why));
        agent->why_free = free;
        agent->why_limit = agent->limit;
        agent->why_p95 = agent->status.latency_p95_ms;
    }
    return text_of(agent->why);
}
_Static_assert(sizeof(((struct route_agent *)0)->why) >= 3 * 20 + sizeof(" of  free, p95  ms"),
               "the longest text fits");

static void fill_capacity(const struct router *router, struct route_agent *agent, bool reserved,
                          struct agent_capacity *capacity)
{
    assert(!reserved || agent->starting > 0);
    capacity->healthy = agent->status.healthy || agent->pause != NULL;
    capacity->latency_p95_ms = agent->status.latency_p95_ms;
    capacity->free = 0;
    if (agent->pause != NULL) {
        capacity->why = text_of(agent->pause);
        return;
    }
    if (!agent->status.healthy) {
        capacity->why = text_of(agent->status.why);
        return;
    }
    int64_t free = route_agent_free(agent) + reserved;
    int64_t left = free - reserved - not_picked(agent);
    capacity->why = router->options.switched_off ? TEXT("routing is switched off")
                                                 : capacity_reason(agent, free);
    if (left > 0)
        capacity->free = left + reserved;
    else if (reserved)
        capacity->free = free > 1 ? 1 : free;
    else if (free > 0)
        capacity->why = TEXT("others wait before it");
    assert(capacity->free == 0 || capacity->free <= free);
    assert(reserved || capacity->free + not_picked(agent) <= free || capacity->free == 0);
}

const struct routing *router_routing(struct router *router, const struct workflow *workflow,
                                     const struct route_agent *reserved)
{
    struct route_plan *plan = NULL;
    if (workflow == NULL)
        return &router->no_agents;
    HASH_FIND_PTR(router->plans, &workflow, plan);
    if (plan == NULL)
        plan = new_plan(router, workflow);
    assert(plan->workflow == workflow);
    assert(plan->routing.count <= WORKFLOW_AGENTS_MAX);
    for (uint32_t i = 0; i < plan->routing.count; i++)
        fill_capacity(router, plan->agents[i], plan->agents[i] == reserved, &plan->capacities[i]);
    return &plan->routing;
}

/* ---- life ---- */

static void pick_deferred(void *ctx)
{
    struct router *router = ctx;
    if (router_pick(router, false))
        loop_defer(router->options.loop, &router->picking);
}

struct router *router_new(const struct router_options *options)
{
    struct router *router = calloc(1, sizeof(*router));
    assert(router != NULL);
    assert(options->retry_ms_min > 0 && options->retry_ms_max >= options->retry_ms_min);
    router->options = *options;
    router->no_agents = (struct routing){.retry_ms_min = options->retry_ms_min,
                                         .retry_ms_max = options->retry_ms_max,
                                         .first_only = options->switched_off};
    loop_deferred_init(&router->picking, pick_deferred, router);
    return router;
}

void router_free(struct router *router)
{
    struct route_agent *agent, *next_agent;
    struct route_queue *queue, *next_queue;
    struct route_plan *plan, *next_plan;
    if (router == NULL)
        return;
    assert(router->partitions == NULL);
    assert(router->waiting == 0);
    if (router->options.loop != NULL)
        loop_defer_cancel(router->options.loop, &router->picking);
    HASH_ITER(hh, router->agents, agent, next_agent) {
        assert(agent->running == 0 && agent->starting == 0);
        HASH_DEL(router->agents, agent);
        free(agent->pause);
        free(agent);
    }
    HASH_ITER(hh, router->queues, queue, next_queue) {
        HASH_DEL(router->queues, queue);
        free(queue);
    }
    HASH_ITER(hh, router->plans, plan, next_plan) {
        HASH_DEL(router->plans, plan);
        free(plan->capacities);
        free(plan->agents);
        free(plan);
    }
    free(router);
}

void router_pick_soon(struct router *router)
{
    assert(router->waiting >= 0);
    if (router->waiting > 0 && router->options.loop != NULL)
        loop_defer(router->options.loop, &router->picking);
}
