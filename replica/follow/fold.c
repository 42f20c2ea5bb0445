/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: what becomes of each record, what pauses it (a schema that is being looked for, a disk
 * that is low), when it is committed, and where it ends. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "replica/cluster/check.h"
#include "replica/follow/internal.h"

#include <assert.h>
#include <inttypes.h>

enum {
    MUCH_RECORDS = 50000, /* behind by more than this: it takes a while */
    DISK_MS = 500,        /* paused: check the disk again after */
    DIFFERING_MS = 60000  /* between two alerts about Statements that differ */
};

/* False: it failed, and that is dealt with. */
static bool commit(struct follower *follower)
{
    struct error error;
    assert(view_dirty(follower->view) > 0);
    if (follower_reads_again(follower))
        return true;
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    FAILPOINT("follower.commit");
    if (view_commit(follower->view, &error) == ERROR_OK) {
        assert(view_dirty(follower->view) == 0);
        view_tidy(follower->view);
        follower_committed(follower);
        return true;
    }
    follower_fail(follower, &error);
    return false;
}

void follower_on_commit_timer(void *ctx)
{
    struct follower *follower = ctx;
    if (follower->phase != PHASE_FOLDING || view_dirty(follower->view) == 0 || !commit(follower))
        return;
    if (follower->live && follower->at_end && follower->ops->caught_up != NULL)
        follower->ops->caught_up(follower->ctx);
}

/* Its owner states all orders before it trims a log, so at the log's end nothing is missing. */
static void stop_incomplete(struct follower *follower)
{
    struct error error;
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    int64_t next = checkpoint->next_event_offset;
    if (follower_doubts_beginning(follower))
        return;
    follower_commit(follower);
    if (follower->phase != PHASE_FOLDING || (next < follower->high && next <= follower->until))
        return;
    error_set(&error, CODE_LOG_INCOMPLETE,
              "%s[%d] begins at offset %" PRId64 ", and no record in it says that every order is "
              "in the rest: a part of its end was lost (unclean election?), or something else than "
              "reeve deleted its beginning. Restore the topic",
              follower_topic(follower), follower->partition, checkpoint->start);
    follower_stop(follower, &error);
}

/* More of the log follows: a trim has moved its beginning since the end was chosen. */
static bool is_overtaken(const struct follower *follower)
{
    return follower->ops->overtaken != NULL && follower->until < INT64_MAX &&
           follower->until + 1 < follower->high;
}

static void end_incomplete(struct follower *follower)
{
    if (!is_overtaken(follower)) {
        stop_incomplete(follower);
        return;
    }
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    follower_close_reader(follower);
    follower->phase = PHASE_CHECKED;
    follower->ops->overtaken(follower->ctx);
}

static void caught_up(struct follower *follower)
{
    struct error error;
    if (follower_reads_again(follower)) {
        follower_check_again(follower);
        return;
    }
    if (!view_checkpoint(follower->view)->complete) {
        end_incomplete(follower);
        return;
    }
    /* Following a log that grows, its end comes with every few records: one commit takes what comes
     * in commit_ms. */
    if (follower->live && view_dirty(follower->view) > 0)
        return;
    if (view_dirty(follower->view) > 0 && !commit(follower))
        return;
    follower->live = follower->until == INT64_MAX;
    if (follower->much) {
        follower->much = false;
        view_expect_much(follower->view, false);
        if (view_flush(follower->view, &error) != ERROR_OK) {
            follower_fail(follower, &error);
            return;
        }
    }
    if (view_checkpoint(follower->view)->next_event_offset > follower->until) {
        follower_close_reader(follower);
        follower->phase = PHASE_CHECKED;
    }
    if (follower->ops->caught_up != NULL)
        follower->ops->caught_up(follower->ctx);
}

