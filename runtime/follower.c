/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/follower.h"

#include "runtime/failpoint.h"
#include "runtime/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

enum {
    COMMIT_RECORDS = 20000, /* folded records or touched orders per batch */
    COMMIT_DELAY_MS = 50,   /* at the latest after the first uncommitted record */
    BULK_RECORDS = 50000,   /* behind by more than this and from zero: write-ahead log off */
    RECHECK_MS = 3000,      /* first wait after a stop; doubles up to */
    RECHECK_MS_MAX = 30000,
    RETRY_MS = 500,
    ROOM_MS = 500, /* paused: look for room again after */
    CLAIMS_SEEN = 64,
    RESET_WITHIN = 10000, /* records from the beginning of the log */
    METADATA_MS = 5000
};

enum phase {
    PHASE_WAITING, /* for a timer or for follower_run */
    PHASE_OFFSETS, /* asked for the watermarks */
    PHASE_FIRST,   /* reading the log up to its first claim */
    PHASE_LAST,    /* reading the record before the checkpoint */
    PHASE_CHECKED,
    PHASE_FOLDING,
    PHASE_SCHEMAS, /* a record needs a schema that is being looked for */
    PHASE_PAUSED,  /* a record waits until the disk has room */
    PHASE_STOPPED
};

struct follower {
    struct node *node;
    int32_t partition;
    struct view *view;
    const struct follower_ops *ops;
    void *ctx;
    enum phase phase;
    struct broker_reader *reader;
    int64_t low;
    int64_t high;
    int64_t until;
    bool bulk;
    bool live;       /* the end was reached since follower_run(..., INT64_MAX) */
    bool at_end;     /* and nothing was read since */
    bool claim_seen; /* of the log that is being checked */
    bool reset_seen; /* an operator's reset accepts this log */
    bool freed;
    bool asked; /* an answer is outstanding that still names this struct */
    struct loop_timer timer;
    struct loop_timer commit_timer;
    int64_t recheck_ms;
    struct error stop;
    struct uuid seen[CLAIMS_SEEN]; /* ring */
    uint32_t seen_count;
};

static void check(struct follower *follower);
static void look_for_room(struct follower *follower);

static const char *topic(const struct follower *follower)
{
    return follower->node->topics.events;
}

static struct loop *loop_of(struct follower *follower)
{
    return follower->node->service->loop;
}

static void close_reader(struct follower *follower)
{
    broker_reader_close(follower->reader);
    follower->reader = NULL;
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct follower *follower = userdata;
    (void)loop;
    (void)timer;
    if (follower->phase == PHASE_PAUSED)
        look_for_room(follower);
    else
        check(follower);
}

static void check_later(struct follower *follower, int64_t delay_ms)
{
    close_reader(follower);
    follower->phase = PHASE_WAITING;
    loop_timer_after(loop_of(follower), &follower->timer, delay_ms);
}

static void stop(struct follower *follower, const struct error *error)
{
    close_reader(follower);
    loop_timer_cancel(loop_of(follower), &follower->commit_timer);
    bool news = strcmp(follower->stop.message, error->message) != 0;
    follower->stop = *error;
    follower->phase = PHASE_STOPPED;
    follower->recheck_ms = follower->recheck_ms == 0 ? RECHECK_MS : follower->recheck_ms * 2;
    if (follower->recheck_ms > RECHECK_MS_MAX)
        follower->recheck_ms = RECHECK_MS_MAX;
    loop_timer_after(loop_of(follower), &follower->timer, follower->recheck_ms);
    if (news) {
        log_error("partition stopped", LOG_STR("topic", topic(follower)),
                  LOG_I64("partition", follower->partition), LOG_ERR(error));
        node_alert(follower->node, follower->partition, error->code, error->message);
    }
    if (follower->ops->stopped != NULL)
        follower->ops->stopped(follower->ctx, error);
}

