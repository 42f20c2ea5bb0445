/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/partition.h"

#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/supervisor/outstanding.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 50,
    REQUESTS_PER_TICK = 1000, /* the rest waits for the next tick */
    OUTSTANDING_MAX = 20000
};

struct watch {
    struct cluster *cluster;
    int32_t partition;
    struct follower *follower;
    struct watch_metrics *metrics;
    struct asked *asked;
    struct loop_timer timer;
    bool suspended;
    bool caught_up;
    int64_t low; /* no deadline in the index is before this: spares walking over tombstones */
    /* of the tick under way */
    int64_t now;
    int64_t first;
    uint32_t requests;
    struct error error;
    uint64_t outstanding; /* answers that still name this struct */
    bool freed;
};

static void on_requested(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct watch *watch = ctx;
    (void)token;
    (void)offset;
    watch->outstanding--;
    if (error != NULL && error_is(error)) /* asked again by itself: the log shows no outcome */
        log_warning_limited("a request was not delivered", LOG_I64("partition", watch->partition),
                            LOG_ERR(error));
    if (watch->freed && watch->outstanding == 0)
        free(watch);
}

static bool request(struct watch *watch, struct text order_id, const struct deadline *deadline)
{
    const struct order *order = NULL;
    struct command cmd;
    struct text by = text_of(watch->cluster->service->instance_id);
    if (view_order(follower_view(watch->follower), order_id, &order, &watch->error) != ERROR_OK)
        return false;
    if (order == NULL)
        return true;
    deadline_command(order, deadline, by, &cmd);
    FAILPOINT("supervisor.request");
    if (cluster_append(watch->cluster, BROKER_PRODUCER_LOG, watch->cluster->topics.commands,
                       watch->partition, order_id, (enum record_kind)cmd.kind, &cmd, on_requested,
                       watch, 0, &watch->error) != ERROR_OK)
        return false;
    watch->outstanding++;
    watch->requests++;
    metrics_add(watch->metrics->asked[deadline->kind], 1);
    metrics_observe_us(watch->metrics->late, (watch->now - deadline->due_at) * 1000);
    return true;
}

static bool visit_due(void *ctx, struct text order_id, const struct deadline *deadline)
{
    struct watch *watch = ctx;
    if (deadline->due_at < watch->first)
        watch->first = deadline->due_at;
    if (!asked_take(watch->asked, order_id, deadline, watch->now))
        return true;
    if (FAILPOINT_ERROR("supervisor.blind")) /* what an auditor is for */
        return true;
    return request(watch, order_id, deadline) && watch->requests < REQUESTS_PER_TICK;
}

static void on_tick(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct watch *watch = userdata;
    struct error error;
    loop_timer_after(loop, timer, TICK_MS);
    /* What was folded but is not yet in the index would end up before `low`, never to be seen. */
    if (watch->caught_up)
        follower_commit(watch->follower);
    if (watch->suspended || !watch->caught_up || watch->outstanding > OUTSTANDING_MAX ||
        follower_is_stopped(watch->follower, NULL))
        return;
    watch->now = clock_wall_ms(watch->cluster->service->clock);
    watch->first = INT64_MAX;
    watch->requests = 0;
    watch->error = (struct error){0};
    struct store *store = view_store(follower_view(watch->follower));
    if (store_scan_deadlines(store, watch->low, watch->now, visit_due, watch, &error) != ERROR_OK)
        watch->error = error;
    if (watch->error.class == ERROR_FATAL) {
        watch->caught_up = false;
        follower_restart(watch->follower, true, 0);
        return;
    }
    view_tidy(follower_view(watch->follower));
    int64_t low = watch->first == INT64_MAX ? watch->now : watch->first;
    if (low > watch->low)
        watch->low = low;
}

/* ---- what the log shows ---- */

/* An early request is answered with the time when it is due: the deadline is armed anew, by the
 * scheduler's clock. */
