/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a follower: it begins, starts over, drops its store, ends; and what it says about
 * itself. It folds in fold.c; that the log is the right one is checked in check.c. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "replica/follow/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void follower_close_reader(struct follower *follower)
{
    broker_reader_close(follower->reader);
    follower->reader = NULL;
}

static void on_timer(void *ctx)
{
    struct follower *follower = ctx;
    assert(!follower->freed);
    if (follower->phase == PHASE_PAUSED)
        follower_check_disk(follower);
    else if (follower->phase == PHASE_STOPPED)
        follower_stopped_timer(follower);
    else
        follower_check(follower);
}

void follower_check_later(struct follower *follower, int64_t delay_ms)
{
    assert(!follower->freed && delay_ms >= 0);
    follower_close_reader(follower);
    follower->phase = PHASE_WAITING;
    loop_timer_after(cluster_loop(follower->cluster), &follower->timer, delay_ms);
}

bool follower_drop_store(struct follower *follower, enum error_code code, const char *why)
{
    struct error error;
    follower_close_reader(follower);
    log_warning("store dropped, folding again", LOG_STR("topic", follower_topic(follower)),
                LOG_I64("partition", follower->partition), LOG_STR("reason", why));
    if (code != CODE_NONE)
        cluster_partition_alert(follower->cluster, follower->partition, true, code, why);
    FAILPOINT("follower.drop");
    follower->doubted_at = -1;
    if (view_drop(follower->view, &error) != ERROR_OK) {
        follower_stop(follower, &error);
        return false;
    }
    if (follower->ops->dropped != NULL)
        follower->ops->dropped(follower->ctx);
    return true;
}

void follower_fail(struct follower *follower, const struct error *error)
{
    if (store_has_failed(error)) {
        if (follower_drop_store(follower, error->code, error->message))
            follower_check_later(follower, 0);
        return;
    }
    follower_stop(follower, error);
}

void follower_store_failed(struct follower *follower, const struct error *error)
{
    if (follower->phase == PHASE_CHECKED && follower->ops->store_failed != NULL)
        follower->ops->store_failed(follower->ctx, error);
    else if (follower->phase != PHASE_STOPPED)
        follower_fail(follower, error);
    else /* what is on the disk may be all that tells an operator what is wrong */
        log_warning("cannot flush the store of a stopped partition: it stays as it is",
                    LOG_STR("topic", follower_topic(follower)),
                    LOG_I64("partition", follower->partition), LOG_ERR(error));
}

bool follower_is_folding(const struct follower *follower)
{
    return follower->phase == PHASE_FOLDING;
}

bool follower_is_at_end(const struct follower *follower)
{
    return follower->phase == PHASE_FOLDING && follower->at_end;
}

bool follower_roll_back(struct follower *follower)
{
    struct error error;
    struct checkpoint skips = *view_checkpoint(follower->view);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    if (view_rollback(follower->view, &error) != ERROR_OK) {
        follower_fail(follower, &error);
        return false;
    }
    view_set_skips(follower->view, &skips); /* honoured, and perhaps not committed yet */
    return true;
}

void follower_restart(struct follower *follower, bool drop, int64_t delay_ms)
{
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    if (drop ? follower_drop_store(follower, CODE_STORE_DAMAGED, "the store is damaged")
             : follower_roll_back(follower))
        follower_check_later(follower, delay_ms);
}

/* ---- life ---- */