static void on_schemas(void *ctx)
{
    struct follower *follower = ctx;
    assert(follower->query_outstanding && !follower->freed);
    follower->query_outstanding = false;
    if (follower->phase == PHASE_SCHEMAS) {
        follower->schemas_for = follower->schemas_wanted;
        follower_run(follower, follower->until);
    } else if (follower->phase == PHASE_STOPPED && follower->bad_at >= 0) {
        follower_stopped_schemas(follower);
    }
}

void follower_ask_schemas(struct follower *follower)
{
    assert(!follower->query_outstanding);
    follower->query_outstanding = true;
    cluster_refresh_schemas(follower->cluster, on_schemas, follower);
}

/* A schema that is unknown after <p>.schemas was read to its end stops the partition. */
static void fold_failed(struct follower *follower, const struct error *error, int64_t offset)
{
    struct error fatal = *error;
    if (store_has_failed(error)) {
        follower_fail(follower, error);
        return;
    }
    if (follower_reads_again(follower)) {
        follower_check_again(follower);
        return;
    }
    bool misfit = error->code == CODE_CONTINUATION_DIFFERS ||
                  error->code == CODE_IMPOSSIBLE_DECISION ||
                  error->code == CODE_IMPOSSIBLE_STATEMENT || error->code == CODE_IMPOSSIBLE_EXPIRY;
    if (misfit && follower_doubts_beginning(follower))
        return;
    if (error->class != ERROR_RETRY || follower->schemas_for == offset) {
        fatal.class = ERROR_FATAL;
        follower_stop_at(follower, &fatal, offset);
        return;
    }
    follower_commit(follower);
    if (follower->phase != PHASE_FOLDING)
        return; /* the commit failed, and that comes first */
    follower_close_reader(follower);
    follower->retry = *error;
    if (follower->query_outstanding) {
        follower_check_later(follower, FOLLOWER_RETRY_MS);
        return;
    }
    follower->schemas_wanted = offset;
    follower->phase = PHASE_SCHEMAS;
    follower_ask_schemas(follower);
}

/* A record raises a doubt: back to the last commit, and folded from there if the log still holds
 * what was folded before. A Claim comes with each takeover, whose orders wait meanwhile; all else
 * is rare. */
static void check_doubt(struct follower *follower, const struct view_folded *folded, int64_t offset)
{
    bool is_claim = folded->kind == RECORD_CLAIM;
    if (!follower_roll_back(follower))
        return;
    if (follower->high <= offset)
        follower->high = offset + 1;
    if (is_claim)
        follower_check_last(follower);
    else
        follower_check_later(follower, 0);
}

/* This record has to wait; reading begins with it again. */
static void pause_folding(struct follower *follower, int64_t offset)
{
    if (view_dirty(follower->view) > 0 && !commit(follower))
        return;
    follower_close_reader(follower);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    if (follower->high <= offset)
        follower->high = offset + 1;
    follower->phase = PHASE_PAUSED;
    loop_timer_after(cluster_loop(follower->cluster), &follower->timer, DISK_MS);
    if (follower->ops->paused != NULL)
        follower->ops->paused(follower->ctx);
}

void follower_check_disk(struct follower *follower)
{
    assert(follower->phase == PHASE_PAUSED && follower->reader == NULL);
    if (!follower->query_outstanding && !disk_guard_is_low(follower->cluster->service->disk)) {
        follower_run(follower, follower->until);
        return;
    }
    follower_ask_offsets(follower); /* the lag grows, and should be seen to */
    loop_timer_after(cluster_loop(follower->cluster), &follower->timer, DISK_MS);
}

void follower_refold(struct follower *follower, const struct checkpoint *skips)
{
    struct checkpoint kept = *skips;
    if (!follower_drop_store(follower, CODE_PARTITION_RESET,
                             "an operator's reset skips a part of the log that this store had "
                             "folded: it is folded again"))
        return;
    view_set_skips(follower->view, &kept);
    follower_check_later(follower, 0);
}

