/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog of an owner. Whatever an owner waits for, after a few seconds without progress the
 * log, /readyz and, some seconds later, an alert name it. */
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <stdio.h>

enum {
    TICK_MS = 2500,
    ALERT_MS = 15000,
    STANDBY_ALERT_MS = 60000, /* the orders do not wait for a standby */
    LOG_AGAIN_MS = 30000
};

/* ---- commands that do not come ---- */

/* With nothing to decide, an owner hears nothing of commands[p] whose leader is away. */
static bool is_idle(const struct owner *owner)
{
    return owner->state == OWNER_RUNNING && owner_queue_head(owner) == NULL;
}

static void on_commands_end(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct owner *owner = ctx;
    (void)low;
    if (!owner->released)
        owner->watch.asks_commands = false;
    if (!owner_answered(owner, owner->claim_number) || !is_idle(owner))
        return;
    owner->watch.commands_silent =
        (error != NULL && error_is(error)) || high > owner_next_command(owner);
}

/* The reports of steps that run may be there: meanwhile the steps take capacity from others. */
static void watch_commands(struct owner *owner)
{
    assert(!owner->watch.asks_commands || owner->outstanding > 0);
    if (!is_idle(owner) || !owner_route_any_running(owner)) {
        owner->watch.commands_silent = false;
        return;
    }
    if (owner->watch.asks_commands) {
        owner->watch.commands_silent = true;
        return;
    }
    assert(!owner->watch.asks_commands && owner->state == OWNER_RUNNING);
    owner->watch.asks_commands = true;
    owner->outstanding++;
    broker_offsets(owner->cluster->broker, owner->cluster->topics.commands, owner->partition,
                   on_commands_end, owner);
}

/* ---- what it waits for ---- */

static void describe_running(const struct owner *owner, char *ret_text, size_t size)
{
    assert(owner->state == OWNER_RUNNING);
    if (owner->suspended)
        snprintf(ret_text, size, "the group to say whose partition it is");
    else if (owner_route_starts_stall(owner))
        snprintf(ret_text, size, "the leader of %s[%d] to acknowledge %u StartStep commands",
                 owner->cluster->topics.commands, owner->partition, owner_route_starts(owner));
    else if (owner->watch.commands_silent)
        snprintf(ret_text, size, "the leader of %s[%d] to hand over the next commands",
                 owner->cluster->topics.commands, owner->partition);
    else if (owner->blocked_by != NULL)
        snprintf(ret_text, size, "%s%s", owner->blocked_by,
                 owner_is_refreshing(owner) ? " to be read to its end" : "");
    else
        snprintf(ret_text, size, "its turn to decide");
}

/* In the words of /readyz. False: it has nothing to do. */
static bool waits_for(const struct owner *owner, char *ret_text, size_t size)
{
    const char *events = owner->cluster->topics.events;
    const char *commands = owner->cluster->topics.commands;
    assert(owner->state != OWNER_GIVING_UP || owner->outstanding > 0);
    assert(owner->state != OWNER_CLAIMING || owner->outstanding > 0);
    switch (owner->state) {
    case OWNER_CHECKING:
    case OWNER_FOLDING:
        follower_waits_for(owner->follower, ret_text, size);
        return true;
    case OWNER_CATCHING_UP:
        if (owner->suspended)
            snprintf(ret_text, size, "the group to say whose partition it is");
        else if (!owner_log_end_is_known(owner))
            snprintf(ret_text, size, "the next offset of %s[%d]", events, owner->partition);
        else
            follower_waits_for(owner->follower, ret_text, size);
        return true;
    case OWNER_CLAIMING:
        snprintf(ret_text, size, "the leader of %s[%d] to acknowledge its claim", events,
                 owner->partition);
        return true;
    case OWNER_INSPECTING:
        snprintf(ret_text, size, "the leader of %s[%d] to say which commands it holds", commands,
                 owner->partition);
        return true;
    case OWNER_APPENDING:
        owner_append_describe(owner, ret_text, size);
        return true;
    case OWNER_GIVING_UP:
        snprintf(ret_text, size, "%llu answers to what it sent before it gave up its claim",
                 (unsigned long long)owner->outstanding);
        return true;
    case OWNER_RUNNING:
        describe_running(owner, ret_text, size);
        return owner_queue_head(owner) != NULL || owner->watch.commands_silent ||
               owner_route_starts_stall(owner);
    case OWNER_STANDBY:
        follower_waits_for(owner->follower, ret_text, size);
        return !owner_is_warm(owner) || owner_lag(owner) > 0 ||
               !follower_end_is_known(owner->follower);
    case OWNER_STOPPED:
    case OWNER_STATE_COUNT:
        break;
    }
    return false;
}

