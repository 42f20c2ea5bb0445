/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the next step when an agent has free capacity. Only the heads of the queues are kept; they
 * are read from the views as they are needed. */
#include "replica/fold/view.h"
#include "services/scheduler/router/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    PICKS_MAX = 256,    /* in one turn of the loop */
    STARTS_MAX = 10000, /* of one partition, on their way */
    KEY_MAX = 1 + ORDER_ID_BYTES_MAX
};

/* A StartStep command on its way. */
struct route_start {
    UT_hash_handle hh;
    struct route_agent *agent; /* where its capacity is reserved */
    struct backlog_queue *queue;
    enum priority priority;
    uint32_t number;
    char key[KEY_MAX]; /* step | order id */
};

static uint32_t make_key(struct text order_id, uint32_t step, char key[KEY_MAX])
{
    assert(order_id.size <= ORDER_ID_BYTES_MAX);
    assert(step < WORKFLOW_STEPS_MAX);
    key[0] = (char)step;
    if (order_id.size > 0)
        memcpy(key + 1, order_id.data, order_id.size);
    return 1 + order_id.size;
}

static struct route_start *find_start(const struct route_partition *partition, struct text order_id,
                                      uint32_t step)
{
    struct route_start *start = NULL;
    char key[KEY_MAX];
    if (partition->starts == NULL || order_id.size > ORDER_ID_BYTES_MAX)
        return NULL;
    uint32_t size = make_key(order_id, step, key);
    HASH_FIND(hh, partition->starts, key, size, start);
    assert(start == NULL || !partition->held);
    assert(start == NULL || start->agent->starting > 0);
    return start;
}

static void drop_start(struct route_partition *partition, struct route_start *start)
{
    HASH_DEL(partition->starts, start);
    assert(start->agent->starting > 0);
    assert(start->queue->starting[start->priority] > 0);
    start->agent->starting--;
    start->queue->starting[start->priority]--;
    start->queue->dry[start->priority] = false;
    free(start);
}

/* ---- partitions ---- */

void router_join(struct router *router, struct route_partition *partition)
{
    struct route_agent *agent;
    assert(partition->start != NULL);
    assert(partition->view != NULL);
    assert(partition->backlog != NULL);
    assert(partition->starts == NULL);
    assert(partition->prev == NULL && partition->next == NULL);
    DL_APPEND(router->partitions, partition);
    for (agent = router->agents; agent != NULL; agent = agent->hh.next)
        agent->inherited = agent->inherited || route_agent_waiting(agent) > 0;
    router_pick_soon(router);
}

void router_leave(struct router *router, struct route_partition *partition)
{
    struct route_start *start, *next;
    struct backlog_queue *queue;
    const struct route_partition *joined;
    DL_SEARCH_SCALAR(router->partitions, joined, ctx, partition->ctx);
    if (joined == NULL)
        return;
    HASH_ITER(hh, partition->starts, start, next)
        drop_start(partition, start);
    for (queue = partition->backlog->queues; queue != NULL; queue = queue->hh.next)
        backlog_queue_forget(queue);
    assert(partition->starts == NULL);
    DL_DELETE(router->partitions, partition);
}

void router_hold(struct router *router, struct route_partition *partition, bool held)
{
    struct route_start *start, *next;
    struct backlog_queue *queue;
    assert(router->partitions != NULL);
    if (partition->held == held)
        return;
    assert(held || partition->starts == NULL);
    partition->held = held;
    HASH_ITER(hh, partition->starts, start, next)
        drop_start(partition, start);
    for (queue = partition->backlog->queues; queue != NULL; queue = queue->hh.next)
        backlog_queue_forget(queue);
    assert(partition->starts == NULL);
    backlog_set_active(partition->backlog, !held);
    router_pick_soon(router);
}

const struct route_agent *router_reserved(const struct route_partition *partition,
                                          struct text order_id, uint32_t step)
{
    const struct route_start *start = find_start(partition, order_id, step);
    assert(start == NULL || start->agent->starting > 0);
    return start != NULL ? start->agent : NULL;
}

void router_start_decided(struct router *router, struct route_partition *partition,
                          struct text order_id, uint32_t step, bool waits)
{
    struct route_start *start = find_start(partition, order_id, step);
    if (start == NULL)
        return;
    /* Whatever the reason, another StartStep now would not help. */
    if (waits)
        start->agent->refused = true;
    drop_start(partition, start);
    router_pick_soon(router);
}

void router_start_failed(struct router *router, struct route_partition *partition, uint32_t number)
{
    struct route_start *start, *next;
    (void)router;
    HASH_ITER(hh, partition->starts, start, next) {
        if (start->number != number)
            continue;
        assert(!partition->held);
        start->agent->refused = true;
        drop_start(partition, start);
        return;
    }
}

