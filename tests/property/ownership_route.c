/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_route.h"

#include "services/scheduler/router/internal.h"

#include <assert.h>

enum { ROUTED_PERCENT = 40, SWITCHED_OFF_PERCENT = 25, PAUSE_PERCENT = 30, CALLS_MAX = 3 };

static struct router *new_router(const struct instance *instance, bool switched_off)
{
    struct router_options options = {.switched_off = switched_off,
                                     .loop = instance->process.service.loop,
                                     .workflows = instance->process.cluster->workflows,
                                     .factor = 1,
                                     .retry_ms_min = 500,
                                     .retry_ms_max = 2000,
                                     .weights = {4, 2, 1}};
    return router_new(&options);
}

static void set_agent(struct router *router, struct text agent, bool well, int64_t calls)
{
    struct agent_status health = {
        .healthy = well, .calls = calls, .latency_p95_ms = 3, .why = "no live instance"};
    if (!router->options.switched_off)
        router_set_agent(router, agent, &health);
}

/* The instance reads of the pause, or of its end, in its own time. */
static void learn_of_pause(const struct world *world, const struct instance *instance)
{
    router_pause_agent(instance->router, TEXT("agent"),
                       world->agent_paused ? "paused by ann: the service is down" : NULL);
}

void route_boot(struct world *world, struct instance *instance)
{
    if (!world->routed)
        return;
    instance->router = new_router(instance, world->routing_off);
    learn_of_pause(world, instance); /* no step starts before the topic of agents was read */
    if (world->routing_off)
        router_begin(instance->router);
    set_agent(instance->router, TEXT("agent"), true, 1 + dice_roll(&world->dice, CALLS_MAX));
    if (world->spare != NULL)
        set_agent(instance->router, TEXT("spare"), true, CALLS_MAX);
}

void route_shut(struct instance *instance)
{
    router_free(instance->router);
    instance->router = NULL;
}

void route_tick(struct instance *instance)
{
    if (instance->router != NULL)
        router_pick(instance->router, true);
}

void route_disturb(struct world *world, struct instance *instance)
{
    if (instance->router == NULL)
        return;
    set_agent(instance->router, TEXT("agent"), dice_percent(&world->dice, 60),
              dice_roll(&world->dice, CALLS_MAX + 1));
    if (dice_percent(&world->dice, PAUSE_PERCENT)) {
        world->agent_paused = !world->agent_paused;
        world->run->sometimes.counts[SOMETIMES_AGENT_PAUSED] += world->agent_paused;
    }
    learn_of_pause(world, instance);
}

void route_make_peace(struct world *world, struct instance *instance)
{
    world->agent_paused = false;
    if (instance->router == NULL)
        return;
    set_agent(instance->router, TEXT("agent"), true, 2);
    learn_of_pause(world, instance);
}

void route_draw(struct world *world)
{
    world->routed = dice_percent(&world->dice, ROUTED_PERCENT);
    world->routing_off = world->routed && dice_percent(&world->dice, SWITCHED_OFF_PERCENT);
    world->agent_paused = false;
}

/* ---- comparing ---- */

struct sums {
    int64_t running;
    int64_t waiting;
};

static struct sums sums_of_fold(struct world *world, const struct fold *fold)
{
    struct sums sums = {0};
    for (uint32_t i = 0; i < fold->order_count; i++) {
        const struct order *order = &fold->orders[i];
        for (uint32_t s = 0; s < order->step_count; s++) {
            sums.running +=
                order->steps[s].state == STEP_PROCESSING && order->steps[s].suborders == NULL;
            sums.waiting += order_step_queued(order, &order->steps[s]);
        }
    }
    world->run->sometimes.counts[SOMETIMES_QUEUED] += sums.waiting > 0;
    return sums;
}

static bool count_row(void *ctx, const struct waiting_row *row)
{
    (void)row;
    ++*(int64_t *)ctx;
    return true;
}

