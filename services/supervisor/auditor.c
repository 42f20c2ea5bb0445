/* SPDX-License-Identifier: Apache-2.0 */
/* See auditor.h. One walk at a time: partition after partition, looked through a piece of orders
 * each tick; then a rest until auditor.interval.ms after the walk's beginning. What is not watched
 * here is folded to its end first, and closed again, so that it takes the memory of one partition
 * and folds in large batches. */
#include "services/supervisor/auditor.h"

#include "leader/leader.h"
#include "platform/logger.h"
#include "replica/follow/follower.h"
#include "services/supervisor/agent_cleaner.h"
#include "services/supervisor/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 50,
    REST_MS = 500,            /* between two signs of progress while nothing is to be done */
    ROWS_PER_TICK = 500,      /* 10,000 orders a second at most: a few percent of a core */
    CACHE_BYTES = 512 * 1024, /* it reads rows, not hot orders */
    OLD_NEWS_MS = 10000       /* folding what was appended before that: the view is behind */
};

struct audited {
    struct auditor *auditor;
    int32_t partition;
    struct follower *follower; /* of its own: NULL but while the walk is here */
    bool caught_up;
    int64_t folded_to; /* by whichever follower it reads, at the last tick */
    uint32_t stuck;    /* of the walk under way */
    char example[512];
    bool alerted; /* some were stuck at the last walk: the alert is open */
    int64_t alert_not_before;
};

struct auditor {
    struct cluster *cluster; /* the supervisor's */
    struct store_env *stores;
    struct auditor_watch watch;
    struct leader *leader;
    struct audited *audited; /* while it leads, else NULL */
    struct agent_cleaner *cleaner;
    bool leading;
    /* By the brokers' time: the newest renewal seen, and since when they have been there. */
    int64_t renewed_ms;
    int64_t reachable_since_ms;
    int64_t grace_ms; /* auditor.grace.ms */
    int64_t interval_ms;
    struct loop_timer timer;
    struct heap_arena scratch;
    /* the walk */
    int32_t at; /* partition; -1: resting */
    struct {
        char data[ORDER_ID_BYTES_MAX];
        uint32_t size;
    } cursor;
    uint32_t rows; /* of the tick under way */
    int64_t walk_began_ms;
};

/* ---- time ---- */

/* A renewal that comes late shows that the brokers were away, or this process was suspended. */
static void note_renewal(struct auditor *auditor)
{
    const struct election *election = leader_election(auditor->leader);
    if (election->log.last_ms - auditor->renewed_ms > election->options.lease_ms / 2)
        auditor->reachable_since_ms = election->log.last_ms;
    auditor->renewed_ms = election->log.last_ms;
}

/* By append times alone: no clock of this machine can make it longer. */
static int64_t silence_ms(void *ctx, int64_t appended_at)
{
    struct auditor *auditor = ctx;
    if (!leader_leads(auditor->leader))
        return 0;
    note_renewal(auditor);
    int64_t since =
        appended_at > auditor->reachable_since_ms ? appended_at : auditor->reachable_since_ms;
    return auditor->renewed_ms > since ? auditor->renewed_ms - since : 0;
}

/* ---- what it finds ---- */

static void note_stuck(struct audited *audited, const struct order *order,
                       enum audit_finding finding, int64_t overdue_ms)
{
    assert(finding == AUDIT_LOST || (finding == AUDIT_OVERDUE && overdue_ms >= 0));
    if (audited->stuck++ > 0)
        return;
    if (finding == AUDIT_LOST)
        snprintf(audited->example, sizeof(audited->example),
                 "order %.*s (%s) has neither a deadline nor a running attempt nor a "
                 "place in a queue nor an open alert",
                 TEXT_ARG(order->details.order_id), order_state_name(order->state));
    else
        snprintf(audited->example, sizeof(audited->example),
                 "order %.*s (%s) waits for what was due %" PRId64
                 " s ago: does its partition have a supervisor and a scheduler?",
                 TEXT_ARG(order->details.order_id), order_state_name(order->state),
                 overdue_ms / 1000);
}

