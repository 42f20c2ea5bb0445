/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an owner: its states, giving up, stopping. claim.c claims and folds, cycle.c decides,
 * watch.c watches. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RETRY_MS = 100, /* first wait before claiming again; doubles up to */
    RETRY_MS_MAX = 10000
};

static const char *const trim_held_names[] = {"nothing", "age",        "effects", "group",
                                              "store",   "statements", "format",  "broker"};
_Static_assert(sizeof(trim_held_names) / sizeof(trim_held_names[0]) == TRIM_HELD_COUNT,
               "every reason has a name");

static const char *const state_names[] = {"checking",   "catching_up", "claiming",  "folding",
                                          "inspecting", "running",     "appending", "giving_up",
                                          "stopped",    "standby"};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == OWNER_STATE_COUNT,
               "every owner state has a name");

#define BIT(state) (1U << (state))

/* One row per state: the states that may follow it. */
static const unsigned may_follow[] = {
    [OWNER_CHECKING] = BIT(OWNER_CATCHING_UP) | BIT(OWNER_STOPPED) | BIT(OWNER_CHECKING),
    [OWNER_CATCHING_UP] = BIT(OWNER_CLAIMING) | BIT(OWNER_STOPPED) | BIT(OWNER_CHECKING),
    [OWNER_CLAIMING] = BIT(OWNER_FOLDING) | BIT(OWNER_GIVING_UP),
    [OWNER_FOLDING] =
        BIT(OWNER_INSPECTING) | BIT(OWNER_GIVING_UP) | BIT(OWNER_STOPPED) | BIT(OWNER_CHECKING),
    [OWNER_INSPECTING] = BIT(OWNER_RUNNING) | BIT(OWNER_GIVING_UP) | BIT(OWNER_STOPPED),
    [OWNER_RUNNING] = BIT(OWNER_APPENDING) | BIT(OWNER_GIVING_UP) | BIT(OWNER_STOPPED),
    [OWNER_APPENDING] = BIT(OWNER_RUNNING) | BIT(OWNER_GIVING_UP),
    [OWNER_GIVING_UP] = BIT(OWNER_CHECKING),
    [OWNER_STOPPED] = BIT(OWNER_CHECKING) | BIT(OWNER_STOPPED),
    [OWNER_STANDBY] = BIT(OWNER_CHECKING) | BIT(OWNER_CATCHING_UP),
};

_Static_assert(sizeof(may_follow) / sizeof(may_follow[0]) == OWNER_STATE_COUNT,
               "every owner state has a row");

bool owner_state_may_follow(enum owner_state state, enum owner_state next)
{
    assert((unsigned)state < OWNER_STATE_COUNT);
    assert((unsigned)next < OWNER_STATE_COUNT);
    return (may_follow[state] & BIT(next)) != 0;
}

void owner_set_state(struct owner *owner, enum owner_state state)
{
    assert(!owner->released);
    assert(owner_state_may_follow(owner->state, state));
    owner->state = state;
    owner->progress++;
}

const char *owner_state_name(enum owner_state state)
{
    assert((unsigned)state < OWNER_STATE_COUNT);
    return state_names[state];
}

/* ---- outstanding answers ---- */

static void free_when_answered(struct owner *owner)
{
    assert(owner->released);
    if (owner->outstanding > 0)
        return;
    if (owner->on_released != NULL)
        owner->on_released(owner->released_ctx);
    owner_archive_free(owner);
    free(owner);
}

static void check_again(struct owner *owner)
{
    assert(owner->state == OWNER_GIVING_UP);
    assert(owner->outstanding == 0);
    assert(owner_cycle_has_ended(owner));
    owner_set_state(owner, OWNER_CHECKING);
    owner->retry_ms = owner->retry_ms == 0 ? RETRY_MS : owner->retry_ms * 2;
    if (owner->retry_ms > RETRY_MS_MAX)
        owner->retry_ms = RETRY_MS_MAX;
    assert(owner->retry_ms >= RETRY_MS && owner->retry_ms <= RETRY_MS_MAX);
    bool drop = owner->store_failed;
    owner->store_failed = false;
    follower_restart(owner->follower, drop, drop ? 0 : owner->retry_ms);
}

bool owner_answered(struct owner *owner, uint64_t token)
{
    assert(owner->outstanding > 0);
    assert(token <= owner->claim_number);
    owner->outstanding--;
    if (owner->released) {
        free_when_answered(owner);
        return false;
    }
    if (owner->state == OWNER_GIVING_UP) {
        if (owner->outstanding == 0)
            check_again(owner);
        return false;
    }
    return token == owner->claim_number;
}

void owner_give_up(struct owner *owner, enum error_code code, const char *why)
{
    struct error error;
    error_set(&error, code, "%s", why);
    owner_give_up_for(owner, &error);
}