void router_acknowledged(struct router *router, struct route_partition *partition)
{
    struct backlog_queue *queue;
    assert(router->waiting >= 0);
    if (router->waiting == 0)
        return;
    for (queue = partition->backlog->queues; queue != NULL; queue = queue->hh.next) {
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            queue->dry[priority] = queue->stale[priority] = false;
    }
    router_pick_soon(router);
}

/* ---- the head of a queue ---- */

struct queue_refill {
    const struct route_partition *partition;
    struct backlog_queue *queue;
    struct queue_heads *heads;
    int64_t first; /* of all rows, with or without a StartStep on its way */
};

static bool visit_row(void *ctx, const struct waiting_row *row)
{
    struct queue_refill *refill = ctx;
    struct queue_heads *heads = refill->heads;
    if (row->queued_at < refill->first)
        refill->first = row->queued_at;
    if (find_start(refill->partition, row->order_id, refill->queue->queue->step) != NULL)
        return true;
    assert(heads->count < HEADS_MAX);
    struct queue_head *head = &heads->of[heads->count++];
    assert(row->order_id.size <= sizeof(head->id)); /* the store's keys are bounded */
    head->queued_at = row->queued_at;
    head->id_size = row->order_id.size;
    memcpy(head->id, row->order_id.data, row->order_id.size);
    return heads->count < HEADS_MAX;
}

/* Reads on from the first step that waits. An unreadable store is left to its owner to notice. */
static void refill_queue(const struct route_partition *partition, struct backlog_queue *queue,
                         enum priority priority)
{
    if (queue->heads[priority] == NULL)
        queue->heads[priority] = malloc(sizeof(*queue->heads[priority]));
    struct queue_heads *heads = queue->heads[priority];
    assert(heads != NULL);
    heads->count = heads->next = 0;
    struct queue_refill refill = {partition, queue, heads, INT64_MAX};
    struct text key = {queue->queue->key, queue->queue->key_size};
    struct error error;
    if (view_scan_waiting(partition->view, key, priority, queue->low[priority], visit_row, &refill,
                          &error) != ERROR_OK)
        heads->count = 0;
    else if (refill.first != INT64_MAX)
        queue->low[priority] = refill.first;
    assert(heads->count <= HEADS_MAX && heads->next == 0);
    queue->dry[priority] = heads->count == 0;
}

/* NULL: no step waits without a StartStep on its way. */
static const struct queue_head *first_of(const struct route_partition *partition,
                                         struct backlog_queue *queue, enum priority priority)
{
    assert(queue->waiting[priority] >= 0 && queue->starting[priority] >= 0);
    if (queue->waiting[priority] <= queue->starting[priority])
        return NULL;
    struct queue_heads *heads = queue->heads[priority];
    if (heads == NULL || heads->next == heads->count) {
        if (queue->dry[priority] || queue->stale[priority])
            return NULL;
        refill_queue(partition, queue, priority);
        heads = queue->heads[priority];
    }
    assert(heads->next <= heads->count);
    return heads->next < heads->count ? &heads->of[heads->next] : NULL;
}

/* ---- the first step for an agent ---- */

struct route_choice {
    struct route_partition *partition;
    struct backlog_queue *queue;
    const struct queue_head *head;
};

static bool names(const struct route_queue *queue, const struct route_agent *agent)
{
    bool found = false;
    assert(queue->agent_count <= STEP_AGENTS_MAX);
    for (uint32_t i = 0; i < queue->agent_count && !found; i++)
        found = queue->agents[i] == agent;
    return found;
}

static void consider_queue(struct route_partition *partition, struct backlog_queue *queue,
                           struct route_choice choices[PRIORITY_COUNT])
{
    assert(!partition->suspended && !partition->held);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        struct route_choice *choice = &choices[priority];
        const struct queue_head *head = first_of(partition, queue, (enum priority)priority);
        if (head != NULL && (choice->head == NULL || head->queued_at < choice->head->queued_at))
            *choice = (struct route_choice){partition, queue, head};
    }
}

static void find_choices(struct router *router, const struct route_agent *agent,
                         struct route_choice choices[PRIORITY_COUNT])
{
    struct route_partition *partition;
    struct backlog_queue *queue;
    DL_FOREACH(router->partitions, partition) {
        assert(partition->backlog != NULL && HASH_COUNT(partition->starts) <= STARTS_MAX);
        if (partition->suspended || partition->held || HASH_COUNT(partition->starts) >= STARTS_MAX)
            continue;
        for (queue = partition->backlog->queues; queue != NULL; queue = queue->hh.next) {
            if (names(queue->queue, agent))
                consider_queue(partition, queue, choices);
        }
    }
}

