/* SPDX-License-Identifier: Apache-2.0 */
/* Trims the log of a partition (docs/design/decisions/0009-trimming-the-log.md).
 *
 *     WAITING -> ASKING -> STATING -> ANNOUNCING -> CONFIRMING -> DELETING -> WAITING
 *
 * The owner appends a Continuation now and then. The newest one that is old enough, and before
 * which nothing is needed but orders, is where the log is to begin. Orders that were stated before
 * it are restated. Then a Continuation says where the log begins, and when it and a later one are
 * acknowledged, what is before that place is deleted. Wherever this ends, with the claim or the
 * process, the next owner starts over: nothing of it is needed, and deleting twice does no harm. So
 * each look also compares where the log begins with how far it was trimmed: a broker that crashes
 * soon after a deletion forgets it. What holds it back outside this process, archive.c asks.
 */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CONTINUE_MS = 3600 * 1000,
    CONTINUE_SHARE = 16, /* of events.keep.ms, where that is shorter */
    LOOK_MS = 60 * 1000, /* at the latest, whether something is to be done */
    TURN_MS = 20,
    STATEMENTS_PER_TURN = 64,
    STATEMENTS_PER_BUSY_TURN = 16, /* while commands wait */
    DELETE_AGAIN_MS = 10 * 1000
};

static void turn_after(struct owner *owner, int64_t ms)
{
    loop_timer_after(cluster_loop(owner->cluster), &owner->trim.timer, ms);
}

/* One partition more, or less, is held by that. */
static void count_held(struct owner_metrics *metrics, enum trim_held held, int by)
{
    metrics->trim_held_counts[held] += by;
    assert(metrics->trim_held_counts[held] >= 0);
    metrics_set(metrics->trim_held[held], metrics->trim_held_counts[held]);
}

static void set_held(struct owner *owner, enum trim_held held)
{
    assert(owner->trim.active);
    count_held(owner->metrics, owner->trim.held, -1);
    count_held(owner->metrics, held, 1);
    owner->trim.held = held;
}

static int64_t continue_every_ms(const struct owner *owner)
{
    int64_t share = owner->options.keep_ms / CONTINUE_SHARE;
    return share < CONTINUE_MS ? share + 1 : CONTINUE_MS;
}

static void wait(struct owner *owner)
{
    int64_t every_ms = continue_every_ms(owner) / 2 + 1;
    owner->trim.phase = TRIM_WAITING;
    turn_after(owner, every_ms < LOOK_MS ? every_ms : LOOK_MS);
}

/* ---- Continuations ---- */

/* One that follows the last one directly would say nothing new, and an idle partition would grow by
 * them for ever: its log can only begin at or before the last Decision whose effects are sent. */
static bool is_to_continue(const struct owner *owner)
{
    const struct continuations *list = view_continuations(owner_view(owner));
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    bool anything_new =
        list->count == 0 || list->places[list->count - 1].offset + 1 <
                                follower_checkpoint(owner->follower)->next_event_offset;
    return anything_new && now_us - owner->trim.continued_us >= continue_every_ms(owner) * 1000;
}

void owner_trim_continued(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    trim->continued_us = clock_mono_us(owner->cluster->service->clock);
    if (trim->phase == TRIM_ANNOUNCING && trim->announced == trim->to)
        trim->phase = TRIM_CONFIRMING;
    else if (trim->phase == TRIM_CONFIRMING)
        trim->phase = TRIM_DELETING;
    trim->announced = -1;
    if (trim->phase == TRIM_CONFIRMING || trim->phase == TRIM_DELETING)
        trim->due = true;
}

/* ---- where the log may begin ---- */

/* The last record that the store has whatever happens; it is flushed if that is needed for `to`.
 * False: it fails, and the claim is given up. */
static bool find_stored(struct owner *owner, int64_t to, int64_t *ret_stored)
{
    struct view *view = owner_view(owner);
    int64_t next = 0;
    struct error error;
    enum error_class class = view_flushed(view, &next, &error);
    if (class == ERROR_OK && next <= to && view_committed(view)->next_event_offset > to)
        class = view_flush(view, &error);
    if (class == ERROR_OK)
        class = view_flushed(view, &next, &error);
    if (class != ERROR_OK) {
        owner_failed_store(owner, &error);
        return false;
    }
    *ret_stored = next - 1;
    return true;
}

/* The newest Continuation that is old enough and at or before `limit`; -1: none. */
static int64_t newest_before(const struct owner *owner, int64_t limit)
{
    const struct continuations *list = view_continuations(owner_view(owner));
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    int64_t newest = -1;
    /* The brokers' time is at least this. */
    int64_t brokers_ms = now_us / 1000 + owner_clock(owner)->lead_ms_min;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->places[i].appended_at > 0 && list->places[i].offset <= limit &&
            list->places[i].appended_at < brokers_ms - owner->options.keep_ms)
            newest = list->places[i].offset;
    return newest;
}