void owner_give_up_for(struct owner *owner, const struct error *why)
{
    log_warning("claim given up", LOG_I64("partition", owner->partition),
                LOG_STR("code", error_name_of(why)), LOG_STR("reason", why->message),
                LOG_STR("state", owner_state_name(owner->state)),
                LOG_U64("outstanding", owner->outstanding));
    metrics_add(owner->metrics->given_up, 1);
    if (owner->retry_ms > 0) { /* not for the first time */
        error_wrap(&owner->trouble, why, "the claim was given up: %s", why->message);
        owner->trouble.class = ERROR_RETRY;
    }
    owner_set_state(owner, OWNER_GIVING_UP);
    owner_cycle_end(owner);
    assert(owner_cycle_has_ended(owner));
    assert(owner->metrics->guarding != owner); /* others may decide */
    emitter_stop(owner->emitter);
    owner->claim_number++;
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    FAILPOINT("owner.given_up");
    if (owner->outstanding == 0)
        check_again(owner);
}

/* A store error: the rows cannot be trusted. The claim goes, the store is dropped, then folded
 * again. */
void owner_failed_store(struct owner *owner, const struct error *error)
{
    assert(error_is(error));
    assert(owner_is_running(owner) || owner->state == OWNER_INSPECTING ||
           owner->state == OWNER_GIVING_UP);
    owner->store_failed = true;
    if (owner->state != OWNER_GIVING_UP)
        owner_give_up_for(owner, error);
}

/* Follows the log meanwhile: the Claim of an operator's reset starts another check. */
void owner_stop(struct owner *owner, const struct error *error)
{
    assert(error->class == ERROR_FATAL);
    assert(owner->state == OWNER_INSPECTING || owner->state == OWNER_RUNNING);
    owner_set_state(owner, OWNER_STOPPED);
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    owner_cycle_end(owner);
    emitter_stop(owner->emitter);
    owner->claim_number++;
    assert(owner_cycle_has_ended(owner));
    if (strcmp(owner->trouble.message, error->message) != 0) {
        log_error("partition stopped", LOG_I64("partition", owner->partition), LOG_ERR(error));
        cluster_alert(owner->cluster, owner->partition, error);
    }
    owner->trouble = *error;
    follower_run(owner->follower, INT64_MAX);
}

/* ---- the timer ---- */

static void on_timer(void *ctx)
{
    struct owner *owner = ctx;
    assert(!owner->released);
    assert(owner->state != OWNER_STANDBY && owner->state != OWNER_GIVING_UP);
    if (owner->state == OWNER_STOPPED) {
        owner_set_state(owner, OWNER_CHECKING);
        follower_restart(owner->follower, false, 0);
    } else if (owner->state == OWNER_CATCHING_UP) {
        owner_catch_up(owner);
    } else if (owner->state == OWNER_INSPECTING && !owner_queue_is_open(owner)) {
        owner_ask_for_commands(owner);
    } else {
        owner_step_soon(owner);
    }
}

/* ---- life ---- */

enum error_class owner_new(struct cluster *cluster, int32_t partition,
                           const struct owner_options *options, struct owner_metrics *metrics,
                           struct owner **ret_owner, struct error *ret_error)
{
    struct owner *owner = calloc(1, sizeof(*owner));
    assert(owner != NULL);
    assert(options->batch_max > 0);
    assert(options->margin_ms >= 0 && options->retention_ms >= 0 && options->expiry_max > 0);
    assert(partition >= 0 && partition < cluster->partition_count);
    owner->cluster = cluster;
    owner->partition = partition;
    owner->options = *options;
    owner->metrics = metrics;
    owner->options.view.continuations = true;
    if (options->router != NULL) {
        owner->backlog = backlog_new(options->router, false);
        owner->options.view.index = &backlog_index;
        owner->options.view.index_ctx = owner->backlog;
    }
    enum error_class class = follower_new(cluster, partition, &owner->options.view,
                                          &owner_follower_ops, owner, &owner->follower, ret_error);
    owner->options.view.path = NULL; /* the caller may free it */
    if (class != ERROR_OK) {
        backlog_free(owner->backlog);
        free(owner);
        return class;
    }
    owner->emitter = emitter_new(cluster, partition, follower_view(owner->follower),
                                 options->alerts, owner_store_settled, owner);
    loop_timer_init(&owner->timer, on_timer, owner);
    owner_cycle_init(owner);
    owner_clock_init(owner);
    owner_store_begin(owner);
    owner_trim_init(owner);
    owner_expire_init(owner);
    owner->state = options->standby ? OWNER_STANDBY : OWNER_CHECKING;
    owner_watch_begin(owner);
    *ret_owner = owner;
    return ERROR_OK;
}