enum error_class follower_new(struct cluster *cluster, int32_t partition,
                              const struct view_options *options, const struct follower_ops *ops,
                              void *ctx, struct follower **ret_follower, struct error *ret_error)
{
    struct view *view = NULL;
    bool dropped = false;
    assert(ops->checked != NULL);
    struct error opened = {0};
    enum error_class class = view_open(options, &view, &dropped, &opened);
    if (class != ERROR_OK) {
        if (ret_error != NULL)
            *ret_error = opened;
        return class;
    }
    struct follower *follower = calloc(1, sizeof(*follower));
    assert(follower != NULL);
    follower->cluster = cluster;
    follower->partition = partition;
    follower->view = view;
    follower->ops = ops;
    follower->ctx = ctx;
    follower->differing =
        metrics_counter(cluster->service->metrics, "reeve_statements_differing_total",
                        "Statements that differ from what is folded here.", METRICS_NO_LABELS);
    follower->bad_at = follower->schemas_for = follower->gap_at = follower->doubted_at = -1;
    follower_commit_behind(follower, FOLLOWER_COMMIT_MS, FOLLOWER_COMMIT_RECORDS);
    loop_timer_init(&follower->timer, on_timer, follower);
    loop_timer_init(&follower->commit_timer, follower_on_commit_timer, follower);
    loop_timer_init(&follower->differing_timer, follower_on_differing_timer, follower);
    follower_flush_begin(follower);
    if (dropped && opened.code == CODE_STORE_FORMAT)
        log_info("the store is of another release: it is dropped and folded again",
                 LOG_I64("partition", partition), LOG_ERR(&opened));
    else if (dropped)
        cluster_partition_alert(cluster, partition, true, CODE_STORE_DAMAGED,
                                "the store was damaged: it is dropped and folded again");
    /* Not from inside this call: the caller has no pointer yet. */
    loop_timer_after(cluster_loop(follower->cluster), &follower->timer, 0);
    *ret_follower = follower;
    return ERROR_OK;
}

void follower_commit_behind(struct follower *follower, int64_t delay_ms, uint32_t records)
{
    assert(delay_ms > 0 && records > 0 && records <= FOLLOWER_COMMIT_RECORDS);
    follower->commit_ms = delay_ms;
    follower->commit_records = records;
}

void follower_free(struct follower *follower)
{
    if (follower == NULL)
        return;
    assert(!follower->freed);
    follower_close_reader(follower);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->timer);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->differing_timer);
    follower_flush_end(follower);
    view_close(follower->view);
    follower->view = NULL;
    if (cluster_refresh_cancel(follower->cluster, follower) > 0)
        follower->query_outstanding = false;
    follower->freed = true;
    if (!follower->query_outstanding)
        free(follower);
}

struct view *follower_view(struct follower *follower)
{
    return follower->view;
}

bool follower_is_stopped(const struct follower *follower, const struct error **ret_error)
{
    if (follower->phase != PHASE_STOPPED)
        return false;
    if (ret_error != NULL)
        *ret_error = &follower->stop;
    return true;
}

bool follower_is_stuck(const struct follower *follower, const struct error **ret_error,
                       int64_t *ret_offset)
{
    if (!follower_is_stopped(follower, ret_error) || (follower->bad_at >= 0 && !follower->looked))
        return false;
    if (ret_offset != NULL)
        *ret_offset = follower->bad_at;
    return true;
}

void follower_waits_for(const struct follower *follower, char *ret_text, size_t size)
{
    static const char *const reads[] = {
        [PHASE_WAITING] = "the next look at",
        [PHASE_OFFSETS] = "the first and the next offset of",
        [PHASE_FIRST] = "the first claim in",
        [PHASE_SEARCH] = "where all orders begin in",
        [PHASE_LAST] = "the record before the checkpoint in",
        [PHASE_CHECKED] = "the owner of",
        [PHASE_FOLDING] = "the records of",
        [PHASE_SCHEMAS] = "the schema of a record of",
        [PHASE_PAUSED] = "disk space to fold",
        [PHASE_STOPPED] = "an operator who repairs",
    };
    const char *why =
        follower->phase == PHASE_STOPPED ? follower->stop.message : follower->retry.message;
    bool known = follower->phase == PHASE_STOPPED || error_is(&follower->retry);
    snprintf(ret_text, size, "%s %s[%d]%s%s", reads[follower->phase], follower_topic(follower),
             follower->partition, known ? ": " : "", known ? why : "");
}

bool follower_is_paused(const struct follower *follower)
{
    return follower->phase == PHASE_PAUSED;
}

int64_t follower_lag(const struct follower *follower)
{
    int64_t lag = follower->high - view_checkpoint(follower->view)->next_event_offset;
    return lag > 0 ? lag : 0;
}
