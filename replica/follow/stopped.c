/* SPDX-License-Identifier: Apache-2.0 */
/* A follower that is stopped: what ends the stop, and its one alert.
 *
 * Stopped at a record, it keeps reading past it and looks only for an operator's Reset that skips
 * the record; a schema that arrives later ends the stop as well. Any other stop is checked again
 * after a growing while. Each stop is alerted once. */
#include "platform/logger.h"
#include "replica/follow/internal.h"

#include <assert.h>
#include <inttypes.h>

enum {
    RECHECK_MS = 3000, /* first wait after a stop; doubles up to */
    RECHECK_MS_MAX = 30000
};

static void look_again_later(struct follower *follower)
{
    follower->recheck_ms = follower->recheck_ms == 0 ? RECHECK_MS : follower->recheck_ms * 2;
    if (follower->recheck_ms > RECHECK_MS_MAX)
        follower->recheck_ms = RECHECK_MS_MAX;
    loop_timer_after(cluster_loop(follower->cluster), &follower->timer, follower->recheck_ms);
}

void follower_stop(struct follower *follower, const struct error *error)
{
    follower_close_reader(follower);
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->commit_timer);
    bool news = strcmp(follower->stop.message, error->message) != 0;
    follower->stop = *error;
    follower->stopped_at = view_checkpoint(follower->view)->next_event_offset;
    follower->schemas_for = follower->bad_at = -1;
    follower->phase = PHASE_STOPPED;
    look_again_later(follower);
    /* Where the log is gone, the store may be the only copy. */
    follower_flush_view(follower);
    if (news) {
        if (!follower->cluster->silent)
            log_error("partition stopped", LOG_STR("topic", follower_topic(follower)),
                      LOG_I64("partition", follower->partition), LOG_ERR(error));
        cluster_alert(follower->cluster, follower->partition, error);
    }
    if (follower->ops->stopped != NULL)
        follower->ops->stopped(follower->ctx, error);
}

/* ---- looking for a reset ---- */

static void honour(struct follower *follower, const struct skip_range *range)
{
    struct checkpoint skips = *view_checkpoint(follower->view);
    if (!admission_learn_skip(&skips, range))
        return;
    log_info("an operator's reset skips a part of the log",
             LOG_STR("topic", follower_topic(follower)), LOG_I64("partition", follower->partition),
             LOG_I64("from", range->from), LOG_I64("to", range->to), LOG_I64("reset", range->at));
    if (skips.next_event_offset > range->from)
        follower_refold(follower, &skips);
    else {
        view_set_skips(follower->view, &skips);
        follower_check_later(follower, 0);
    }
}

static void note_end(struct follower *follower, int64_t next_offset)
{
    if (next_offset > follower->high)
        follower->high = next_offset;
}

static void look_at_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    struct skip_range range;
    struct record decoded;
    assert(follower->phase == PHASE_STOPPED && follower->bad_at >= 0);
    note_end(follower, record->offset + 1);
    heap_arena_reset(&follower->cluster->scratch);
    if (codec_decode(follower->cluster->codec, record->value, true,
                     &follower->cluster->scratch.arena, &decoded, NULL) == ERROR_OK &&
        decoded.kind == RECORD_RESET && admission_skip_of(&decoded.reset, record->offset, &range) &&
        range.from <= follower->bad_at && follower->bad_at < range.to)
        honour(follower, &range);
}

static void look_at_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    note_end(follower, next_offset);
    follower->looked = true;
}

static void look_past(void *ctx, int64_t offset, int64_t next_offset)
{
    (void)offset;
    note_end(ctx, next_offset);
}

static const struct broker_reader_ops look_ops = {look_at_record, look_at_end,
                                                  follower_read_failed};

void follower_stop_at(struct follower *follower, const struct error *error, int64_t offset)
{
    follower_commit(follower);
    if (follower->phase != PHASE_FOLDING)
        return; /* the commit failed, and that comes first */
    follower_stop(follower, error);
    if (follower->phase != PHASE_STOPPED)
        return;
    follower->bad_at = offset;
    follower->looked = false;
    if (error->code != CODE_UNKNOWN_SCHEMA)
        loop_timer_cancel(cluster_loop(follower->cluster), &follower->timer);
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, offset + 1, &look_ops, follower);
    broker_reader_skip_unreadable(follower->reader, look_past);
}

/* ---- batches that nothing can read ---- */

/* It may hold Decisions: an operator has to say that it does not count. */
void follower_unreadable(struct follower *follower, int64_t offset, int64_t next_offset)
{
    struct error error;
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    int64_t bad_at = admission_past_skips(checkpoint, offset);
    if (bad_at >= next_offset)
        return;
    error_set(
        &error, CODE_UNREADABLE_EVENT,
        "%s[%d]: the records from offset %" PRId64 " to %" PRId64
        " cannot be read: their compressed batch is broken or too large. Only reeve may write "
        "to this topic; stop the third-party client, or restore the topic, or skip the "
        "records with `reeve partition reset --partition %d --skip %" PRId64 "-%" PRId64 "`",
        follower_topic(follower), follower->partition, offset, next_offset - 1, follower->partition,
        bad_at, next_offset);
    follower_stop_at(follower, &error, bad_at);
}

/* ---- looking for a schema ---- */

void follower_stopped_schemas(struct follower *follower)
{
    assert(follower->phase == PHASE_STOPPED);
    if (codec_knows(follower->cluster->codec, follower->unknown_schema))
        follower_check_later(follower, 0);
    else
        look_again_later(follower);
}

void follower_stopped_timer(struct follower *follower)
{
    assert(follower->phase == PHASE_STOPPED);
    if (follower->bad_at < 0) {
        follower_close_reader(follower);
        follower_check(follower);
    } else if (follower->query_outstanding)
        look_again_later(follower);
    else
        follower_ask_schemas(follower);
}