/* Each of these is what keeps the log from beginning further on, in this order. */
static void choose(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    int64_t through = follower_checkpoint(owner->follower)->emitted_through;
    int64_t to = newest_before(owner, INT64_MAX);
    int64_t stored = -1;
    if (!find_stored(owner, to, &stored))
        return;
    enum trim_held held = TRIM_HELD_BY_AGE;
    if (to > through) {
        held = TRIM_HELD_BY_EFFECTS;
        to = newest_before(owner, through);
    }
    if (to > stored) {
        held = TRIM_HELD_BY_STORE;
        to = newest_before(owner, stored < through ? stored : through);
    }
    int64_t limit = stored < through ? stored : through;
    if (to > trim->archived) {
        held = TRIM_HELD_BY_GROUP;
        to = newest_before(owner, trim->archived < limit ? trim->archived : limit);
    }
    if (to <= trim->log_start || to < 0) {
        set_held(owner, held);
        wait(owner);
        return;
    }
    assert(to <= through && to <= stored && to <= trim->archived);
    assert(to < follower_checkpoint(owner->follower)->next_event_offset);
    assert(!admission_skips(follower_checkpoint(owner->follower), to));
    trim->to = to;
    trim->after.size = 0;
    trim->phase = TRIM_STATING;
    set_held(owner, TRIM_HELD_BY_STATEMENTS);
    trim->due = true;
    owner_step_soon(owner);
}

/* ---- what the answers say ---- */

/* A broker that has forgotten a deletion is asked again. The Continuation that names the place was
 * acknowledged, and a later record, the Claim at least: an owner has deleted before, or was about
 * to. */
static void delete_again(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    trim->to = follower_checkpoint(owner->follower)->trimmed;
    trim->phase = TRIM_DELETING;
    trim->may_delete = true;
    log_warning("the log begins before the place to which it was trimmed: deleting again",
                LOG_I64("partition", owner->partition), LOG_I64("start", trim->log_start),
                LOG_I64("trimmed", trim->to));
    trim->due = true;
    owner_step_soon(owner);
}

/* Restating took a while, in which a group may have been reset. The announced records are deleted
 * once the group has read that far again. */
static void decide_to_delete(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    trim->may_delete = trim->to <= trim->archived;
    if (!trim->may_delete) {
        set_held(owner, TRIM_HELD_BY_GROUP);
        wait(owner);
        return;
    }
    trim->phase = TRIM_DELETING;
    trim->due = true;
    owner_step_soon(owner);
}

void owner_trim_answered(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    int64_t trimmed = follower_checkpoint(owner->follower)->trimmed;
    bool to_delete = trim->to_delete;
    trim->to_delete = false;
    if (trim->unanswered) {
        set_held(owner, TRIM_HELD_BY_BROKER);
        wait(owner);
        return;
    }
    metrics_set(trim->start, (double)trim->log_start);
    if (to_delete)
        decide_to_delete(owner);
    else if (trim->log_start < trimmed && trimmed <= trim->archived)
        delete_again(owner);
    else
        choose(owner);
}

/* ---- deleting ---- */

static void refuse(struct owner *owner, const struct error *error)
{
    struct error alert;
    set_held(owner, TRIM_HELD_BY_BROKER);
    error_set(&alert, CODE_TRIM_REFUSED,
              "%s[%d] is not trimmed, the brokers refuse to delete its records: %s. The scheduler "
              "needs the right Delete on the topic (`reeve topics acl`)",
              owner->cluster->topics.events, owner->partition, error->message);
    if (!owner->trim.refused)
        partition_alert(owner->options.alerts, owner->cluster, owner->partition, true, alert.code,
                        alert.message);
    owner->trim.refused = true;
    owner->trim.phase = TRIM_WAITING;
    turn_after(owner, continue_every_ms(owner));
}

static void close_refusal(struct owner *owner, const char *why)
{
    if (owner->trim.refused)
        partition_alert(owner->options.alerts, owner->cluster, owner->partition, false,
                        CODE_TRIM_REFUSED, why);
    owner->trim.refused = false;
}

static void on_deleted(void *ctx, int64_t low, const struct error *error)
{
    struct owner *owner = ctx;
    struct owner_trim *trim = &owner->trim;
    if (!owner_answered(owner, owner->claim_number) || trim->phase != TRIM_DELETING)
        return;
    assert(trim->deleting);
    trim->deleting = false;
    if (error != NULL && error->class == ERROR_REJECT) {
        refuse(owner, error);
        return;
    }
    if (error != NULL && error_is(error)) {
        log_warning_limited("deleting the beginning of the log again",
                            LOG_I64("partition", owner->partition), LOG_ERR(error));
        set_held(owner, TRIM_HELD_BY_BROKER);
        turn_after(owner, DELETE_AGAIN_MS);
        return;
    }
    FAILPOINT("trim.deleted");
    close_refusal(owner, "the brokers delete the beginning of the log again");
    if (low > trim->log_start)
        metrics_add(owner->metrics->trimmed, (uint64_t)(low - trim->log_start));
    log_info("log trimmed", LOG_I64("partition", owner->partition), LOG_I64("start", low),
             LOG_I64("was", trim->log_start));
    trim->log_start = low;
    metrics_set(trim->start, (double)low);
    set_held(owner, TRIM_HELD_BY_NOTHING);
    wait(owner);
}

