/* SPDX-License-Identifier: Apache-2.0 */
/* See auditor.h. One walk at a time: partition after partition, each folded to its end, looked
 * through a piece of orders each tick, and closed again, so that it takes the memory of one and
 * folds in large batches; then a rest until auditor.interval.ms after the walk's beginning. */
#include "services/supervisor/auditor.h"

#include "leader/leader.h"
#include "platform/logger.h"
#include "replica/agent_table.h"
#include "replica/follower.h"
#include "services/supervisor/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 50,
    ROWS_PER_TICK = 500,     /* 10,000 orders a second at most: a few percent of a core */
    CACHE_ORDERS = 250,      /* it reads rows, not hot orders */
    OUTSTANDING_MAX = 1000,  /* commands that are not acknowledged */
    OLD_NEWS_MS = 10000,     /* folding what was appended before that: the view is behind */
    ALERT_AGAIN_MS = 3600000 /* while orders of a partition are stuck */
};

struct audited {
    struct auditor *auditor;
    int32_t partition;
    struct follower *follower; /* NULL but while the walk is here */
    bool caught_up;
    uint32_t stuck; /* of the walk under way */
    char example[512];
    int64_t alert_not_before; /* 0: none was stuck at the last walk */
};

struct auditor {
    struct cluster *cluster; /* the supervisor's */
    struct store_env *stores;
    struct leader *leader;
    struct cluster *own;     /* for the views: a broker reads a partition once; NULL before the
                                 first lead */
    struct audited *audited; /* while it leads and `own` is ready, else NULL */
    struct agent_table *table;
    bool leading;
    char by[WHO_BYTES_MAX + 1]; /* instance and term */
    struct audit_rules rules;
    int64_t interval_ms;
    int64_t expire_per_second;
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
    int64_t budget_thousandths; /* of expiries, refilled with time */
    int64_t refilled_ms;
    uint64_t expired; /* requested, in this walk */
    uint32_t outstanding;
    bool freed;
};

/* ---- what it asks for ---- */

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct auditor *auditor = ctx;
    (void)token;
    (void)offset;
    assert(auditor->outstanding > 0);
    auditor->outstanding--;
    if (error != NULL && error_is(error)) /* the next walk, or term, finds it again */
        log_warning_limited("the auditor's command was not delivered", LOG_ERR(error));
    if (auditor->freed && auditor->outstanding == 0)
        free(auditor);
}

static void expire(struct auditor *auditor, int32_t partition, const struct order *order)
{
    struct error error;
    struct text order_id = order->details.order_id;
    assert(order_ended(order));
    if (auditor->budget_thousandths < 1000 || auditor->outstanding >= OUTSTANDING_MAX)
        return; /* the next walk requests it */
    struct command cmd = {.kind = COMMAND_EXPIRE_ORDER, .order_id = order_id};
    cmd.expire_order = (struct expire_order){
        .order_id = order_id, .ended_at = order->ended_at, .by = text_of(auditor->by)};
    if (cluster_append(auditor->own, BROKER_PRODUCER_LOG, auditor->own->topics.commands, partition,
                       order_id, RECORD_EXPIRE_ORDER, &cmd, on_appended, auditor, 0,
                       &error) != ERROR_OK)
        return;
    auditor->outstanding++;
    auditor->expired++;
    auditor->budget_thousandths -= 1000;
    assert(auditor->budget_thousandths >= 0);
    assert(auditor->outstanding <= OUTSTANDING_MAX);
}

/* The brokers' time: when they appended the newest renewal of this term, and what has passed since
 * it was read. This machine's clock may be wrong: it would take what is due soon for overdue. */
static int64_t brokers_now(const struct auditor *auditor)
{
    const struct election *election = leader_election(auditor->leader);
    const struct clock *clock = auditor->cluster->service->clock;
    if (!broker_has_append_time(auditor->cluster->broker))
        return clock_wall_ms(clock);
    return election->log.last_ms + (clock_mono_ms(clock) - election->arrived_ms);
}

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