static void close_alert(struct audited *audited, const char *why)
{
    if (audited->alerted)
        cluster_partition_alert(audited->auditor->cluster, audited->partition, false,
                                CODE_ORDER_STUCK, why);
    audited->alerted = false;
}

/* One alert for a partition, however many they are: often all have one cause. */
static void alert_stuck(struct audited *audited)
{
    char message[768];
    int64_t now = cluster_now_ms(audited->auditor->cluster);
    if (audited->stuck == 0)
        close_alert(audited, "no order of the partition is stuck any more");
    if (audited->stuck == 0 || (audited->alerted && now < audited->alert_not_before))
        return;
    audited->alerted = true;
    audited->alert_not_before = now + CLUSTER_STUCK_AGAIN_MS;
    snprintf(message, sizeof(message), "%s; %u more like it", audited->example, audited->stuck - 1);
    cluster_partition_alert(audited->auditor->cluster, audited->partition, true, CODE_ORDER_STUCK,
                            message);
}

/* ---- the walk ---- */

static bool visit(void *ctx, struct text order_id, struct text row)
{
    struct audited *audited = ctx;
    struct auditor *auditor = audited->auditor;
    struct record record;
    struct error error;
    int64_t due = 0;
    int64_t now = leader_brokers_now(auditor->leader);
    assert(order_id.size <= sizeof(auditor->cursor.data)); /* as store_scan_orders() has it */
    assert(auditor->rows < ROWS_PER_TICK);
    memcpy(auditor->cursor.data, order_id.data, order_id.size);
    auditor->cursor.size = order_id.size;
    heap_arena_reset(&auditor->scratch);
    if (codec_decode(auditor->cluster->codec, row, true, &auditor->scratch.arena, &record,
                     &error) != ERROR_OK ||
        record.kind != RECORD_ORDER_ROW) {
        log_warning_limited("the auditor cannot read an order of its store",
                            LOG_TEXT("order", order_id), LOG_ERR(&error));
        return ++auditor->rows < ROWS_PER_TICK;
    }
    const struct order *order = &record.order_row;
    enum audit_finding finding =
        audit_order(order, auditor->grace_ms, auditor->reachable_since_ms, now, &due);
    switch (finding) {
    case AUDIT_LOST:
    case AUDIT_OVERDUE:
        note_stuck(audited, order, finding, now - due);
        break;
    case AUDIT_CLEAN:
    case AUDIT_FINDING_COUNT:
        break;
    }
    return ++auditor->rows < ROWS_PER_TICK;
}

static void close_partition(struct audited *audited)
{
    if (audited->follower == NULL)
        return;
    follower_flush(audited->follower);
    follower_free(audited->follower);
    audited->follower = NULL;
}

static void next_partition(struct auditor *auditor)
{
    assert(auditor->at >= -1 && auditor->at < auditor->cluster->partition_count);
    auditor->cursor.size = 0;
    if (auditor->at >= 0)
        close_partition(&auditor->audited[auditor->at]);
    if (++auditor->at < auditor->cluster->partition_count) {
        auditor->audited[auditor->at].stuck = 0;
        return;
    }
    auditor->at = -1;
}

static void open_partition(struct auditor *auditor, int32_t partition);

/* NULL: neither watched here nor open. */
static struct follower *follower_of(const struct auditor *auditor, int32_t partition,
                                    bool *ret_current)
{
    const struct audited *audited = &auditor->audited[partition];
    struct follower *watched =
        auditor->watch.follower_of(auditor->watch.ctx, partition, ret_current);
    assert(watched == NULL || audited->follower == NULL); /* auditor_release() */
    if (watched != NULL)
        return watched;
    *ret_current = audited->caught_up;
    return audited->follower;
}

/* A piece of the partition that the walk is at, once it is folded to its end: old news would be
 * false alarms. A partition that cannot be folded is left for the next walk; one that cannot even
 * be opened is tried again, without progress, until another supervisor leads. */