/* Rows of the queues that the tally names. */
static int64_t count_rows(struct store *store, const struct backlog *backlog)
{
    int64_t rows = 0;
    struct error error;
    for (const struct backlog_queue *queue = backlog->queues; queue != NULL;
         queue = queue->hh.next) {
        struct text key = {queue->queue->key, queue->queue->key_size};
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            if (store_scan_waiting(store, key, (enum priority)priority, INT64_MIN, count_row, &rows,
                                   &error) != ERROR_OK)
                return -1;
    }
    return rows;
}

static const char *compare(const struct router *router, struct store *store,
                           const struct backlog *backlog, struct sums sums)
{
    int64_t running = 0;
    for (const struct backlog_agent *agent = backlog->agents; agent != NULL; agent = agent->hh.next)
        running += agent->running;
    if (running != sums.running || router->waiting != sums.waiting)
        return wrong("the tally has %lld running, %lld waiting, the log %lld and %lld",
                     (long long)running, (long long)router->waiting, (long long)sums.running,
                     (long long)sums.waiting);
    int64_t rows = count_rows(store, backlog);
    if (rows != sums.waiting)
        return wrong("the store has %lld rows of steps that wait, the log %lld", (long long)rows,
                     (long long)sums.waiting);
    return NULL;
}

struct live_rows {
    int64_t count;
    int64_t last; /* queued_at */
    bool misplaced;
};

static bool see_live_row(void *ctx, const struct waiting_row *row)
{
    struct live_rows *rows = ctx;
    rows->misplaced |= row->queued_at < rows->last;
    rows->last = row->queued_at;
    rows->count++;
    return true;
}

/* In a queue of a view that is ahead of its store. */
static const char *compare_live_queue(const struct route_partition *partition,
                                      const struct backlog_queue *queue, enum priority priority)
{
    struct error error;
    struct live_rows rows = {.last = INT64_MIN};
    struct text key = {queue->queue->key, queue->queue->key_size};
    if (view_store(partition->view) == NULL)
        return NULL;
    if (view_scan_waiting(partition->view, key, priority, INT64_MIN, see_live_row, &rows, &error) !=
        ERROR_OK)
        return wrong("scanning what waits: %s", error.message);
    if (rows.count == queue->waiting[priority] && !rows.misplaced)
        return NULL;
    return wrong("the view finds %lld steps that wait%s, and counts %lld", (long long)rows.count,
                 rows.misplaced ? " out of order" : "", (long long)queue->waiting[priority]);
}

const char *route_compare_live(const struct instance *instance)
{
    const char *failed = NULL;
    const struct route_partition *partition;
    if (instance->router == NULL)
        return NULL;
    for (partition = instance->router->partitions; partition != NULL; partition = partition->next)
        for (const struct backlog_queue *queue = partition->backlog->queues; queue != NULL;
             queue = queue->hh.next)
            for (int priority = 0; priority < PRIORITY_COUNT && failed == NULL; priority++)
                failed = compare_live_queue(partition, queue, (enum priority)priority);
    return failed;
}

const char *route_compare(struct world *world, const struct instance *instance, struct store *store,
                          const struct fold *fold)
{
    struct error error;
    struct text tally = {0};
    if (instance->router == NULL)
        return NULL;
    if (store_get_tally(store, &tally, &error) != ERROR_OK)
        return wrong("the tally: %s", error.message);
    if (tally.data == NULL)
        return fold->order_count == 0 ? NULL : wrong("there is no tally");
    struct router *router = new_router(instance, instance->router->options.switched_off);
    struct backlog *backlog = backlog_new(router, true);
    const char *failed = backlog_index.decode(backlog, tally)
                             ? compare(router, store, backlog, sums_of_fold(world, fold))
                             : wrong("the tally is none");
    store_row_free(tally);
    backlog_free(backlog);
    router_free(router);
    return failed;
}