/* A standby speaks for its instance, an owner for the partition. */
static void alert(struct owner *owner, bool raised, const char *message)
{
    assert(raised || owner->watch.code != CODE_NONE);
    if (raised)
        owner->watch.code = owner->state == OWNER_STANDBY ? CODE_STANDBY_STALLED : CODE_STALLED;
    partition_alert(owner->watch.code == CODE_STANDBY_STALLED ? NULL : owner->options.alerts,
                    owner->cluster, owner->partition, raised, owner->watch.code, message);
}

static void end_stall(struct owner *owner)
{
    assert(!owner->watch.alerted || owner->watch.stalled);
    owner_route_hold(owner, owner_route_starts_stall(owner));
    if (owner->watch.stalled)
        log_info("partition continues", LOG_I64("partition", owner->partition),
                 LOG_STR("state", owner_state_name(owner->state)));
    if (owner->watch.alerted)
        alert(owner, false, "the partition goes on");
    owner->watch.stalled = owner->watch.alerted = false;
}

/* A process that was suspended has not waited: it knows nothing of that time, and another may own
 * the partition now. */
static void leave_out_the_unwatched(struct owner *owner, int64_t now)
{
    int64_t unwatched_ms = now - owner->watch.watched_ms - TICK_MS;
    assert(now >= owner->watch.watched_ms);
    if (unwatched_ms > TICK_MS)
        owner->watch.progress_ms += unwatched_ms;
    owner->watch.watched_ms = now;
}

static void on_tick(void *ctx)
{
    struct owner *owner = ctx;
    char what[ERROR_MESSAGE_SIZE];
    int64_t now = cluster_now_ms(owner->cluster);
    uint64_t progress = owner->progress;
    assert(!owner->released);
    if (progress != owner->watch.progress)
        owner->watch.commands_silent = false;
    bool waits = waits_for(owner, what, sizeof(what));
    loop_timer_after(cluster_loop(owner->cluster), &owner->watch.timer, TICK_MS);
    leave_out_the_unwatched(owner, now);
    watch_commands(owner);
    if (owner->state == OWNER_STANDBY)
        follower_refresh_lag(owner->follower);
    if (!waits || progress != owner->watch.progress) {
        owner->watch.progress = progress;
        owner->watch.progress_ms = now;
        end_stall(owner);
        return;
    }
    int64_t waited = now - owner->watch.progress_ms;
    assert(waited >= 0);
    if (waited < OWNER_STALL_MS)
        return;
    bool news = !owner->watch.stalled || now - owner->watch.logged_ms >= LOG_AGAIN_MS;
    owner->watch.stalled = true;
    owner_route_hold(owner, true);
    if (owner->state == OWNER_FOLDING)
        owner_ask_for_log_end(owner);
    snprintf(owner->watch.message, sizeof(owner->watch.message),
             "partition %d is %s and has waited %lld s for %.500s", owner->partition,
             owner_state_name(owner->state), (long long)(waited / 1000), what);
    if (news) {
        owner->watch.logged_ms = now;
        log_warning("partition stalled", LOG_I64("partition", owner->partition),
                    LOG_STR("state", owner_state_name(owner->state)), LOG_I64("waited_ms", waited),
                    LOG_STR("waits_for", what));
    }
    if (waited < (owner->state == OWNER_STANDBY ? STANDBY_ALERT_MS : ALERT_MS) ||
        owner->watch.alerted || owner->suspended)
        return;
    owner->watch.alerted = true;
    alert(owner, true, owner->watch.message);
}

void owner_watch_begin(struct owner *owner)
{
    assert(!owner->watch.stalled && !owner->watch.alerted);
    owner->watch.progress = owner->progress;
    owner->watch.progress_ms = owner->watch.watched_ms = cluster_now_ms(owner->cluster);
    loop_timer_init(&owner->watch.timer, on_tick, owner);
    loop_timer_after(cluster_loop(owner->cluster), &owner->watch.timer, TICK_MS);
}

void owner_watch_suspended(struct owner *owner)
{
    if (owner->watch.alerted)
        alert(owner, false, "the partition is no longer with this instance");
    owner->watch.alerted = false;
}

void owner_watch_end(struct owner *owner)
{
    assert(!owner->released);
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->watch.timer);
    owner_watch_suspended(owner);
}

bool owner_trouble(const struct owner *owner, char *ret_text, size_t size)
{
    assert(!owner->released);
    if (error_is(&owner->trouble))
        snprintf(ret_text, size, "partition %d: %s", owner->partition, owner->trouble.message);
    else if (owner->watch.stalled)
        snprintf(ret_text, size, "%s", owner->watch.message);
    return error_is(&owner->trouble) || owner->watch.stalled;
}