static void walk(struct auditor *auditor)
{
    struct audited *audited = &auditor->audited[auditor->at];
    struct error error;
    bool current = false;
    assert(auditor->at >= 0 && auditor->at < auditor->cluster->partition_count);
    struct follower *follower = follower_of(auditor, auditor->at, &current);
    if (follower == NULL) {
        open_partition(auditor, auditor->at);
        return;
    }
    if (follower_is_stopped(follower, NULL) || follower_is_paused(follower)) {
        next_partition(auditor);
        return;
    }
    if (!current)
        return;
    auditor->rows = 0;
    struct store *store = view_store(follower_view(follower));
    struct text after = {auditor->cursor.data, auditor->cursor.size};
    if (store_scan_orders(store, after, visit, audited, &error) != ERROR_OK) {
        follower_restart(follower, true, 0);
        next_partition(auditor);
        return;
    }
    if (auditor->rows == ROWS_PER_TICK)
        return;
    alert_stuck(audited);
    next_partition(auditor);
}

/* The partition that the walk is at waits for its records, and none was folded since the last tick.
 * Another supervisor cannot do better where an operator has to act (stopped, disk full); it might
 * where this one cannot open the store. */
static bool is_stalled(const struct auditor *auditor)
{
    bool current = false;
    if (auditor->at < 0)
        return false;
    struct audited *audited = &auditor->audited[auditor->at];
    struct follower *follower = follower_of(auditor, auditor->at, &current);
    if (follower == NULL)
        return true;
    int64_t folded_to = follower_checkpoint(follower)->next_event_offset;
    bool folds = folded_to != audited->folded_to;
    audited->folded_to = folded_to;
    return !folds && !current && !follower_is_stopped(follower, NULL) &&
           !follower_is_paused(follower);
}

static void on_tick(void *ctx)
{
    struct auditor *auditor = ctx;
    int64_t now = cluster_now_ms(auditor->cluster);
    assert(auditor->leading && auditor->audited != NULL);
    note_renewal(auditor);
    if (auditor->at < 0 && now >= auditor->walk_began_ms + auditor->interval_ms) {
        auditor->walk_began_ms = now;
        next_partition(auditor);
    }
    if (auditor->at >= 0)
        walk(auditor);
    if (!is_stalled(auditor)) /* a rest between two walks counts as progress */
        leader_progress(auditor->leader);
    int64_t rest_ms = auditor->walk_began_ms + auditor->interval_ms - now;
    loop_timer_after(cluster_loop(auditor->cluster), &auditor->timer,
                     auditor->at >= 0 || rest_ms < TICK_MS ? TICK_MS
                     : rest_ms < REST_MS                   ? rest_ms
                                                           : REST_MS);
}

/* ---- the views ---- */

static void on_checked(void *ctx)
{
    struct audited *audited = ctx;
    follower_run(audited->follower, INT64_MAX);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct audited *audited = ctx;
    (void)folded;
    if (leader_brokers_now(audited->auditor->leader) - record->timestamp > OLD_NEWS_MS)
        audited->caught_up = false;
}

static void on_caught_up(void *ctx)
{
    struct audited *audited = ctx;
    audited->caught_up = true;
}

static void on_behind(void *ctx)
{
    struct audited *audited = ctx;
    audited->caught_up = false;
}

static const struct follower_ops follower_ops = {.comes_and_goes = true,
                                                 .checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_behind,
                                                 .paused = on_behind};

static void open_partition(struct auditor *auditor, int32_t partition)
{
    struct audited *audited = &auditor->audited[partition];
    struct error error;
    assert(audited->follower == NULL);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/partition-%d", auditor->cluster->service->data_dir, partition);
    struct view_options options = {.env = auditor->stores,
                                   .codec = auditor->cluster->codec,
                                   .path = path,
                                   .cache_bytes = CACHE_BYTES,
                                   .deadlines = true};
    audited->caught_up = false;
    if (follower_new(auditor->cluster, partition, &options, &follower_ops, audited,
                     &audited->follower, &error) != ERROR_OK) {
        audited->follower = NULL;
        log_error_limited("the auditor cannot open a partition", LOG_I64("partition", partition),
                          LOG_ERR(&error));
    }
}

void auditor_release(struct auditor *auditor, int32_t partition)
{
    if (auditor->audited != NULL)
        close_partition(&auditor->audited[partition]);
}

/* ---- leading ---- */