/* A reset skips a part of the log that is folded already, or one that was honoured is gone. */
static void refold(struct follower *follower, const struct view_folded *folded, int64_t offset)
{
    struct checkpoint skips = *view_checkpoint(follower->view);
    admission_correct_skips(&skips, folded->record, offset);
    follower_refold(follower, &skips);
}

/* The partitions of the log by this record; 0: it does not say. */
static int32_t partitions_of(const struct view_folded *folded)
{
    if (folded->admission != ADMITTED)
        return 0;
    if (folded->kind == RECORD_CONTINUATION)
        return folded->record->continuation.partition_count;
    return folded->kind == RECORD_CLAIM ? folded->record->claim.partition_count : 0;
}

/* Drops what is folded but not committed, so that the record is met again. */
static bool claim_differs(struct follower *follower, const struct view_folded *folded,
                          int64_t offset)
{
    struct error error;
    struct error lost;
    if (cluster_check_partitions(follower->cluster, follower->partition, partitions_of(folded),
                                 &error))
        return false;
    if (view_rollback(follower->view, &lost) != ERROR_OK)
        follower_fail(follower, &lost);
    else
        follower_stop_at(follower, &error, offset);
    return true;
}

/* At most one alert in DIFFERING_MS: the first difference, then how many followed it. */
void follower_on_differing_timer(void *ctx)
{
    struct follower *follower = ctx;
    struct error error;
    if (follower->differing_since == 0)
        return;
    error_set(&error, CODE_STATEMENT_DIFFERS,
              "%" PRIu32 " more Statements of %s[%d] differ from what is folded here. Run `reeve "
              "verify`, and report a bug",
              follower->differing_since, follower_topic(follower), follower->partition);
    follower->differing_since = 0;
    cluster_alert(follower->cluster, follower->partition, &error);
    loop_timer_after(cluster_loop(follower->cluster), &follower->differing_timer, DIFFERING_MS);
}

/* Either the owner or this reader has folded the log wrongly. */
static void report_difference(struct follower *follower, const struct view_folded *folded,
                              int64_t offset)
{
    struct error error;
    struct text order_id = folded->record->statement.order.details.order_id;
    metrics_add(follower->differing, 1);
    if (loop_timer_armed(&follower->differing_timer)) {
        follower->differing_since++;
        return;
    }
    loop_timer_after(cluster_loop(follower->cluster), &follower->differing_timer, DIFFERING_MS);
    error_set(&error, CODE_STATEMENT_DIFFERS,
              "%s[%d]@%" PRId64 " restates order %.*s, and not as it is folded here: what it says "
              "counts from here on. Run `reeve verify`, and report a bug",
              follower_topic(follower), follower->partition, offset, TEXT_ARG(order_id));
    cluster_alert(follower->cluster, follower->partition, &error);
}

static void fold_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    struct view_folded folded;
    struct error error;
    if (follower->phase == PHASE_LAST) {
        follower_last_record(follower, record);
        return;
    }
    if (disk_guard_is_low(follower->cluster->service->disk)) {
        pause_folding(follower, record->offset);
        return;
    }
    bool arrived = follower->at_end;
    follower->at_end = false;
    follower->retry.class = ERROR_OK;
    if (follower_checks_gap(follower, record->offset))
        return;
    follower->before_next = view_checkpoint(follower->view)->next_event_offset;
    bool was_complete = view_checkpoint(follower->view)->complete;
    FAILPOINT("follower.fold");
    if (view_fold(follower->view, record, &folded, &error) != ERROR_OK) {
        codec_peek(record->value, &follower->unknown_schema);
        fold_failed(follower, &error, record->offset);
        return;
    }
    if (folded.admission == ADMISSION_REFOLD) {
        refold(follower, &folded, record->offset);
        return;
    }
    if (claim_differs(follower, &folded, record->offset))
        return;
    if (follower_doubts(follower, &folded, record->offset, arrived)) {
        check_doubt(follower, &folded, record->offset);
        return;
    }
    if (!was_complete && follower_doubts_trim(follower, &folded))
        return;
    if (error_is(&follower->stop) && record->offset >= follower->stopped_at) {
        follower->stop = (struct error){0};
        follower->recheck_ms = 0;
    }
    if (folded.differs)
        report_difference(follower, &folded, record->offset);
    if (follower->ops->folded != NULL)
        follower->ops->folded(follower->ctx, record, &folded);
    if (follower->phase != PHASE_FOLDING)
        return; /* restarted there */
    if (record->offset >= follower->until) {
        caught_up(follower);
        return;
    }
    if (view_dirty(follower->view) >=
        (follower->live ? follower->commit_records : FOLLOWER_COMMIT_RECORDS)) {
        commit(follower);
        return;
    }
    if (!loop_timer_armed(&follower->commit_timer))
        loop_timer_after(cluster_loop(follower->cluster), &follower->commit_timer,
                         follower->commit_ms);
}