/* The store is at fault or describes a log that is gone: begin with an empty one. */
static bool drop_store(struct follower *follower, const char *code, const char *why)
{
    struct error error;
    close_reader(follower);
    log_warning("store dropped, folding again", LOG_STR("topic", topic(follower)),
                LOG_I64("partition", follower->partition), LOG_STR("reason", why));
    node_alert(follower->node, follower->partition, code, why);
    FAILPOINT("follower.drop");
    if (view_drop(follower->view, &error) != ERROR_OK) {
        stop(follower, &error);
        return false;
    }
    if (follower->ops->dropped != NULL)
        follower->ops->dropped(follower->ctx);
    return true;
}

static void fail(struct follower *follower, const struct error *error)
{
    if (strncmp(error->code, "Store", 5) == 0) {
        if (drop_store(follower, error->code, error->message))
            check_later(follower, 0);
        return;
    }
    stop(follower, error);
}

/* ---- is this the log that the store was made from? ---- */

static void checked(struct follower *follower)
{
    struct checkpoint const *checkpoint = view_checkpoint(follower->view);
    close_reader(follower);
    if (checkpoint->cluster_id[0] == '\0') {
        const char *cluster_id = broker_cluster_id(follower->node->broker, METADATA_MS);
        if (cluster_id == NULL) {
            check_later(follower, RETRY_MS);
            return;
        }
        view_set_cluster_id(follower->view, cluster_id);
    }
    follower->recheck_ms = 0;
    follower->stop = (struct error){0};
    follower->phase = PHASE_CHECKED;
    follower->ops->checked(follower->ctx);
}

static void different_log(struct follower *follower, const char *what)
{
    struct error error;
    if (follower->reset_seen) {
        if (drop_store(follower, "PartitionReset", "an operator reset the partition"))
            check_later(follower, 0);
        return;
    }
    error_set(
        &error, ERROR_FATAL, "LogDiffers",
        "%s[%d] is not the log that this store was made from (%s): the directory is kept. "
        "Bring the old topic or cluster back; or accept the new log: delete that directory, or "
        "begin the new log with `reeve partition reset --partition %d`",
        topic(follower), follower->partition, what, follower->partition);
    stop(follower, &error);
}

static void tail_lost(struct follower *follower)
{
    if (drop_store(follower, "LogTailLost",
                   "the end of the log that this store had folded is gone (unclean election?): "
                   "the store follows the log"))
        check_later(follower, 0);
}

static void read_one(struct follower *follower, enum phase phase, int64_t offset);

/* The first Claim tells the log. A former owner may have written before it, without a claim of this
 * log; such records never count. If it is another log, an operator's reset near its beginning, made
 * after all that the store has seen, accepts it. */
static void check_first_claim(struct follower *follower, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct record decoded;
    struct error error;
    heap_arena_reset(&follower->node->scratch);
    enum error_class class = codec_decode(follower->node->codec, record->value, true,
                                          &follower->node->scratch.arena, &decoded, &error);
    bool is_claim = class == ERROR_OK && decoded.kind == RECORD_CLAIM;
    bool same = checkpoint->has_first_claim
                    ? is_claim && !follower->claim_seen &&
                          uuid_equal(&decoded.claim.claim_id, &checkpoint->first_claim_id)
                    : !follower->claim_seen && record->offset + 1 == checkpoint->next_event_offset;
    if (same && follower->high < checkpoint->next_event_offset) {
        tail_lost(follower);
        return;
    }
    if (same) {
        read_one(follower, PHASE_LAST, checkpoint->next_event_offset - 1);
        return;
    }
    if (is_claim && decoded.claim.has_reset &&
        (!follower->claim_seen || decoded.claim.claimed_at > checkpoint->newest_decided_at))
        follower->reset_seen = true;
    follower->claim_seen |= is_claim;
    if (follower->reset_seen || record->offset + 1 >= follower->high ||
        record->offset >= RESET_WITHIN)
        different_log(follower, "its first claim is another one");
}

static void check_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    if (follower->phase == PHASE_LAST) {
        bool same =
            record->offset == checkpoint->next_event_offset - 1 &&
            XXH3_64bits(record->value.data, record->value.size) == checkpoint->last_record_hash;
        if (same)
            checked(follower);
        else
            tail_lost(follower);
        return;
    }
    check_first_claim(follower, record);
}

static void check_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)next_offset;
    /* The end came before the record did: it was lost between two looks. */
    check_later(follower, RETRY_MS);
}