static void note_start(const struct route_choice *choice, enum priority priority,
                       struct route_agent *agent, const struct route_pick *pick)
{
    struct route_start *start = calloc(1, sizeof(*start));
    assert(start != NULL);
    assert(find_start(choice->partition, pick->order_id, pick->step) == NULL);
    start->agent = agent;
    start->queue = choice->queue;
    start->priority = priority;
    start->number = pick->number;
    uint32_t size = make_key(pick->order_id, pick->step, start->key);
    HASH_ADD_KEYPTR(hh, choice->partition->starts, start->key, size, start);
    agent->starting++;
    choice->queue->starting[priority]++;
    assert(choice->queue->starting[priority] <= choice->queue->waiting[priority]);
}

/* False: no step waits, or no command can be sent now. */
static bool pick_one(struct router *router, struct route_agent *agent)
{
    struct route_choice choices[PRIORITY_COUNT] = {{NULL, NULL, NULL}};
    bool waiting[PRIORITY_COUNT];
    assert(!agent->refused && route_agent_free(agent) > 0);
    find_choices(router, agent, choices);
    for (int i = 0; i < PRIORITY_COUNT; i++)
        waiting[i] = choices[i].head != NULL;
    int priority = shares_pick(&agent->shares, waiting);
    if (priority < 0)
        return false;
    const struct route_choice *choice = &choices[priority];
    assert(priority < PRIORITY_COUNT && choice->head != NULL);
    assert(choice->queue->heads[priority] != NULL);
    assert(!choice->partition->suspended && !choice->partition->held);
    const struct route_queue *queue = choice->queue->queue;
    const struct route_pick pick = {.order_id = {choice->head->id, choice->head->id_size},
                                    .step = queue->step,
                                    .queue = {queue->key, queue->key_size},
                                    .number = ++router->pick_number};
    enum route_answer answer = choice->partition->start(choice->partition->ctx, &pick);
    if (answer == ROUTE_LATER) {
        agent->refused = true;
        return false;
    }
    if (answer == ROUTE_SENT)
        note_start(choice, (enum priority)priority, agent, &pick);
    else
        choice->queue->stale[priority] = true; /* it was decided since it was read */
    choice->queue->heads[priority]->next++;
    assert(choice->queue->heads[priority]->next <= choice->queue->heads[priority]->count);
    return true;
}

/* A head that was read earlier may be decided and acknowledged when its turn comes: then no batch
 * under way will call router_acknowledged(). */
static void forget_stale(struct router *router)
{
    struct route_partition *partition;
    struct backlog_queue *queue;
    DL_FOREACH(router->partitions, partition)
        for (queue = partition->backlog->queues; queue != NULL; queue = queue->hh.next)
            for (int priority = 0; priority < PRIORITY_COUNT; priority++)
                queue->stale[priority] = false;
}

/* The store may be ahead of the workflows' topic: a queue's agents are known only once its workflow
 * was read, and until then no agent may be known at all. */
static void resolve_queues(struct router *router)
{
    struct route_queue *queue;
    for (queue = router->queues; queue != NULL; queue = queue->hh.next)
        router_resolve(router, queue);
}

/* Where routing is switched off: the next one of the growing numbers of starts; the smallest again
 * once nothing waits. */
static void renew_credit(struct route_agent *agent)
{
    if (route_agent_waiting(agent) == 0 || agent->pause != NULL)
        agent->credit_last = 0;
    agent->credit_last += ROUTER_SLOW_STARTS;
    agent->credit = agent->credit_last;
    assert(agent->credit > 0);
}

/* Whether a step that waits for it may start now. */
static bool may_pick(const struct router *router, const struct route_agent *agent)
{
    return !agent->refused && route_agent_free(agent) > 0 &&
           (!router->options.switched_off || agent->credit > 0);
}

bool router_pick(struct router *router, bool afresh)
{
    struct route_agent *agent;
    uint32_t picks = 0;
    if (router->waiting == 0)
        return false;
    if (afresh) {
        forget_stale(router);
        resolve_queues(router);
    }
    for (agent = router->agents; agent != NULL; agent = agent->hh.next) {
        agent->refused = agent->refused && !afresh;
        if (afresh && router->options.switched_off)
            renew_credit(agent);
        while (picks < PICKS_MAX && may_pick(router, agent) && pick_one(router, agent)) {
            agent->credit -= router->options.switched_off;
            picks++;
        }
    }
    assert(picks <= PICKS_MAX);
    return picks == PICKS_MAX;
}