static void learn_not_due(struct watch *watch, const struct order *order,
                          const struct decision *decision, const struct command_rejected *rejected)
{
    struct deadline deadlines[DEADLINES_MAX];
    if (rejected->due_at == 0)
        return;
    metrics_add(watch->metrics->early, 1);
    uint32_t count = deadlines_of(order, deadlines);
    int64_t at =
        clock_wall_ms(watch->cluster->service->clock) + rejected->due_at - decision->decided_at;
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at == rejected->due_at)
            asked_postpone(watch->asked, order->details.order_id, &deadlines[i], at);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct watch *watch = ctx;
    struct deadline deadlines[DEADLINES_MAX];
    (void)record;
    if (folded->admission != ADMITTED && folded->admission != SKIPPED_REPEAT)
        metrics_add(watch->metrics->skipped, 1);
    if (folded->kind != RECORD_DECISION || folded->admission != ADMITTED || folded->order == NULL)
        return;
    const struct decision *decision = &folded->record->decision;
    for (uint32_t i = 0; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_COMMAND_REJECTED)
            learn_not_due(watch, folded->order, decision, &decision->events[i].command_rejected);
    uint32_t count = deadlines_of(folded->order, deadlines);
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at < watch->low)
            watch->low = deadlines[i].due_at;
}

static void on_checked(void *ctx)
{
    struct watch *watch = ctx;
    follower_run(watch->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct watch *watch = ctx;
    watch->caught_up = true;
}

/* What it knows grows old: it asks for nothing until it has folded the rest. */
static void on_paused(void *ctx)
{
    struct watch *watch = ctx;
    watch->caught_up = false;
}

static void on_dropped(void *ctx)
{
    struct watch *watch = ctx;
    watch->caught_up = false;
    watch->low = 0;
}

static const struct follower_ops follower_ops = {.checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_dropped,
                                                 .paused = on_paused};

/* ---- life ---- */

enum error_class watch_new(struct cluster *cluster, int32_t partition,
                           const struct view_options *options, struct watch_metrics *metrics,
                           struct watch **ret_watch, struct error *ret_error)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    assert(watch != NULL && options->deadlines);
    watch->cluster = cluster;
    watch->partition = partition;
    watch->metrics = metrics;
    enum error_class class = follower_new(cluster, partition, options, &follower_ops, watch,
                                          &watch->follower, ret_error);
    if (class != ERROR_OK) {
        free(watch);
        return class;
    }
    watch->asked = asked_new();
    loop_timer_init(&watch->timer, on_tick, watch);
    loop_timer_after(cluster->service->loop, &watch->timer, TICK_MS);
    *ret_watch = watch;
    return ERROR_OK;
}

void watch_free(struct watch *watch)
{
    loop_timer_cancel(watch->cluster->service->loop, &watch->timer);
    follower_commit(watch->follower);
    follower_free(watch->follower);
    asked_free(watch->asked);
    watch->freed = true;
    if (watch->outstanding == 0)
        free(watch);
}

void watch_suspend(struct watch *watch, bool suspended)
{
    watch->suspended = suspended;
}

bool watch_is_ready(const struct watch *watch)
{
    return watch->caught_up && !follower_is_stopped(watch->follower, NULL);
}

bool watch_trouble(const struct watch *watch, char *ret_text, size_t size)
{
    const struct error *error = NULL;
    if (!follower_is_stopped(watch->follower, &error))
        return false;
    snprintf(ret_text, size, "partition %d: %s", watch->partition, error->message);
    return true;
}

int32_t watch_partition(const struct watch *watch)
{
    return watch->partition;
}

struct view *watch_view(const struct watch *watch)
{
    return follower_view(watch->follower);
}

int64_t watch_next_offset(const struct watch *watch)
{
    return view_checkpoint(follower_view(watch->follower))->next_event_offset;
}

int64_t watch_lag(const struct watch *watch)
{
    return follower_lag(watch->follower);
}
