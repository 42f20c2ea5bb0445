/* SPDX-License-Identifier: Apache-2.0 */
/* Where does a log begin that does not begin with a Continuation? A broker that crashes soon after
 * a deletion may forget it in part: the log then begins inside a segment, before the place to which
 * it was trimmed.
 *
 * A Continuation that says Trimmed{X}, and counts for a reader that begins at X, shows that every
 * order is in the log from X on. The first such X is where a reader with an empty store begins. It
 * is found with the bookkeeping of one fold: the first record with an X is looked for, then the log
 * is read from that X up to this record. If it does not count, the next one is looked for.
 * (docs/design/decisions/0009-trimming-the-log.md) */
#include "platform/logger.h"
#include "replica/follow/internal.h"

#include <assert.h>
#include <inttypes.h>

static void read_again_from(struct follower *follower, int64_t offset);

/* What cannot be decoded stops the fold, if it is in the way of that. A newer version may have said
 * in it where the log may begin. */
static bool decode(struct follower *follower, const struct broker_record *record,
                   struct record *ret_record)
{
    struct error why;
    struct error *newer = &follower->search.newer;
    const struct codec *codec = follower->cluster->codec;
    heap_arena_reset(&follower->cluster->scratch);
    if (codec_decode(follower->cluster->codec, record->value, true,
                     &follower->cluster->scratch.arena, ret_record, &why) == ERROR_OK)
        return true;
    if (codec_is_newer(codec, record->value) && !error_is(newer)) {
        view_refusal(codec, record, &why, newer);
        newer->class = ERROR_FATAL;
    }
    return false;
}

static bool says_where(const struct follower *follower, const struct record *record, int64_t offset)
{
    return record->kind == RECORD_CONTINUATION && record->continuation.trimmed >= follower->low &&
           record->continuation.trimmed < offset;
}

static void end(struct follower *follower)
{
    follower_close_reader(follower);
    follower_search_ended(follower);
}

/* ---- what says where the log may begin ---- */

static void look_for_the_next(struct follower *follower, int64_t from)
{
    struct follower_search *search = &follower->search;
    search->begins_at = search->said_at = -1;
    search->from = from;
    if (from < follower->high)
        read_again_from(follower, from);
    else
        end(follower);
}

static void look_at(struct follower *follower, const struct record *record, int64_t offset)
{
    struct follower_search *search = &follower->search;
    if (record->kind == RECORD_CONTINUATION && !search->knows_claim) {
        search->knows_claim = true;
        search->first_claim_id = record->continuation.first_claim_id;
    }
    if (!says_where(follower, record, offset))
        return;
    search->begins_at = record->continuation.trimmed;
    search->said_at = offset;
    search->at = admission_begin();
    admission_copy_skips(&search->at, view_checkpoint(follower->view));
    admission_begin_at(&search->at, search->begins_at);
    read_again_from(follower, search->begins_at);
}

/* ---- whether it counts ---- */

/* An operator's Reset skips a part of what was read: all is looked at again without that. */
static void skip_and_search(struct follower *follower, const struct record *record, int64_t offset)
{
    struct checkpoint skips = *view_checkpoint(follower->view);
    admission_correct_skips(&skips, record, offset);
    view_set_skips(follower->view, &skips);
    follower_check_later(follower, 0);
}

static void fold(struct follower *follower, const struct record *record, int64_t offset)
{
    struct follower_search *search = &follower->search;
    bool begins = admission_begins(&search->at);
    enum admission admission = begins && offset != search->begins_at
                                   ? ADMISSION_DIFFERS
                                   : admission_record(&search->at, record, offset);
    search->at.next_event_offset = offset + 1;
    if (admission == ADMISSION_REFOLD)
        skip_and_search(follower, record, offset);
    else if (offset == search->said_at && admission == ADMITTED && search->at.complete)
        end(follower);
    else if (offset >= search->said_at || admission == ADMISSION_DIFFERS ||
             admission == ADMISSION_TOO_MANY)
        look_for_the_next(follower, search->said_at + 1);
}

/* ---- the reader ---- */

static void search_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    struct record decoded = {.kind = 0};
    assert(follower->phase == PHASE_SEARCH);
    bool known = !admission_skips(view_checkpoint(follower->view), record->offset) &&
                 decode(follower, record, &decoded);
    if (follower->search.said_at >= 0) {
        fold(follower, &decoded, record->offset);
        return;
    }
    if (known)
        look_at(follower, &decoded, record->offset);
    if (follower->phase == PHASE_SEARCH && follower->search.said_at < 0 &&
        record->offset + 1 >= follower->high)
        end(follower);
}

static void search_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)offset;
    if (follower->search.said_at < 0 && next_offset >= follower->high)
        end(follower);
}

static void search_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)next_offset;
    /* The end came before the record did: it was lost between two looks. */
    follower_check_later(follower, FOLLOWER_RETRY_MS);
}

static const struct broker_reader_ops search_ops = {search_record, search_end,
                                                    follower_read_failed};

static void read_again_from(struct follower *follower, int64_t offset)
{
    follower_close_reader(follower);
    follower->phase = PHASE_SEARCH;
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, offset, &search_ops, follower);
    broker_reader_skip_unreadable(follower->reader, search_unreadable);
}

void follower_search(struct follower *follower)
{
    log_warning_limited(
        "the log does not begin with a Continuation: looking for where all orders begin",
        LOG_STR("topic", follower_topic(follower)), LOG_I64("partition", follower->partition),
        LOG_I64("first", follower->low));
    follower->search = (struct follower_search){.begins_at = -1};
    look_for_the_next(follower, follower->low);
}

/* Not where all orders are known to begin, but because the log began there. */
static bool begins_on_trust(const struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    return checkpoint->start > 0 && checkpoint->start <= follower->low && !follower->searched;
}

static void begin_later(struct follower *follower)
{
    struct error error;
    follower->searched = true;
    follower_close_reader(follower);
    if (view_drop(follower->view, &error) != ERROR_OK) {
        follower_stop(follower, &error);
        return;
    }
    if (follower->ops->dropped != NULL)
        follower->ops->dropped(follower->ctx);
    follower_check_later(follower, 0);
}

bool follower_doubts_beginning(struct follower *follower)
{
    if (view_checkpoint(follower->view)->complete || !begins_on_trust(follower))
        return false;
    begin_later(follower);
    return true;
}

bool follower_doubts_trim(struct follower *follower, const struct view_folded *folded)
{
    if (folded->admission != ADMITTED || folded->kind != RECORD_CONTINUATION ||
        folded->record->continuation.trimmed <= view_checkpoint(follower->view)->start ||
        !begins_on_trust(follower))
        return false;
    begin_later(follower);
    return true;
}

/* ---- waiting for it ---- */

static void await_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    struct record decoded;
    assert(follower->phase == PHASE_STOPPED);
    if (decode(follower, record, &decoded) && says_where(follower, &decoded, record->offset))
        follower_check_later(follower, 0);
}

static void await_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void await_past(void *ctx, int64_t offset, int64_t next_offset)
{
    (void)ctx;
    (void)offset;
    (void)next_offset;
}

/* The next look comes with the timer. */
static void await_error(void *ctx, const struct error *error)
{
    (void)ctx;
    (void)error;
}

static const struct broker_reader_ops await_ops = {await_record, await_end, await_error};

void follower_await_beginning(struct follower *follower)
{
    assert(follower->phase == PHASE_STOPPED && follower->reader == NULL);
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, follower->high, &await_ops, follower);
    broker_reader_skip_unreadable(follower->reader, await_past);
}
