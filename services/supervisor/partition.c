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

struct supervisor_partition {
    struct cluster *cluster;
    int32_t number;
    struct follower *follower;
    struct supervisor_metrics *metrics;
    struct outstanding *outstanding;
    struct loop_timer timer;
    bool suspended;
    bool caught_up;
    int64_t low; /* no deadline in the index is before this: spares walking over tombstones */
    /* of the tick under way */
    int64_t now;
    int64_t first;
    uint32_t requests;
    struct error error;
    uint64_t unanswered; /* answers that still name this struct */
    bool freed;
};

static void on_request_appended(void *ctx, uint64_t token, int64_t offset,
                                const struct error *error)
{
    struct supervisor_partition *partition = ctx;
    (void)token;
    (void)offset;
    partition->unanswered--;
    if (error != NULL && error_is(error)) /* repeated by itself: the log shows no outcome */
        log_warning_limited("a request to the scheduler was not delivered",
                            LOG_I64("partition", partition->number), LOG_ERR(error));
    if (partition->freed && partition->unanswered == 0)
        free(partition);
}

static bool request(struct supervisor_partition *partition, struct text order_id,
                    const struct deadline *deadline)
{
    const struct order *order = NULL;
    struct command cmd;
    struct text by = text_of(partition->cluster->service->instance_id);
    if (view_order(follower_view(partition->follower), order_id, &order, &partition->error) !=
        ERROR_OK)
        return false;
    if (order == NULL)
        return true;
    deadline_command(order, deadline, by, &cmd);
    FAILPOINT("supervisor.request");
    if (cluster_append(partition->cluster, BROKER_PRODUCER_LOG, partition->cluster->topics.commands,
                       partition->number, order_id, (enum record_kind)cmd.kind, &cmd,
                       on_request_appended, partition, 0, &partition->error) != ERROR_OK)
        return false;
    partition->unanswered++;
    partition->requests++;
    metrics_add(partition->metrics->requests[deadline->kind], 1);
    metrics_observe_us(partition->metrics->late, (partition->now - deadline->due_at) * 1000);
    return true;
}

static bool visit_due(void *ctx, struct text order_id, const struct deadline *deadline)
{
    struct supervisor_partition *partition = ctx;
    if (deadline->due_at < partition->first)
        partition->first = deadline->due_at;
    if (!outstanding_take(partition->outstanding, order_id, deadline, partition->now))
        return true;
    if (FAILPOINT_ERROR("supervisor.blind")) /* the auditor finds what this one misses */
        return true;
    return request(partition, order_id, deadline) && partition->requests < REQUESTS_PER_TICK;
}

static void on_tick(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct supervisor_partition *partition = userdata;
    struct error error;
    loop_timer_after(loop, timer, TICK_MS);
    /* A deadline that is folded but not yet in the index would end up before `low`, unseen. */
    if (partition->caught_up)
        follower_commit(partition->follower);
    if (partition->suspended || !partition->caught_up || partition->unanswered > OUTSTANDING_MAX ||
        follower_is_stopped(partition->follower, NULL))
        return;
    partition->now = clock_wall_ms(partition->cluster->service->clock);
    partition->first = INT64_MAX;
    partition->requests = 0;
    partition->error = (struct error){0};
    struct store *store = view_store(follower_view(partition->follower));
    if (store_scan_deadlines(store, partition->low, partition->now, visit_due, partition, &error) !=
        ERROR_OK)
        partition->error = error;
    if (partition->error.class == ERROR_FATAL) {
        partition->caught_up = false;
        follower_restart(partition->follower, true, 0);
        return;
    }
    view_tidy(follower_view(partition->follower));
    int64_t low = partition->first == INT64_MAX ? partition->now : partition->first;
    if (low > partition->low)
        partition->low = low;
}

/* ---- what the log shows ---- */

/* The scheduler answers an early request with the time when it is due: the deadline is armed again,
 * by the scheduler's clock. */