static void check_error(void *ctx, const struct error *error)
{
    struct follower *follower = ctx;
    if (error->class == ERROR_FATAL)
        check_later(follower, RETRY_MS);
}

static const struct broker_reader_ops check_ops = {check_record, check_end, check_error};

static void read_one(struct follower *follower, enum phase phase, int64_t offset)
{
    close_reader(follower);
    follower->phase = phase;
    follower->reader = broker_read(follower->node->broker, topic(follower), follower->partition,
                                   offset, &check_ops, follower);
}

static void check_with_offsets(struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct error error;
    if (follower->low > checkpoint->next_event_offset) {
        error_set(&error, ERROR_FATAL, "LogTruncated",
                  "%s[%d] starts at offset %" PRId64 ", after the %" PRId64
                  " that is folded here: its beginning was deleted. The topic needs retention "
                  "-1. Restore the topic; the directory is kept meanwhile",
                  topic(follower), follower->partition, follower->low,
                  checkpoint->next_event_offset);
        stop(follower, &error);
        return;
    }
    if (checkpoint->next_event_offset == 0) {
        checked(follower);
        return;
    }
    const char *cluster_id = broker_cluster_id(follower->node->broker, METADATA_MS);
    if (cluster_id == NULL)
        check_later(follower, RETRY_MS);
    else if (strcmp(cluster_id, checkpoint->cluster_id) != 0)
        different_log(follower, "another cluster");
    else if (follower->high == 0)
        different_log(follower, "it is empty");
    else if (follower->low == 0)
        read_one(follower, PHASE_FIRST, 0);
    else if (follower->high < checkpoint->next_event_offset)
        tail_lost(follower);
    else
        read_one(follower, PHASE_LAST, checkpoint->next_event_offset - 1);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct follower *follower = ctx;
    follower->asked = false;
    if (follower->freed) {
        free(follower);
        return;
    }
    if (follower->phase == PHASE_PAUSED && high > follower->high)
        follower->high = high;
    if (follower->phase != PHASE_OFFSETS)
        return;
    if (error != NULL && error_is(error)) {
        check_later(follower, RETRY_MS);
        return;
    }
    follower->low = low;
    follower->high = high;
    check_with_offsets(follower);
}

static void ask_offsets(struct follower *follower)
{
    if (follower->asked)
        return; /* the answer under way will do */
    follower->asked = true;
    broker_offsets(follower->node->broker, topic(follower), follower->partition, on_offsets,
                   follower);
}

static void check(struct follower *follower)
{
    follower->claim_seen = follower->reset_seen = false;
    follower->phase = PHASE_OFFSETS;
    ask_offsets(follower);
}

/* ---- folding ---- */

static bool commit(struct follower *follower)
{
    struct error error;
    loop_timer_cancel(loop_of(follower), &follower->commit_timer);
    FAILPOINT("follower.commit");
    if (view_commit(follower->view, follower->bulk, &error) == ERROR_OK) {
        view_tidy(follower->view);
        return true;
    }
    fail(follower, &error);
    return false;
}

static void on_commit_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    struct follower *follower = userdata;
    if (follower->phase != PHASE_FOLDING || view_dirty(follower->view) == 0 || !commit(follower))
        return;
    if (follower->live && follower->at_end && follower->ops->caught_up != NULL)
        follower->ops->caught_up(follower->ctx);
}

static void caught_up(struct follower *follower)
{
    struct error error;
    /* Following a log that grows, its end comes with every few records: one commit takes what comes
     * in COMMIT_DELAY_MS. */
    if (follower->live && view_dirty(follower->view) > 0)
        return;
    if (view_dirty(follower->view) > 0 && !commit(follower))
        return;
    follower->live = follower->until == INT64_MAX;
    if (follower->bulk) {
        follower->bulk = false;
        if (view_end_bulk(follower->view, &error) != ERROR_OK) {
            fail(follower, &error);
            return;
        }
    }
    if (view_checkpoint(follower->view)->next_event_offset > follower->until) {
        close_reader(follower);
        follower->phase = PHASE_CHECKED;
    }
    if (follower->ops->caught_up != NULL)
        follower->ops->caught_up(follower->ctx);
}

