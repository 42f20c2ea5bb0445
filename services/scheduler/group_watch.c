/* SPDX-License-Identifier: Apache-2.0 */
/* See group_watch.h. */
#include "services/scheduler/group_watch.h"

#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 1000,
    WRONG_US = 10000000,       /* a clock that has been wrong for less may be right in a moment */
    MEASURE_AGAIN_MS = 300000, /* away because of the clock */
    PATIENCE_MS = 10 * 1000,   /* a schema may arrive late; doubles up to */
    PATIENCE_MS_MAX = 60 * 60 * 1000,
    OUTDATED_AWAY_MS = 30 * 1000,
    NO_PARTITION = -1
};

enum group_watch_state { STATE_MEMBER, STATE_LEAVING, STATE_AWAY };
enum group_watch_reason { REASON_CLOCK, REASON_VERSION };

struct group_watch {
    struct cluster *cluster;
    const struct group_watch_ops *ops;
    void *ctx;
    enum group_watch_state state;
    enum group_watch_reason reason; /* while it is not a member */
    int64_t away_since_ms;
    bool alerted;             /* about the clock */
    struct clock_guard worst; /* while it is not a member: as measured last */
    int32_t outdated;         /* the first partition that only this version cannot read */
    int64_t outdated_since_ms;
    int64_t patience_ms;
    /* of the tick under way */
    uint32_t measured;
    uint32_t wrong; /* for a while */
    uint32_t right;
    struct metrics_gauge *skew;
    struct loop_timer timer;
};

static void leave(struct group_watch *watch, enum group_watch_reason reason)
{
    assert(watch->state == STATE_MEMBER);
    assert(reason == REASON_CLOCK || watch->outdated != NO_PARTITION);
    watch->state = STATE_LEAVING;
    watch->reason = reason;
    watch->ops->leave(watch->ctx);
    assert(watch->state != STATE_MEMBER);
}

static void join(struct group_watch *watch)
{
    assert(watch->state == STATE_AWAY);
    watch->state = STATE_MEMBER;
    watch->outdated = NO_PARTITION;
    watch->ops->join(watch->ctx);
}

/* ---- the clock ---- */

static int64_t distance(int64_t skew_ms)
{
    return skew_ms < 0 ? -skew_ms : skew_ms;
}

static void look_at_clock(struct group_watch *watch, const struct clock_guard *guard)
{
    if (!guard->known)
        return;
    if (watch->measured++ == 0 || distance(guard->skew_ms) > distance(watch->worst.skew_ms))
        watch->worst = *guard;
    watch->wrong += guard->bad && guard->bad_until_us - guard->bad_since_us >= WRONG_US;
    watch->right += !guard->bad;
    assert(watch->wrong + watch->right <= watch->measured);
}

static void report_clock(struct group_watch *watch)
{
    char message[ERROR_MESSAGE_SIZE];
    assert(watch->measured > 0 && watch->wrong == watch->measured);
    snprintf(message, sizeof(message),
             "the clock of %s is %" PRId64 " ms off the brokers' append times: it leaves its group "
             "until the clock is right. Set the clock; if all instances report this, the brokers' "
             "clocks are wrong",
             watch->cluster->service->instance_id, watch->worst.skew_ms);
    if (!watch->alerted)
        cluster_partition_alert(watch->cluster, NO_PARTITION, true, CODE_CLOCK_SKEW, message);
    watch->alerted = true;
}

/* True: it is wrong. */
static bool check_clock(struct group_watch *watch)
{
    assert(watch->wrong + watch->right <= watch->measured);
    if (watch->measured > 0 && watch->right == watch->measured && watch->alerted) {
        watch->alerted = false;
        cluster_partition_alert(watch->cluster, NO_PARTITION, false, CODE_CLOCK_SKEW,
                                "the clock is right");
    }
    if (watch->measured == 0 || watch->wrong < watch->measured)
        return false;
    report_clock(watch);
    return true;
}

/* ---- the version ---- */