static void delete_beginning(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    assert(trim->to >= 0 && trim->to < follower_checkpoint(owner->follower)->next_event_offset);
    if (trim->deleting)
        return;
    if (owner->options.trim_group_count > 0 && !trim->may_delete) {
        trim->to_delete = true;
        owner_archive_ask(owner);
        return;
    }
    trim->may_delete = false;
    FAILPOINT("trim.delete");
    trim->deleting = true;
    owner->outstanding++;
    broker_delete_records(owner->cluster->broker, owner->cluster->topics.events, owner->partition,
                          trim->to, on_deleted, owner);
}

/* ---- turns ---- */

/* A Continuation that cannot be appended now is appended soon. */
static bool try_to_continue(struct owner *owner, int64_t trimmed)
{
    bool sent = owner_continue(owner, trimmed);
    if (!sent)
        turn_after(owner, TURN_MS);
    return sent;
}

static bool state_orders(struct owner *owner)
{
    bool done = false;
    bool sent = owner_restate(
        owner, owner_queue_head(owner) != NULL ? STATEMENTS_PER_BUSY_TURN : STATEMENTS_PER_TURN,
        &done);
    if (!owner_is_running(owner))
        return true;
    if (done)
        owner->trim.phase = TRIM_ANNOUNCING;
    if (done && !sent)
        return try_to_continue(owner, owner->trim.to);
    if (!sent)
        turn_after(owner, TURN_MS);
    return sent;
}

void owner_trim_stated(struct owner *owner)
{
    metrics_add(owner->metrics->statements, owner->trim.stated);
    owner->trim.stated = 0;
    if (owner->trim.phase == TRIM_ANNOUNCING)
        owner->trim.due = true;
    else
        turn_after(owner, TURN_MS);
}

/* An owner that does not know all of what it would restate leaves that to a newer one. */
static bool may_trim(struct owner *owner)
{
    if (follower_checkpoint(owner->follower)->state_format <= STATE_FORMAT)
        return true;
    set_held(owner, TRIM_HELD_BY_FORMAT);
    if (owner->trim.phase != TRIM_ASKING && !owner->trim.deleting)
        wait(owner);
    return false;
}

static bool turn(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    switch (trim->phase) {
    case TRIM_WAITING:
        wait(owner);
        if (owner_clock(owner)->known)
            owner_archive_ask(owner);
        return false;
    case TRIM_STATING:
        return state_orders(owner);
    case TRIM_ANNOUNCING:
        return try_to_continue(owner, trim->to);
    case TRIM_CONFIRMING:
        return try_to_continue(owner, -1);
    case TRIM_DELETING:
        delete_beginning(owner);
        return false;
    case TRIM_ASKING:
        break;
    }
    return false;
}

bool owner_trim_turn(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING && owner_has_appended(owner));
    if (!owner->trim.due || owner_guard_stands(owner))
        return false;
    owner->trim.due = false;
    if (!may_trim(owner))
        return false;
    if (is_to_continue(owner) && owner->trim.phase != TRIM_ANNOUNCING &&
        owner->trim.phase != TRIM_CONFIRMING) {
        turn_after(owner, TURN_MS);
        return try_to_continue(owner, -1);
    }
    return turn(owner);
}

static void on_timer(void *ctx)
{
    struct owner *owner = ctx;
    owner->trim.due = true;
    owner_step_soon(owner); /* else after the batch that is on its way */
}

/* ---- begin and end ---- */

void owner_trim_init(struct owner *owner)
{
    char partition[16];
    loop_timer_init(&owner->trim.timer, on_timer, owner);
    owner->trim.log_start = owner->trim.announced = -1;
    owner_archive_init(owner);
    if (owner->options.keep_ms == 0)
        return;
    snprintf(partition, sizeof(partition), "%d", owner->partition);
    owner->trim.start = metrics_gauge(owner->cluster->service->metrics, "reeve_log_start_offset",
                                      "Where the log of an own partition begins.",
                                      METRICS_LABEL("partition", partition));
}

void owner_trim_begin(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    assert(!trim->active && trim->phase == TRIM_WAITING);
    trim->continued_us = clock_mono_us(owner->cluster->service->clock);
    trim->active = owner->options.keep_ms > 0;
    if (!trim->active)
        return;
    trim->held = TRIM_HELD_BY_AGE;
    count_held(owner->metrics, trim->held, 1);
    trim->due = true; /* the one before may not have come to its end */
}

void owner_trim_end(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    static const char gone[] = "the partition is no longer with this instance";
    if (trim->active) {
        count_held(owner->metrics, trim->held, -1);
        metrics_unset(trim->start);
        owner_archive_close_alert(owner, gone);
        close_refusal(owner, gone);
    }
    loop_timer_cancel(cluster_loop(owner->cluster), &trim->timer);
    trim->active = trim->due = trim->deleting = trim->to_delete = trim->may_delete = false;
    trim->stated = trim->answers_left = 0;
    trim->phase = TRIM_WAITING;
    trim->announced = trim->log_start = -1;
}