void owner_release(struct owner *owner, void (*released)(void *ctx), void *ctx)
{
    assert(!owner->released);
    owner->claim_number++;
    owner_cycle_end(owner);
    owner_watch_end(owner);
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    emitter_free(owner->emitter);
    follower_free(owner->follower);
    backlog_free(owner->backlog);
    owner_cycle_free(owner);
    assert(owner->metrics->guarding != owner);
    owner->released = true;
    owner->on_released = released;
    owner->released_ctx = ctx;
    free_when_answered(owner);
}

void owner_suspend(struct owner *owner, bool suspended)
{
    assert(!owner->released);
    assert(owner->state != OWNER_STANDBY);
    owner->suspended = suspended;
    owner_route_suspend(owner);
    if (suspended) {
        owner_watch_suspended(owner);
        return;
    }
    if (owner->state == OWNER_CATCHING_UP)
        owner_catch_up(owner);
    else
        owner_step_soon(owner);
}

struct view *owner_view(const struct owner *owner)
{
    return follower_view(owner->follower);
}

int32_t owner_partition(const struct owner *owner)
{
    return owner->partition;
}

enum owner_state owner_state(const struct owner *owner)
{
    return owner->state;
}

bool owner_is_running(const struct owner *owner)
{
    return owner->state == OWNER_RUNNING || owner->state == OWNER_APPENDING;
}

bool owner_is_outdated(const struct owner *owner)
{
    enum error_code code = owner->trouble.code;
    return owner->state == OWNER_STOPPED &&
           (code == CODE_UNKNOWN_SCHEMA || code == CODE_UNKNOWN_EVENT ||
            code == CODE_UNKNOWN_FORMAT || code == CODE_UNKNOWN_COMMAND);
}

bool owner_is_busy(const struct owner *owner)
{
    return owner->state == OWNER_APPENDING ||
           (owner->state == OWNER_RUNNING && emitter_backlog(owner->emitter) > 0);
}

int64_t owner_next_command(const struct owner *owner)
{
    return owner_is_running(owner) ? follower_checkpoint(owner->follower)->next_command_offset : -1;
}

int64_t owner_lag(const struct owner *owner)
{
    return follower_lag(owner->follower);
}

struct owner_metrics *owner_metrics_new(struct metrics *metrics)
{
    struct owner_metrics *shared = calloc(1, sizeof(*shared));
    assert(shared != NULL);
    shared->decisions = metrics_counter(metrics, "reeve_decisions_total", "Decisions acknowledged.",
                                        METRICS_NO_LABELS);
    shared->rejections =
        metrics_counter(metrics, "reeve_decisions_without_change_total",
                        "Decisions that rejected or ignored their command.", METRICS_NO_LABELS);
    shared->claims = metrics_counter(metrics, "reeve_claims_total",
                                     "Claims acknowledged by the broker.", METRICS_NO_LABELS);
    shared->given_up = metrics_counter(metrics, "reeve_claims_given_up_total",
                                       "Claims given up after a surprise.", METRICS_NO_LABELS);
    shared->batches = metrics_counter(metrics, "reeve_batches_total",
                                      "Batches of Decisions acknowledged.", METRICS_NO_LABELS);
    shared->skipped =
        metrics_counter(metrics, "reeve_records_skipped_total",
                        "Records of the log that were not admitted.", METRICS_NO_LABELS);
    shared->continuations = metrics_counter(
        metrics, "reeve_continuations_total",
        "Continuations acknowledged: the bookkeeping, restated.", METRICS_NO_LABELS);
    shared->statements =
        metrics_counter(metrics, "reeve_statements_total",
                        "Statements acknowledged: orders restated in full.", METRICS_NO_LABELS);
    shared->expired =
        metrics_counter(metrics, "reeve_orders_expired_total",
                        "Finished orders that have left the stores.", METRICS_NO_LABELS);
    shared->trimmed =
        metrics_counter(metrics, "reeve_log_records_trimmed_total",
                        "Records deleted at the beginning of the log.", METRICS_NO_LABELS);
    for (int held = 0; held < TRIM_HELD_COUNT; held++)
        shared->trim_held[held] = metrics_gauge(metrics, "reeve_log_trim_held",
                                                "Own partitions by what keeps their log from being "
                                                "trimmed further.",
                                                METRICS_LABEL("by", trim_held_names[held]));
    shared->cycle = metrics_histogram(metrics, "reeve_cycle_seconds",
                                      "From deciding on a command until its batch is acknowledged.",
                                      METRICS_NO_LABELS);
    shared->commit = metrics_histogram(metrics, "reeve_store_commit_seconds",
                                       "Writing to the store what has changed since the last time.",
                                       METRICS_NO_LABELS);
    shared->outcomes = outcomes_new(metrics);
    return shared;
}

void owner_metrics_free(struct owner_metrics *metrics)
{
    assert(metrics == NULL || metrics->guarding == NULL); /* every owner is released */
    assert(metrics == NULL || metrics->waiting == NULL);
    if (metrics != NULL)
        outcomes_free(metrics->outcomes);
    free(metrics);
}