/* True: another member may be able to read the partition, and has had to wait long enough. */
static bool check_version(struct group_watch *watch, int32_t outdated_before, int64_t now)
{
    assert(watch->patience_ms >= PATIENCE_MS && watch->patience_ms <= PATIENCE_MS_MAX);
    if (watch->outdated == NO_PARTITION)
        return false;
    if (outdated_before == NO_PARTITION)
        watch->outdated_since_ms = now;
    if (now - watch->outdated_since_ms < watch->patience_ms || !watch->ops->has_others(watch->ctx))
        return false;
    watch->patience_ms =
        watch->patience_ms < PATIENCE_MS_MAX / 2 ? watch->patience_ms * 2 : PATIENCE_MS_MAX;
    log_warning("leaving the group: another version can perhaps read the partition",
                LOG_I64("partition", watch->outdated));
    return true;
}

/* ---- both ---- */

static void look_at_owner(void *visitor, const struct owner *owner)
{
    struct group_watch *watch = visitor;
    assert(watch->state == STATE_MEMBER);
    look_at_clock(watch, owner_clock(owner));
    if (watch->outdated == NO_PARTITION && owner_is_outdated(owner))
        watch->outdated = owner_partition(owner);
}

static void watch_member(struct group_watch *watch, int64_t now)
{
    int32_t outdated_before = watch->outdated;
    assert(watch->state == STATE_MEMBER);
    watch->measured = watch->wrong = watch->right = 0;
    watch->outdated = NO_PARTITION;
    watch->ops->each_owner(watch->ctx, look_at_owner, watch);
    if (check_clock(watch))
        leave(watch, REASON_CLOCK);
    else if (check_version(watch, outdated_before, now))
        leave(watch, REASON_VERSION);
}

static bool may_join(const struct group_watch *watch, int64_t now)
{
    int64_t away_ms = now - watch->away_since_ms;
    assert(watch->state == STATE_AWAY && away_ms >= 0);
    if (watch->reason == REASON_VERSION)
        return away_ms >= OUTDATED_AWAY_MS;
    return away_ms >= MEASURE_AGAIN_MS ||
           clock_guard_agrees(&watch->worst, watch->cluster->service->clock);
}

static void on_tick(void *ctx)
{
    struct group_watch *watch = ctx;
    int64_t now = cluster_now_ms(watch->cluster);
    loop_timer_after(cluster_loop(watch->cluster), &watch->timer, TICK_MS);
    if (watch->state == STATE_MEMBER)
        watch_member(watch, now);
    else if (watch->state == STATE_AWAY && may_join(watch, now)) {
        log_info("joining the group again");
        join(watch);
    }
    metrics_set(watch->skew, (double)watch->worst.skew_ms / 1000);
}

void group_watch_left(struct group_watch *watch)
{
    assert(watch->state == STATE_LEAVING);
    watch->state = STATE_AWAY;
    watch->away_since_ms = cluster_now_ms(watch->cluster);
}

bool group_watch_is_away(const struct group_watch *watch, char *ret_reason, size_t size)
{
    if (watch->state == STATE_MEMBER)
        return false;
    if (watch->reason == REASON_CLOCK)
        snprintf(ret_reason, size,
                 "this machine's clock is %" PRId64 " ms off the brokers' append times: set it",
                 watch->worst.skew_ms);
    else
        snprintf(ret_reason, size,
                 "partition %d holds records of a newer version: this instance has left its group "
                 "for a moment, so that a newer one gets the partition; upgrade it",
                 watch->outdated);
    return true;
}

struct group_watch *group_watch_new(struct cluster *cluster, const struct group_watch_ops *ops,
                                    void *ctx)
{
    struct group_watch *watch = calloc(1, sizeof(*watch));
    assert(watch != NULL);
    assert(ops->each_owner != NULL && ops->has_others != NULL);
    assert(ops->leave != NULL && ops->join != NULL);
    watch->cluster = cluster;
    watch->ops = ops;
    watch->ctx = ctx;
    watch->outdated = NO_PARTITION;
    watch->patience_ms = PATIENCE_MS;
    watch->skew = metrics_gauge(cluster->service->metrics, "reeve_clock_skew_seconds",
                                "This machine's clock minus the brokers' append times, at least; 0 "
                                "while no difference is proved.",
                                METRICS_NO_LABELS);
    loop_timer_init(&watch->timer, on_tick, watch);
    loop_timer_after(cluster_loop(cluster), &watch->timer, TICK_MS);
    return watch;
}

void group_watch_stop(struct group_watch *watch)
{
    loop_timer_cancel(cluster_loop(watch->cluster), &watch->timer);
}

void group_watch_free(struct group_watch *watch)
{
    if (watch == NULL)
        return;
    group_watch_stop(watch);
    free(watch);
}