static void learn_not_due(struct supervisor_partition *partition, const struct order *order,
                          const struct decision *decision, const struct command_rejected *rejected)
{
    struct deadline deadlines[DEADLINES_MAX];
    if (rejected->due_at == 0)
        return;
    metrics_add(partition->metrics->early, 1);
    uint32_t count = deadlines_of(order, deadlines);
    int64_t at =
        clock_wall_ms(partition->cluster->service->clock) + rejected->due_at - decision->decided_at;
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at == rejected->due_at)
            outstanding_postpone(partition->outstanding, order->details.order_id, &deadlines[i],
                                 at);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct supervisor_partition *partition = ctx;
    struct deadline deadlines[DEADLINES_MAX];
    (void)record;
    if (folded->admission != ADMITTED && folded->admission != SKIPPED_REPEAT)
        metrics_add(partition->metrics->skipped, 1);
    if (folded->kind != RECORD_DECISION || folded->admission != ADMITTED || folded->order == NULL)
        return;
    const struct decision *decision = &folded->record->decision;
    for (uint32_t i = 0; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_COMMAND_REJECTED)
            learn_not_due(partition, folded->order, decision,
                          &decision->events[i].command_rejected);
    uint32_t count = deadlines_of(folded->order, deadlines);
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at < partition->low)
            partition->low = deadlines[i].due_at;
}

static void on_checked(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    follower_run(partition->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = true;
}

/* The view grows old: nothing is requested until the rest is folded. */
static void on_paused(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = false;
}

static void on_dropped(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = false;
    partition->low = 0;
}

static const struct follower_ops follower_ops = {.checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_dropped,
                                                 .paused = on_paused};

/* ---- life ---- */

enum error_class supervisor_partition_new(struct cluster *cluster, int32_t number,
                                          const struct view_options *options,
                                          struct supervisor_metrics *metrics,
                                          struct supervisor_partition **ret_partition,
                                          struct error *ret_error)
{
    struct supervisor_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL && options->deadlines);
    partition->cluster = cluster;
    partition->number = number;
    partition->metrics = metrics;
    enum error_class class = follower_new(cluster, number, options, &follower_ops, partition,
                                          &partition->follower, ret_error);
    if (class != ERROR_OK) {
        free(partition);
        return class;
    }
    partition->outstanding = outstanding_new();
    loop_timer_init(&partition->timer, on_tick, partition);
    loop_timer_after(cluster->service->loop, &partition->timer, TICK_MS);
    *ret_partition = partition;
    return ERROR_OK;
}

void supervisor_partition_free(struct supervisor_partition *partition)
{
    loop_timer_cancel(partition->cluster->service->loop, &partition->timer);
    follower_commit(partition->follower);
    follower_free(partition->follower);
    outstanding_free(partition->outstanding);
    partition->freed = true;
    if (partition->unanswered == 0)
        free(partition);
}

void supervisor_partition_suspend(struct supervisor_partition *partition, bool suspended)
{
    partition->suspended = suspended;
}

bool supervisor_partition_is_ready(const struct supervisor_partition *partition)
{
    return partition->caught_up && !follower_is_stopped(partition->follower, NULL);
}

bool supervisor_partition_trouble(const struct supervisor_partition *partition, char *ret_text,
                                  size_t size)
{
    const struct error *error = NULL;
    if (!follower_is_stopped(partition->follower, &error))
        return false;
    snprintf(ret_text, size, "partition %d: %s", partition->number, error->message);
    return true;
}

int32_t supervisor_partition_number(const struct supervisor_partition *partition)
{
    return partition->number;
}

struct view *supervisor_partition_view(const struct supervisor_partition *partition)
{
    return follower_view(partition->follower);
}

int64_t supervisor_partition_next_offset(const struct supervisor_partition *partition)
{
    return view_checkpoint(follower_view(partition->follower))->next_event_offset;
}

int64_t supervisor_partition_lag(const struct supervisor_partition *partition)
{
    return follower_lag(partition->follower);
}
