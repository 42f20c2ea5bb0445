/* SPDX-License-Identifier: Apache-2.0 */
/* May a reset skip this range of the log? Reads all of the log, without a store: what is after the
 * range decides, and a fold does not get past the record that stops the partition.
 *
 * Why: docs/design/decisions/0009-trimming-the-log.md, points 2, 3 and 6. */
#include "cli/partition/skip_check.h"

#include <assert.h>
#include <inttypes.h>

enum { ANNOUNCED_MAX = 16 };

/* A Continuation in or after the range that says Trimmed. */
struct announced_trim {
    struct uuid claim_id;
    int64_t at;
};

struct skip_walk {
    struct cli_session *session;
    struct skip_check *check; /* what is found out */
    struct skip_range range;
    struct checkpoint checkpoint;                   /* of a reader that skips the range */
    struct announced_trim announced[ANNOUNCED_MAX]; /* of claims that have not continued since */
    uint32_t announced_count;
    bool again; /* from the start, with other ranges of former resets */
};

/* The log is trimmed once the owner has continued where it expected to, after Trimmed. Where it has
 * not, the reset comes in between, so it gives up its claim instead. */
static void look_at_continuation(struct skip_walk *walk, const struct continuation *continuation,
                                 int64_t offset)
{
    struct skip_check *check = walk->check;
    if (offset < walk->range.from || check->trims)
        return;
    for (uint32_t i = 0; i < walk->announced_count && !check->trims; i++) {
        check->trims = uuid_equal(&walk->announced[i].claim_id, &continuation->claim_id);
        check->trims_at = walk->announced[i].at;
    }
    if (check->trims || continuation->trimmed < 0)
        return;
    if (walk->announced_count < ANNOUNCED_MAX) {
        walk->announced[walk->announced_count++] =
            (struct announced_trim){continuation->claim_id, offset};
        return;
    }
    check->trims = true;
    check->trims_at = offset;
}

static void look_at_reset(struct skip_walk *walk, const struct partition_reset *reset,
                          int64_t offset)
{
    struct skip_check *check = walk->check;
    struct skip_range former;
    if (offset < walk->range.from || offset >= walk->range.to ||
        !admission_skip_of(reset, offset, &former) || former.from >= walk->range.from ||
        (check->revives && check->revives_from <= former.from))
        return;
    check->revives = true;
    check->revives_at = offset;
    check->revives_from = former.from;
}

/* Whether a record at or after the range is one that its writer made of what is folded there. */
static void look(struct skip_walk *walk, const struct record *record, int64_t offset)
{
    struct skip_check *check = walk->check;
    if (record->kind == RECORD_CONTINUATION)
        look_at_continuation(walk, &record->continuation, offset);
    if (record->kind == RECORD_RESET)
        look_at_reset(walk, &record->reset, offset);
    enum admission admission = admission_record(&walk->checkpoint, record, offset);
    walk->checkpoint.next_event_offset = offset + 1;
    if (admission == ADMISSION_REFOLD) {
        admission_correct_skips(&walk->checkpoint, record, offset);
        walk->again = true;
    }
    if (admission == ADMITTED && record->kind != RECORD_RESET && offset >= walk->range.to &&
        !check->counts) {
        check->counts = true;
        check->counts_at = offset;
    }
}

static bool on_record(void *ctx, const struct broker_record *record)
{
    struct skip_walk *walk = ctx;
    struct cluster *cluster = walk->session->cluster;
    struct record decoded;
    heap_arena_reset(&cluster->scratch);
    if (codec_decode(cluster->codec, record->value, true, &cluster->scratch.arena, &decoded,
                     NULL) == ERROR_OK)
        look(walk, &decoded, record->offset);
    return !walk->again;
}

static bool on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    (void)ctx;
    (void)offset;
    (void)next_offset;
    return true;
}

static enum error_class walk_log(struct skip_walk *walk, int32_t partition, struct error *ret_error)
{
    int64_t low = walk->check->low;
    struct cli_reading log = {.topic = walk->session->cluster->topics.events,
                              .partition = partition,
                              .next = low,
                              .end = walk->range.at,
                              .record = on_record,
                              .unreadable = on_unreadable,
                              .ctx = walk};
    *walk->check = (struct skip_check){.low = low, .end = walk->range.at};
    walk->check->beginning = low > 0 && walk->range.from <= low;
    walk->again = false;
    walk->announced_count = 0;
    if (low > 0)
        admission_begin_at(&walk->checkpoint, low);
    return cli_session_read(walk->session, &log, ret_error);
}

enum error_class skip_check_read(struct cli_session *session, int32_t partition,
                                 const struct partition_reset *reset,
                                 const struct checkpoint *checkpoint, struct skip_check *check,
                                 struct error *ret_error)
{
    struct skip_walk walk = {.session = session,
                             .check = check,
                             .range = {reset->skip.from, reset->skip.to, check->end}};
    struct checkpoint skips = *checkpoint;
    enum error_class class = ERROR_OK;
    assert(reset->has_skip && reset->skip.to <= check->end);
    skips.trimmed = 0; /* what may be trimmed is here still: no reader may have forgotten it */
    if (!admission_learn_skip(&skips, &walk.range))
        return error_set_as(ret_error, ERROR_REJECT, CODE_TOO_MANY_SKIPS,
                            "%d resets in the log of this partition skip a part of it already: no "
                            "more can. Let this one skip all that they skip, themselves included",
                            CHECKPOINT_SKIPS_MAX);
    for (int i = 0; i <= CHECKPOINT_SKIPS_MAX; i++) {
        walk.checkpoint = admission_begin();
        admission_copy_skips(&walk.checkpoint, &skips);
        class = walk_log(&walk, partition, ret_error);
        if (class != ERROR_OK || !walk.again)
            return class;
        admission_copy_skips(&skips, &walk.checkpoint);
    }
    return class;
}

enum error_class skip_check_verdict(const struct skip_check *check,
                                    const struct partition_reset *reset, struct error *ret_error)
{
    assert(reset->has_skip);
    if (check->beginning)
        return error_set(ret_error, CODE_SKIPS_BEGINNING,
                         "the log was trimmed and begins at offset %" PRId64
                         ": --skip must begin after it, because every service begins with the "
                         "record there. Restore the topic from a backup",
                         check->low);
    if (check->trims)
        return error_set(ret_error, CODE_SKIPS_TRIMMED,
                         "the record at offset %" PRId64
                         " of events says how far the log is trimmed, and what that relies on may "
                         "be in the range: --skip cannot include offsets before it. Restore the "
                         "topic from a backup",
                         check->trims_at);
    if (check->revives)
        return error_set(ret_error, CODE_SKIPS_RESET,
                         "the record at offset %" PRId64
                         " of events is a reset: were it skipped, what it skips would count again. "
                         "Skip that as well, with --skip %" PRId64 "-%" PRId64
                         ", or begin after offset %" PRId64,
                         check->revives_at, check->revives_from, reset->skip.to, check->revives_at);
    if (check->counts)
        return error_set(ret_error, CODE_RECORDS_COUNT,
                         "the record at offset %" PRId64
                         " of events counts, and its owner may have known what the range says: "
                         "skip the rest as well, with --skip %" PRId64 "-%" PRId64,
                         check->counts_at, reset->skip.from, check->end);
    return ERROR_OK;
}