/* A Decision of a claim never seen may mean that the log was cut and grew anew below us. */
static bool claim_is_news(struct follower *follower, const struct uuid *claim_id)
{
    uint32_t filled = follower->seen_count < CLAIMS_SEEN ? follower->seen_count : CLAIMS_SEEN;
    for (uint32_t i = 0; i < filled; i++)
        if (uuid_equal(&follower->seen[i], claim_id))
            return false;
    follower->seen[follower->seen_count++ % CLAIMS_SEEN] = *claim_id;
    return true;
}

static void on_schemas(void *ctx, bool fresh)
{
    struct follower *follower = ctx;
    (void)fresh;
    follower->asked = false;
    if (follower->freed) {
        free(follower);
        return;
    }
    if (follower->phase == PHASE_SCHEMAS)
        follower_run(follower, follower->until);
    else if (follower->phase == PHASE_OFFSETS) /* restarted meanwhile: this was no answer to it */
        ask_offsets(follower);
}

static void fold_failed(struct follower *follower, const struct error *error)
{
    if (error->class != ERROR_RETRY) {
        fail(follower, error);
        return;
    }
    struct error fatal = *error;
    close_reader(follower);
    if (follower->phase != PHASE_FOLDING || follower->asked)
        return;
    /* Once per stop: if the schema is still unknown afterwards, the partition stops below. */
    if (strcmp(follower->stop.code, error->code) == 0) {
        fatal.class = ERROR_FATAL;
        stop(follower, &fatal);
        return;
    }
    follower->stop = *error;
    follower->phase = PHASE_SCHEMAS;
    follower->asked = true;
    node_refresh_schemas(follower->node, on_schemas, follower);
}

/* This record has to wait; reading begins with it again. */
static void pause_folding(struct follower *follower, int64_t offset)
{
    if (view_dirty(follower->view) > 0 && !commit(follower))
        return;
    close_reader(follower);
    loop_timer_cancel(loop_of(follower), &follower->commit_timer);
    if (follower->high <= offset)
        follower->high = offset + 1;
    follower->phase = PHASE_PAUSED;
    loop_timer_after(loop_of(follower), &follower->timer, ROOM_MS);
    if (follower->ops->paused != NULL)
        follower->ops->paused(follower->ctx);
}

static void look_for_room(struct follower *follower)
{
    if (!follower->asked && !disk_guard_is_low(follower->node->service->disk)) {
        follower_run(follower, follower->until);
        return;
    }
    ask_offsets(follower); /* the lag grows, and should be seen to */
    loop_timer_after(loop_of(follower), &follower->timer, ROOM_MS);
}

static void fold_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    struct view_folded folded;
    struct error error;
    if (disk_guard_is_low(follower->node->service->disk)) {
        pause_folding(follower, record->offset);
        return;
    }
    follower->at_end = false;
    FAILPOINT("follower.fold");
    if (view_fold(follower->view, record, &folded, &error) != ERROR_OK) {
        fold_failed(follower, &error);
        return;
    }
    bool suspicious = false;
    if (folded.kind == RECORD_CLAIM)
        (void)claim_is_news(follower, &folded.record->claim.claim_id);
    else if (folded.admission == SKIPPED_OTHER_CLAIM)
        suspicious = claim_is_news(follower, folded.kind == RECORD_DECISION
                                                 ? &folded.record->decision.claim_id
                                                 : &folded.record->attempt.claim_id);
    if (follower->ops->folded != NULL)
        follower->ops->folded(follower->ctx, record, &folded);
    if (suspicious) {
        if (view_dirty(follower->view) == 0 || commit(follower))
            follower_restart(follower, false, 0);
        return;
    }
    if (record->offset >= follower->until) {
        caught_up(follower);
        return;
    }
    if (view_dirty(follower->view) >= COMMIT_RECORDS) {
        (void)commit(follower);
        return;
    }
    if (!loop_timer_armed(&follower->commit_timer))
        loop_timer_after(loop_of(follower), &follower->commit_timer, COMMIT_DELAY_MS);
}

