/* SPDX-License-Identifier: Apache-2.0 */
/* May a reset skip this range of the log? Reads all of the log, without a store: what is after the
 * range decides, and a fold does not get past the record that stops the partition.
 *
 * Why: docs/design/decisions/0009-trimming-the-log.md, points 2 and 3. */
#include "cli/partition/skip_check.h"

#include <assert.h>
#include <inttypes.h>

enum { PROGRESS_MS = 500 };

struct skip_walk {
    struct cli_session *session;
    struct skip_check *check; /* what is found out */
    struct skip_range range;
    struct checkpoint checkpoint; /* of a reader that skips the range */
    bool again;                   /* from the start, with other ranges of former resets */
    bool done;
    struct error error;
};

/* Whether a record at or after the range is one that its writer made of what is folded there. */
static void look(struct skip_walk *walk, const struct record *record, int64_t offset)
{
    struct skip_check *check = walk->check;
    if (record->kind == RECORD_CONTINUATION && record->continuation.trimmed >= 0 &&
        offset >= walk->range.from && !check->trims) {
        check->trims = true;
        check->trims_at = offset;
    }
    enum admission admission = admission_record(&walk->checkpoint, record, offset);
    walk->checkpoint.next_event_offset = offset + 1;
    if (admission == ADMISSION_REFOLD) {
        admission_correct_skips(&walk->checkpoint, record, offset);
        walk->again = walk->done = true;
    }
    if (admission == ADMITTED && record->kind != RECORD_RESET && offset >= walk->range.to &&
        !check->counts) {
        check->counts = true;
        check->counts_at = offset;
    }
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct skip_walk *walk = ctx;
    struct cluster *cluster = walk->session->cluster;
    struct record decoded;
    if (walk->done)
        return;
    heap_arena_reset(&cluster->scratch);
    if (record->offset < walk->range.at &&
        codec_decode(cluster->codec, record->value, true, &cluster->scratch.arena, &decoded,
                     NULL) == ERROR_OK)
        look(walk, &decoded, record->offset);
    walk->done |= record->offset + 1 >= walk->range.at;
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct skip_walk *walk = ctx;
    walk->done |= next_offset >= walk->range.at;
}

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    (void)offset;
    on_end(ctx, next_offset);
}

static void on_error(void *ctx, const struct error *error)
{
    struct skip_walk *walk = ctx;
    if (error->class != ERROR_FATAL)
        return;
    walk->error = *error;
    walk->done = true;
}

static const struct broker_reader_ops ops = {on_record, on_end, on_error};

static bool is_done(void *ctx)
{
    const struct skip_walk *walk = ctx;
    return walk->done;
}

static enum error_class walk_log(struct skip_walk *walk, int32_t partition, struct error *ret_error)
{
    struct cluster *cluster = walk->session->cluster;
    int64_t low = walk->check->low;
    *walk->check = (struct skip_check){.low = low, .end = walk->range.at};
    walk->check->beginning = low > 0 && walk->range.from <= low;
    walk->again = walk->done = false;
    if (low > 0)
        admission_begin_at(&walk->checkpoint, low);
    struct broker_reader *reader =
        broker_read(cluster->broker, cluster->topics.events, partition, low, &ops, walk);
    broker_reader_skip_unreadable(reader, on_unreadable);
    while (!cli_session_wait(walk->session, is_done, walk, PROGRESS_MS))
        continue;
    broker_reader_close(reader);
    if (error_is(&walk->error))
        *ret_error = walk->error;
    return walk->error.class;
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
    if (!admission_learn_skip(&skips, &walk.range))
        return error_set(ret_error, ERROR_REJECT, "TooManySkips",
                         "%d resets of this partition skip a part of its log already: no more "
                         "can. Let this one skip all that they skip",
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
        return error_set(ret_error, ERROR_REJECT, "SkipsBeginning",
                         "the log was trimmed and begins at offset %" PRId64
                         ": --skip must begin after it, because every service begins with the "
                         "record there. Restore the topic from a backup",
                         check->low);
    if (check->trims)
        return error_set(ret_error, ERROR_REJECT, "SkipsTrimmed",
                         "the record at offset %" PRId64
                         " of events says how far the log may be trimmed, and what that relies on "
                         "may be in the range: --skip cannot include offsets before it. Restore "
                         "the topic from a backup",
                         check->trims_at);
    if (check->counts)
        return error_set(ret_error, ERROR_REJECT, "RecordsCount",
                         "the record at offset %" PRId64
                         " of events counts, and its owner may have known what the range says: "
                         "skip the rest as well, with --skip %" PRId64 "-%" PRId64,
                         check->counts_at, reset->skip.from, check->end);
    return ERROR_OK;
}
