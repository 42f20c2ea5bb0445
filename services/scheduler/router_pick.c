/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is when an agent has room again. Of those that wait only the first ones are in
 * memory; which ones they are is read from the stores as they are needed. */
#include "replica/view.h"
#include "services/scheduler/router_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    PICKS_MAX = 256,   /* in one turn of the loop */
    ASKED_MAX = 10000, /* of one partition, on their way */
    KEY_MAX = 1 + ORDER_ID_BYTES_MAX
};

/* A StartStep command on its way. */
struct route_asked {
    UT_hash_handle hh;
    struct route_agent *agent; /* where its room is reserved */
    struct backlog_lane *lane;
    enum priority priority;
    uint32_t number;
    char key[KEY_MAX]; /* step | order id */
};

static uint32_t make_key(struct text order_id, uint32_t step, char key[KEY_MAX])
{
    assert(order_id.size <= ORDER_ID_BYTES_MAX && step < WORKFLOW_STEPS_MAX);
    key[0] = (char)step;
    if (order_id.size > 0)
        memcpy(key + 1, order_id.data, order_id.size);
    return 1 + order_id.size;
}

static struct route_asked *find_asked(const struct route_source *source, struct text order_id,
                                      uint32_t step)
{
    struct route_asked *asked = NULL;
    char key[KEY_MAX];
    if (source->asked == NULL || order_id.size > ORDER_ID_BYTES_MAX)
        return NULL;
    uint32_t size = make_key(order_id, step, key);
    HASH_FIND(hh, source->asked, key, size, asked);
    return asked;
}

static void drop_asked(struct route_source *source, struct route_asked *asked)
{
    HASH_DEL(source->asked, asked);
    assert(asked->agent->asked > 0 && asked->lane->asked[asked->priority] > 0);
    asked->agent->asked--;
    asked->lane->asked[asked->priority]--;
    asked->lane->dry[asked->priority] = false;
    free(asked);
}

/* ---- sources ---- */

void router_join(struct router *router, struct route_source *source)
{
    struct route_agent *agent;
    assert(source->asked == NULL && source->view != NULL && source->backlog != NULL);
    DL_APPEND(router->sources, source);
    for (agent = router->agents; agent != NULL; agent = agent->hh.next)
        agent->inherited = agent->inherited || route_agent_waiting(agent) > 0;
    router_pick_soon(router);
}

void router_leave(struct router *router, struct route_source *source)
{
    struct route_asked *asked, *next;
    struct backlog_lane *lane;
    const struct route_source *joined;
    DL_SEARCH_SCALAR(router->sources, joined, ctx, source->ctx);
    if (joined == NULL)
        return;
    HASH_ITER(hh, source->asked, asked, next)
        drop_asked(source, asked);
    for (lane = source->backlog->lanes; lane != NULL; lane = lane->hh.next)
        backlog_lane_forget(lane);
    DL_DELETE(router->sources, source);
}

const struct route_agent *router_reserved(const struct route_source *source, struct text order_id,
                                          uint32_t step)
{
    const struct route_asked *asked = find_asked(source, order_id, step);
    return asked != NULL ? asked->agent : NULL;
}

void router_settle(struct router *router, struct route_source *source, struct text order_id,
                   uint32_t step, bool waits)
{
    struct route_asked *asked = find_asked(source, order_id, step);
    if (asked == NULL)
        return;
    /* Whatever the reason, asking again at once would not help. */
    if (waits)
        asked->agent->paused = true;
    drop_asked(source, asked);
    router_pick_soon(router);
}

void router_unask(struct router *router, struct route_source *source, uint32_t number)
{
    struct route_asked *asked, *next;
    (void)router;
    HASH_ITER(hh, source->asked, asked, next) {
        if (asked->number != number)
            continue;
        asked->agent->paused = true;
        drop_asked(source, asked);
        return;
    }
}

void router_stored(struct router *router, struct route_source *source)
{
    struct backlog_lane *lane;
    if (router->waiting == 0)
        return;
    for (lane = source->backlog->lanes; lane != NULL; lane = lane->hh.next) {
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            lane->dry[priority] = lane->stale[priority] = false;
    }
    router_pick_soon(router);
}

/* ---- who is first in a lane ---- */

struct refill {
    const struct route_source *source;
    struct backlog_lane *lane;
    struct heads *heads;
    int64_t first; /* of the rows, asked for or not */
};

static bool visit_row(void *ctx, const struct waiting_row *row)
{
    struct refill *refill = ctx;
    struct heads *heads = refill->heads;
    if (row->queued_at < refill->first)
        refill->first = row->queued_at;
    if (find_asked(refill->source, row->order_id, refill->lane->lane->step) != NULL)
        return true;
    struct head *head = &heads->of[heads->count++];
    assert(row->order_id.size <= sizeof(head->id));
    head->queued_at = row->queued_at;
    head->id_size = row->order_id.size;
    memcpy(head->id, row->order_id.data, row->order_id.size);
    return heads->count < HEADS_MAX;
}