static void fold_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct follower *follower = ctx;
    if (follower->phase == PHASE_LAST)
        follower_last_unreadable(follower);
    else if (follower_reads_again(follower))
        follower_check_again(follower);
    else
        follower_unreadable(follower, offset, next_offset);
}

static void fold_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    if (follower->phase == PHASE_LAST) {
        follower_last_end(follower);
        return;
    }
    if (next_offset > follower->high)
        follower->high = next_offset;
    follower->at_end = follower->met_end = true;
    if (!follower_reads_again(follower))
        follower->doubted_at = -1;
    if (follower->until == INT64_MAX || next_offset > follower->until)
        caught_up(follower);
}

static void fold_error(void *ctx, const struct error *error)
{
    struct follower *follower = ctx;
    if (follower->phase == PHASE_LAST) {
        follower_read_failed(follower, error);
        return;
    }
    log_warning_limited("cannot read the log", LOG_STR("topic", follower_topic(follower)),
                        LOG_I64("partition", follower->partition), LOG_ERR(error));
    follower->retry = *error;
    if (error->class == ERROR_FATAL)
        follower_restart(follower, false, FOLLOWER_RETRY_MS);
}

static const struct broker_reader_ops fold_ops = {fold_record, fold_end, fold_error};

void follower_read_from(struct follower *follower, int64_t offset)
{
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, offset, &fold_ops, follower);
    broker_reader_skip_headers(follower->reader);
    broker_reader_skip_unreadable(follower->reader, fold_unreadable);
}

void follower_run(struct follower *follower, int64_t until)
{
    int64_t next = view_checkpoint(follower->view)->next_event_offset;
    assert(follower->phase == PHASE_CHECKED || follower->phase == PHASE_SCHEMAS ||
           follower->phase == PHASE_PAUSED);
    assert(follower->reader == NULL || follower->phase == PHASE_CHECKED);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->timer);
    follower->until = until;
    follower->live = follower->at_end = follower->met_end = false;
    follower->retry = (struct error){0};
    follower->phase = PHASE_FOLDING;
    if (next > until) {
        caught_up(follower);
        return;
    }
    if (follower->high < until && until != INT64_MAX)
        follower->high = until + 1;
    follower->much = follower->high - next > MUCH_RECORDS;
    view_expect_much(follower->view, follower->much);
    if (follower->reader == NULL) /* else it has compared the record before this one */
        follower_read_from(follower, next);
}

void follower_bound(struct follower *follower, int64_t until)
{
    if (follower->phase == PHASE_CHECKED) {
        follower_run(follower, until);
        return;
    }
    follower->until = until;
    if (follower->phase != PHASE_FOLDING)
        return;
    follower->live = false;
    if (view_checkpoint(follower->view)->next_event_offset > until)
        caught_up(follower);
    else if (follower->high <= until)
        follower->high = until + 1;
}

void follower_commit(struct follower *follower)
{
    if (follower->phase == PHASE_FOLDING && view_dirty(follower->view) > 0)
        commit(follower);
}