/* One alert for a partition, however many they are: often all have one cause. */
static void alert_stuck(struct audited *audited)
{
    char message[768];
    int64_t now = loop_now_ms(cluster_loop(audited->auditor->cluster));
    if (audited->stuck == 0)
        audited->alert_not_before = 0;
    if (audited->stuck == 0 || now < audited->alert_not_before)
        return;
    audited->alert_not_before = now + ALERT_AGAIN_MS;
    snprintf(message, sizeof(message), "%s; %u more like it", audited->example, audited->stuck - 1);
    cluster_alert(audited->auditor->own, audited->partition, "OrderStuck", message);
}

/* ---- the walk ---- */

static bool visit(void *ctx, struct text order_id, struct text row)
{
    struct audited *audited = ctx;
    struct auditor *auditor = audited->auditor;
    struct record record;
    struct error error;
    int64_t due = 0;
    int64_t now = brokers_now(auditor);
    assert(order_id.size <= sizeof(auditor->cursor.data)); /* as store_scan_orders() has it */
    assert(auditor->rows < ROWS_PER_TICK);
    memcpy(auditor->cursor.data, order_id.data, order_id.size);
    auditor->cursor.size = order_id.size;
    heap_arena_reset(&auditor->scratch);
    if (codec_decode(auditor->own->codec, row, true, &auditor->scratch.arena, &record, &error) !=
            ERROR_OK ||
        record.kind != RECORD_ORDER_ROW) {
        log_warning_limited("the auditor cannot read an order of its store",
                            LOG_TEXT("order", order_id), LOG_ERR(&error));
        return ++auditor->rows < ROWS_PER_TICK;
    }
    const struct order *order = &record.order_row;
    enum audit_finding finding = audit_order(order, &auditor->rules, now, &due);
    switch (finding) {
    case AUDIT_EXPIRED:
        expire(auditor, audited->partition, order);
        break;
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
    follower_commit(audited->follower);
    follower_free(audited->follower);
    audited->follower = NULL;
}

static void next_partition(struct auditor *auditor)
{
    assert(auditor->at >= -1 && auditor->at < auditor->own->partition_count);
    auditor->cursor.size = 0;
    if (auditor->at >= 0)
        close_partition(&auditor->audited[auditor->at]);
    if (++auditor->at < auditor->own->partition_count) {
        auditor->audited[auditor->at].stuck = 0;
        return;
    }
    auditor->at = -1;
    if (auditor->expired > 0)
        log_info("requested the expiry of finished orders", LOG_U64("orders", auditor->expired));
    auditor->expired = 0;
}

static void open_partition(struct auditor *auditor, int32_t partition);

/* A piece of the partition that the walk is at, once it is folded to its end: old news would be
 * false alarms. What cannot be folded is left for the next walk; what cannot even be opened is
 * tried again, without progress, until another supervisor leads. */
static void walk(struct auditor *auditor)
{
    struct audited *audited = &auditor->audited[auditor->at];
    struct error error;
    assert(auditor->at >= 0 && auditor->at < auditor->own->partition_count);
    if (audited->follower == NULL)
        open_partition(auditor, auditor->at);
    if (audited->follower == NULL)
        return;
    if (follower_is_stopped(audited->follower, NULL) || follower_is_paused(audited->follower)) {
        next_partition(auditor);
        return;
    }
    if (!audited->caught_up)
        return;
    auditor->rows = 0;
    struct store *store = view_store(follower_view(audited->follower));
    struct text after = {auditor->cursor.data, auditor->cursor.size};
    if (store_scan_orders(store, after, visit, audited, &error) != ERROR_OK) {
        follower_restart(audited->follower, true, 0);
        next_partition(auditor);
        return;
    }
    if (auditor->rows == ROWS_PER_TICK)
        return;
    alert_stuck(audited);
    next_partition(auditor);
}

static void refill(struct auditor *auditor, int64_t now)
{
    int64_t full = auditor->expire_per_second * 1000;
    assert(now >= auditor->refilled_ms); /* monotonic */
    auditor->budget_thousandths += (now - auditor->refilled_ms) * auditor->expire_per_second;
    if (auditor->budget_thousandths > full)
        auditor->budget_thousandths = full;
    auditor->refilled_ms = now;
}

/* The partition that the walk is at waits for its records. What an operator has to fix (stopped,
 * disk full) would not improve with another supervisor; what cannot be opened here might. */
static bool is_behind(const struct auditor *auditor)
{
    if (auditor->at < 0)
        return false;
    const struct audited *audited = &auditor->audited[auditor->at];
    return audited->follower == NULL ||
           (!audited->caught_up && !follower_is_stopped(audited->follower, NULL) &&
            !follower_is_paused(audited->follower));
}

static void on_tick(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct auditor *auditor = userdata;
    int64_t now = loop_now_ms(loop);
    assert(auditor->leading && auditor->audited != NULL);
    loop_timer_after(loop, timer, TICK_MS);
    refill(auditor, now);
    if (auditor->at < 0 && now >= auditor->walk_began_ms + auditor->interval_ms) {
        auditor->walk_began_ms = now;
        next_partition(auditor);
    }
    if (auditor->at >= 0)
        walk(auditor);
    /* Folding reports progress by itself; a rest between two walks counts as progress. */
    if (!is_behind(auditor))
        leader_progress(auditor->leader);
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
    if (brokers_now(audited->auditor) - record->timestamp > OLD_NEWS_MS)
        audited->caught_up = false;
    leader_progress(audited->auditor->leader);
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

static const struct follower_ops follower_ops = {.checked = on_checked,
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
    snprintf(path, sizeof(path), "%s/auditor-%d", auditor->cluster->service->data_dir, partition);
    struct view_options options = {.env = auditor->stores,
                                   .codec = auditor->own->codec,
                                   .path = path,
                                   .cache_orders = CACHE_ORDERS};
    audited->auditor = auditor;
    audited->partition = partition;
    audited->caught_up = false;
    if (follower_new(auditor->own, partition, &options, &follower_ops, audited, &audited->follower,
                     &error) != ERROR_OK) {
        audited->follower = NULL;
        log_error_limited("the auditor cannot open a partition", LOG_I64("partition", partition),
                          LOG_ERR(&error));
    }
}

/* ---- the agents' table ---- */

static void remove_agent(struct auditor *auditor, struct text key)
{
    struct error error;
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = auditor->own->topics.agents,
                                   .partition = 0,
                                   .key = key,
                                   .done = on_appended,
                                   .ctx = auditor};
    log_info("an agent instance has vanished", LOG_TEXT("instance", key));
    if (broker_append(auditor->own->broker, &append, &error) == ERROR_OK)
        auditor->outstanding++;
    else /* the next term finds its record again */
        log_warning_limited("the record of a vanished agent was not removed", LOG_ERR(&error));
}

static void on_agent_gone(void *ctx, const struct agent_entry *entry, bool lapsed)
{
    char key[NAME_BYTES_MAX + WHO_BYTES_MAX + 2];
    if (!lapsed)
        return;
    snprintf(key, sizeof(key), "%s/%s", entry->instance, entry->agent);
    remove_agent(ctx, text_of(key));
}

/* It vanished while no supervisor led, or before its first record was read. */
static void on_agent_outdated(void *ctx, struct text key)
{
    remove_agent(ctx, key);
}

static const struct agent_table_ops agent_ops = {.gone = on_agent_gone,
                                                 .outdated = on_agent_outdated};

/* ---- leading ---- */

static void open_all(struct auditor *auditor)
{
    int32_t count = auditor->own->partition_count;
    int64_t now = loop_now_ms(cluster_loop(auditor->cluster));
    assert(auditor->leading && auditor->audited == NULL && count > 0);
    auditor->audited = calloc((size_t)count, sizeof(auditor->audited[0]));
    assert(auditor->audited != NULL);
    auditor->table = agent_table_follow(auditor->own, &agent_ops, auditor);
    auditor->at = -1;
    auditor->expired = 0;
    auditor->walk_began_ms = now - auditor->interval_ms; /* the first one begins at once */
    auditor->budget_thousandths = 0;
    auditor->refilled_ms = now;
    loop_timer_after(cluster_loop(auditor->cluster), &auditor->timer, TICK_MS);
}

static void close_all(struct auditor *auditor)
{
    loop_timer_cancel(cluster_loop(auditor->cluster), &auditor->timer);
    agent_table_free(auditor->table);
    auditor->table = NULL;
    if (auditor->audited == NULL)
        return;
    for (int32_t i = 0; i < auditor->own->partition_count; i++)
        close_partition(&auditor->audited[i]);
    free(auditor->audited);
    auditor->audited = NULL;
}

static void on_own_ready(void *ctx)
{
    struct auditor *auditor = ctx;
    if (auditor->leading)
        open_all(auditor);
}

static void on_begin(void *ctx, int64_t token)
{
    struct auditor *auditor = ctx;
    struct error error;
    assert(!auditor->leading && auditor->audited == NULL);
    auditor->leading = true;
    snprintf(auditor->by, sizeof(auditor->by), "auditor, term %" PRId64 ", %.80s", token,
             auditor->cluster->service->instance_id);
    /* Once: it stays for the next term. It asks the brokers and waits for them; that we lead says
     * that they answer. */
    if (auditor->own == NULL &&
        cluster_open(auditor->cluster->service, CLUSTER_READS_IN_BULK, on_own_ready, auditor,
                     &auditor->own, &error) != ERROR_OK) {
        log_warning("the auditor cannot reach the brokers", LOG_ERR(&error));
        auditor->own = NULL;
        auditor->leading = false;
        leader_ended(auditor->leader);
        return;
    }
    if (auditor->own->ready)
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

enum error_class auditor_new(struct cluster *cluster, struct store_env *stores,
                             struct auditor **ret_auditor, struct error *ret_error)
{
    static const struct reeve_leader_options options = {.role = "auditor"};
    const struct config *config = cluster->service->config;
    struct auditor *auditor = calloc(1, sizeof(*auditor));
    assert(auditor != NULL);
    auditor->cluster = cluster;
    auditor->stores = stores;
    auditor->rules.retention_ms = config_ms(config, "orders.retention.ms");
    auditor->rules.grace_ms = config_ms(config, "auditor.grace.ms");
    auditor->interval_ms = config_ms(config, "auditor.interval.ms");
    auditor->expire_per_second = config_int(config, "auditor.expire.per.second");
    heap_arena_init(&auditor->scratch, 64 * 1024);
    loop_timer_init(&auditor->timer, on_tick, auditor);
    enum error_class class =
        leader_new(cluster, &options, &leader_ops, auditor, &auditor->leader, ret_error);
    if (class != ERROR_OK) {
        heap_arena_deinit(&auditor->scratch);
        free(auditor);
        return class;
    }
    if (auditor->rules.retention_ms > 0 && auditor->rules.retention_ms <= SUBMISSIONS_KEPT_MS)
        log_warning("orders.retention.ms is not longer than submissions are kept: an order that is "
                    "submitted again after it has expired is a new one",
                    LOG_I64("orders.retention.ms", auditor->rules.retention_ms));
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
    assert(!auditor->freed);
    close_all(auditor);
    leader_free(auditor->leader);
    cluster_close(auditor->own);
    heap_arena_deinit(&auditor->scratch);
    auditor->freed = true;
    if (auditor->outstanding == 0)
        free(auditor);
}