/* Reads on from the first one that waits. A store that cannot be read is found out by its owner. */
static void refill_lane(const struct route_source *source, struct backlog_lane *lane,
                        enum priority priority)
{
    if (lane->heads[priority] == NULL)
        lane->heads[priority] = malloc(sizeof(*lane->heads[priority]));
    struct heads *heads = lane->heads[priority];
    assert(heads != NULL);
    heads->count = heads->next = 0;
    struct refill refill = {source, lane, heads, INT64_MAX};
    struct text key = {lane->lane->key, lane->lane->key_size};
    struct error error;
    if (store_scan_waiting(view_store(source->view), key, priority, lane->low[priority], visit_row,
                           &refill, &error) != ERROR_OK)
        heads->count = 0;
    else if (refill.first != INT64_MAX)
        lane->low[priority] = refill.first;
    lane->dry[priority] = heads->count == 0;
}

/* NULL: none that was not asked for, as far as the store knows. */
static const struct head *first_of(const struct route_source *source, struct backlog_lane *lane,
                                   enum priority priority)
{
    if (lane->waiting[priority] <= lane->asked[priority])
        return NULL;
    struct heads *heads = lane->heads[priority];
    if (heads == NULL || heads->next == heads->count) {
        if (lane->dry[priority] || lane->stale[priority])
            return NULL;
        refill_lane(source, lane, priority);
        heads = lane->heads[priority];
    }
    return heads->next < heads->count ? &heads->of[heads->next] : NULL;
}

/* ---- who is first at an agent ---- */

struct choice {
    struct route_source *source;
    struct backlog_lane *lane;
    const struct head *head;
};

static bool names(const struct route_lane *lane, const struct route_agent *agent)
{
    bool found = false;
    for (uint32_t i = 0; i < lane->agent_count && !found; i++)
        found = lane->agents[i] == agent;
    return found;
}

static void look_at_lane(struct route_source *source, struct backlog_lane *lane,
                         struct choice choices[PRIORITY_COUNT])
{
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        struct choice *choice = &choices[priority];
        const struct head *head = first_of(source, lane, (enum priority)priority);
        if (head != NULL && (choice->head == NULL || head->queued_at < choice->head->queued_at))
            *choice = (struct choice){source, lane, head};
    }
}

static void look_around(struct router *router, const struct route_agent *agent,
                        struct choice choices[PRIORITY_COUNT])
{
    struct route_source *source;
    struct backlog_lane *lane;
    DL_FOREACH(router->sources, source) {
        if (source->suspended || HASH_COUNT(source->asked) >= ASKED_MAX)
            continue;
        for (lane = source->backlog->lanes; lane != NULL; lane = lane->hh.next) {
            if (router_resolve(router, lane->lane) && names(lane->lane, agent))
                look_at_lane(source, lane, choices);
        }
    }
}

static void note_asked(const struct choice *choice, enum priority priority,
                       struct route_agent *agent, const struct route_pick *pick)
{
    struct route_asked *asked = calloc(1, sizeof(*asked));
    assert(asked != NULL);
    asked->agent = agent;
    asked->lane = choice->lane;
    asked->priority = priority;
    asked->number = pick->number;
    uint32_t size = make_key(pick->order_id, pick->step, asked->key);
    HASH_ADD_KEYPTR(hh, choice->source->asked, asked->key, size, asked);
    agent->asked++;
    choice->lane->asked[priority]++;
}

/* False: none waits, or nothing can be asked for now. */
static bool pick_one(struct router *router, struct route_agent *agent)
{
    struct choice choices[PRIORITY_COUNT] = {{NULL, NULL, NULL}};
    bool waiting[PRIORITY_COUNT];
    look_around(router, agent, choices);
    for (int i = 0; i < PRIORITY_COUNT; i++)
        waiting[i] = choices[i].head != NULL;
    int priority = shares_pick(&agent->shares, waiting);
    if (priority < 0)
        return false;
    const struct choice *choice = &choices[priority];
    const struct route_pick pick = {.order_id = {choice->head->id, choice->head->id_size},
                                    .step = choice->lane->lane->step,
                                    .direction = choice->lane->lane->direction,
                                    .number = ++router->pick_number};
    enum route_answer answer = choice->source->ops->ask(choice->source->ctx, &pick);
    if (answer == ROUTE_LATER) {
        agent->paused = true;
        return false;
    }
    if (answer == ROUTE_ASKED)
        note_asked(choice, (enum priority)priority, agent, &pick);
    else
        choice->lane->stale[priority] = true; /* its row goes with the batch under way */
    choice->lane->heads[priority]->next++;
    return true;
}

/* A first one that was read earlier may be decided and stored by the time its turn comes: then no
 * batch is under way that would say so. */
static void look_again(struct router *router)
{
    struct route_source *source;
    struct backlog_lane *lane;
    DL_FOREACH(router->sources, source)
        for (lane = source->backlog->lanes; lane != NULL; lane = lane->hh.next)
            for (int priority = 0; priority < PRIORITY_COUNT; priority++)
                lane->stale[priority] = false;
}

bool router_pick(struct router *router, bool afresh)
{
    struct route_agent *agent;
    uint32_t picks = 0;
    if (router->waiting == 0)
        return false;
    if (afresh)
        look_again(router);
    for (agent = router->agents; agent != NULL; agent = agent->hh.next) {
        agent->paused = agent->paused && !afresh;
        while (picks < PICKS_MAX && !agent->paused && route_agent_free(agent) > 0 &&
               pick_one(router, agent))
            picks++;
    }
    return picks == PICKS_MAX;
}