static void fold_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    if (next_offset > follower->high)
        follower->high = next_offset;
    follower->at_end = true;
    if (follower->until == INT64_MAX || next_offset > follower->until)
        caught_up(follower);
}

static void fold_error(void *ctx, const struct error *error)
{
    struct follower *follower = ctx;
    log_warning_limited("reading the log", LOG_STR("topic", topic(follower)),
                        LOG_I64("partition", follower->partition), LOG_ERR(error));
    if (error->class == ERROR_FATAL)
        follower_restart(follower, false, RETRY_MS);
}

static const struct broker_reader_ops fold_ops = {fold_record, fold_end, fold_error};

void follower_run(struct follower *follower, int64_t until)
{
    int64_t next = view_checkpoint(follower->view)->next_event_offset;
    assert(follower->phase == PHASE_CHECKED || follower->phase == PHASE_SCHEMAS ||
           follower->phase == PHASE_PAUSED);
    assert(follower->reader == NULL);
    loop_timer_cancel(loop_of(follower), &follower->timer);
    follower->until = until;
    follower->live = follower->at_end = false;
    follower->phase = PHASE_FOLDING;
    if (next > until) {
        caught_up(follower);
        return;
    }
    if (follower->high < until && until != INT64_MAX)
        follower->high = until + 1;
    follower->bulk = next == 0 && follower->high - next > BULK_RECORDS;
    follower->reader = broker_read(follower->node->broker, topic(follower), follower->partition,
                                   next, &fold_ops, follower);
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

bool follower_is_folding(const struct follower *follower)
{
    return follower->phase == PHASE_FOLDING;
}

void follower_restart(struct follower *follower, bool drop, int64_t delay_ms)
{
    struct error error;
    loop_timer_cancel(loop_of(follower), &follower->commit_timer);
    if (drop) {
        if (!drop_store(follower, "StoreDamaged", "the store is damaged"))
            return;
    } else if (view_rollback(follower->view, &error) != ERROR_OK) {
        fail(follower, &error);
        return;
    }
    check_later(follower, delay_ms);
}

void follower_commit(struct follower *follower)
{
    if (follower->phase == PHASE_FOLDING && view_dirty(follower->view) > 0)
        (void)commit(follower);
}

/* ---- life ---- */

enum error_class follower_new(struct node *node, int32_t partition,
                              const struct view_options *options, const struct follower_ops *ops,
                              void *ctx, struct follower **ret_follower, struct error *ret_error)
{
    struct view *view = NULL;
    bool dropped = false;
    assert(ops->checked != NULL);
    enum error_class class = view_open(options, &view, &dropped, ret_error);
    if (class != ERROR_OK)
        return class;
    struct follower *follower = calloc(1, sizeof(*follower));
    assert(follower != NULL);
    follower->node = node;
    follower->partition = partition;
    follower->view = view;
    follower->ops = ops;
    follower->ctx = ctx;
    loop_timer_init(&follower->timer, on_timer, follower);
    loop_timer_init(&follower->commit_timer, on_commit_timer, follower);
    if (dropped)
        node_alert(node, partition, "StoreDamaged",
                   "the store was damaged: it is dropped and folded again");
    /* Not from inside this call: the caller has no pointer yet. */
    loop_timer_after(loop_of(follower), &follower->timer, 0);
    *ret_follower = follower;
    return ERROR_OK;
}

void follower_free(struct follower *follower)
{
    if (follower == NULL)
        return;
    close_reader(follower);
    loop_timer_cancel(loop_of(follower), &follower->timer);
    loop_timer_cancel(loop_of(follower), &follower->commit_timer);
    view_close(follower->view);
    follower->view = NULL;
    follower->freed = true;
    if (!follower->asked)
        free(follower);
}

struct view *follower_view(struct follower *follower)
{
    return follower->view;
}

int32_t follower_partition(const struct follower *follower)
{
    return follower->partition;
}

bool follower_is_stopped(const struct follower *follower, const struct error **ret_error)
{
    if (follower->phase != PHASE_STOPPED)
        return false;
    if (ret_error != NULL)
        *ret_error = &follower->stop;
    return true;
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