static void open_all(struct auditor *auditor)
{
    int32_t count = auditor->cluster->partition_count;
    int64_t now = cluster_now_ms(auditor->cluster);
    assert(auditor->leading && auditor->audited == NULL && count > 0);
    auditor->audited = calloc((size_t)count, sizeof(auditor->audited[0]));
    assert(auditor->audited != NULL);
    for (int32_t i = 0; i < count; i++) {
        auditor->audited[i].auditor = auditor;
        auditor->audited[i].partition = i;
    }
    auditor->cleaner = agent_cleaner_new(auditor->cluster, silence_ms, auditor);
    auditor->at = -1;
    auditor->walk_began_ms = now - auditor->interval_ms; /* the first one begins at once */
    loop_timer_after(cluster_loop(auditor->cluster), &auditor->timer, TICK_MS);
}

static void close_all(struct auditor *auditor)
{
    loop_timer_cancel(cluster_loop(auditor->cluster), &auditor->timer);
    agent_cleaner_free(auditor->cleaner);
    auditor->cleaner = NULL;
    if (auditor->audited == NULL)
        return;
    for (int32_t i = 0; i < auditor->cluster->partition_count; i++) {
        close_alert(&auditor->audited[i],
                    "this instance is no longer the auditor: the next one raises it if need be");
        close_partition(&auditor->audited[i]);
    }
    free(auditor->audited);
    auditor->audited = NULL;
}

static void on_begin(void *ctx, int64_t token)
{
    struct auditor *auditor = ctx;
    (void)token;
    assert(!auditor->leading && auditor->audited == NULL);
    auditor->leading = true;
    auditor->renewed_ms = leader_election(auditor->leader)->log.last_ms;
    auditor->reachable_since_ms = auditor->renewed_ms;
    open_all(auditor);
}

static void on_cancel(void *ctx, enum election_reason reason)
{
    struct auditor *auditor = ctx;
    (void)reason;
    auditor->leading = false;
    close_all(auditor);
    leader_ended(auditor->leader);
}

static const struct leader_ops leader_ops = {.begin = on_begin, .cancel = on_cancel};

/* ---- life ---- */

/* Earlier releases kept stores of the auditor's own. */
static void drop_former_stores(const struct auditor *auditor)
{
    char path[PATH_MAX];
    struct error error;
    for (int32_t i = 0; i < auditor->cluster->partition_count; i++) {
        snprintf(path, sizeof(path), "%s/auditor-%d", auditor->cluster->service->data_dir, i);
        if (store_drop(path, &error) != ERROR_OK)
            log_warning("a store of an earlier release remains", LOG_ERR(&error));
    }
}

enum error_class auditor_new(struct cluster *cluster, struct store_env *stores,
                             const struct auditor_watch *watch, struct auditor **ret_auditor,
                             struct error *ret_error)
{
    static const struct reeve_leader_options options = {.role = "auditor"};
    const struct config *config = cluster->service->config;
    struct auditor *auditor = calloc(1, sizeof(*auditor));
    assert(auditor != NULL);
    assert(cluster->ready);
    auditor->cluster = cluster;
    auditor->stores = stores;
    auditor->watch = *watch;
    auditor->grace_ms = config_ms(config, "auditor.grace.ms");
    auditor->interval_ms = config_ms(config, "auditor.interval.ms");
    heap_arena_init(&auditor->scratch, 64 * 1024);
    loop_timer_init(&auditor->timer, on_tick, auditor);
    enum error_class class =
        leader_new(cluster, &options, &leader_ops, auditor, &auditor->leader, ret_error);
    if (class != ERROR_OK) {
        heap_arena_deinit(&auditor->scratch);
        free(auditor);
        return class;
    }
    drop_former_stores(auditor);
    *ret_auditor = auditor;
    return ERROR_OK;
}

void auditor_stop(struct auditor *auditor, void (*stopped)(void *ctx), void *ctx)
{
    leader_stop(auditor->leader, stopped, ctx);
}

void auditor_free(struct auditor *auditor)
{
    if (auditor == NULL)
        return;
    close_all(auditor);
    leader_free(auditor->leader);
    heap_arena_deinit(&auditor->scratch);
    free(auditor);
}
