/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/fold/admission.h"

#include <assert.h>

static const char *const names[] = {"admitted", "other_claim", "sequence", "command",
                                    "repeat",   "void",        "range",    "foreign",
                                    "differs",  "too_many",    "refold"};
_Static_assert(sizeof(names) / sizeof(names[0]) == ADMISSION_COUNT, "every admission has a name");

const char *admission_name(enum admission admission)
{
    assert((unsigned)admission < ADMISSION_COUNT);
    return names[admission];
}

struct checkpoint admission_begin(void)
{
    return (struct checkpoint){.last_command_offset = -1,
                               .emitted_through = -1,
                               .guarded_offset = -1,
                               .previous_claim_decisions = -1,
                               .complete = true};
}

void admission_begin_at(struct checkpoint *checkpoint, int64_t start)
{
    assert(start >= 0 && !checkpoint->has_first_claim);
    assert(checkpoint->next_event_offset == checkpoint->start); /* nothing is folded */
    checkpoint->start = checkpoint->next_event_offset = start;
    checkpoint->complete = start == 0;
    int64_t count = 0;
    for (int64_t i = 0; i < checkpoint->skip_count; i++)
        if (checkpoint->skips[i].at >= start)
            checkpoint->skips[count++] = checkpoint->skips[i];
    checkpoint->skip_count = count;
}

bool admission_begins(const struct checkpoint *checkpoint)
{
    return checkpoint->start > 0 && checkpoint->next_event_offset == checkpoint->start;
}

static void learn_format(struct checkpoint *checkpoint, int64_t format)
{
    if (format > checkpoint->state_format)
        checkpoint->state_format = format;
}

/* An operator's choice of the next command. */
static void set_next_command(struct checkpoint *checkpoint, int64_t next_command_offset)
{
    checkpoint->next_command_offset = next_command_offset;
    checkpoint->last_command_offset = -1;
    checkpoint->last_command_time = 0;
    checkpoint->guarded_offset = -1;
    checkpoint->guards = 0;
}

enum admission admission_claim(struct checkpoint *checkpoint, const struct claim *claim)
{
    if (checkpoint->has_claim && uuid_equal(&checkpoint->claim_id, &claim->claim_id))
        return SKIPPED_REPEAT;
    if (!checkpoint->has_first_claim) {
        checkpoint->has_first_claim = true;
        checkpoint->first_claim_id = claim->claim_id;
    }
    /* -1: there was no claim before this one, so no owner can have crashed deciding. */
    checkpoint->previous_claim_decisions = checkpoint->has_claim ? checkpoint->claim_decisions : -1;
    checkpoint->has_claim = true;
    checkpoint->claim_id = claim->claim_id;
    checkpoint->next_sequence = checkpoint->claim_decisions = 0;
    checkpoint->partition_count = claim->partition_count;
    learn_format(checkpoint, claim->format);
    if (claim->has_reset)
        set_next_command(checkpoint, claim->reset.next_command_offset);
    return ADMITTED;
}

enum admission admission_guard(struct checkpoint *checkpoint, const struct command_guard *guard)
{
    if (!checkpoint->has_claim || !uuid_equal(&checkpoint->claim_id, &guard->claim_id))
        return SKIPPED_OTHER_CLAIM;
    if (guard->command_offset < checkpoint->next_command_offset)
        return SKIPPED_COMMAND;
    if (checkpoint->guarded_offset != guard->command_offset)
        checkpoint->guards = 0;
    checkpoint->guarded_offset = guard->command_offset;
    checkpoint->guards++;
    return ADMITTED;
}

enum admission admission_decision(struct checkpoint *checkpoint, const struct decision *decision)
{
    if (!checkpoint->has_claim || !uuid_equal(&checkpoint->claim_id, &decision->claim_id))
        return SKIPPED_OTHER_CLAIM;
    if (decision->sequence != checkpoint->next_sequence)
        return SKIPPED_SEQUENCE;
    if (decision->command_offset < checkpoint->next_command_offset)
        return SKIPPED_COMMAND;
    checkpoint->next_sequence++;
    checkpoint->claim_decisions++;
    checkpoint->next_command_offset = decision->command_offset + 1;
    checkpoint->last_command_offset = decision->command_offset;
    checkpoint->last_command_time = decision->command_time;
    checkpoint->guarded_offset = -1;
    checkpoint->guards = 0;
    if (decision->decided_at > checkpoint->newest_decided_at)
        checkpoint->newest_decided_at = decision->decided_at;
    if (decision->emitted_through > checkpoint->emitted_through)
        checkpoint->emitted_through = decision->emitted_through;
    return ADMITTED;
}

/* ---- continuations ---- */

/* A Continuation states what a checkpoint keeps, except for what is the reader's own: the
 * cluster, where it began and stands, what it has skipped, how far the log may be trimmed, and the
 * flags (8 bytes with what fills them up), which follow from the rest. Of its own it has written_at
 * and trimmed, and who claimed and when. */
_Static_assert(sizeof(struct checkpoint) - CLUSTER_ID_BYTES_MAX - sizeof(int64_t) -
                       (5 + 1 + 3 * CHECKPOINT_SKIPS_MAX) * sizeof(int64_t) ==
                   sizeof(struct continuation) - 3 * sizeof(int64_t) - sizeof(struct text),
               "a Continuation states every field of the bookkeeping");

void admission_state(const struct checkpoint *checkpoint, struct continuation *ret_continuation)
{
    *ret_continuation = (struct continuation){
        .claim_id = checkpoint->claim_id,
        .sequence = checkpoint->next_sequence,
        .first_claim_id = checkpoint->first_claim_id,
        .partition_count = (int32_t)checkpoint->partition_count,
        .next_command_offset = checkpoint->next_command_offset,
        .last_command_offset = checkpoint->last_command_offset,
        .last_command_time = checkpoint->last_command_time,
        .newest_decided_at = checkpoint->newest_decided_at,
        .emitted_through = checkpoint->emitted_through,
        .claim_decisions = checkpoint->claim_decisions,
        .previous_claim_decisions = checkpoint->previous_claim_decisions,
        .guarded_offset = checkpoint->guarded_offset,
        .guards = checkpoint->guards,
        .format = checkpoint->state_format > STATE_FORMAT ? (int32_t)checkpoint->state_format
                                                          : STATE_FORMAT,
        .trimmed = -1,
    };
}

/* emitted_through, format and trimmed are news, as emitted_through is in a Decision. */
static bool states_the_same(const struct continuation *a, const struct continuation *b)
{
    return uuid_equal(&a->first_claim_id, &b->first_claim_id) &&
           a->partition_count == b->partition_count &&
           a->next_command_offset == b->next_command_offset &&
           a->last_command_offset == b->last_command_offset &&
           a->last_command_time == b->last_command_time &&
           a->newest_decided_at == b->newest_decided_at &&
           a->claim_decisions == b->claim_decisions &&
           a->previous_claim_decisions == b->previous_claim_decisions &&
           a->guarded_offset == b->guarded_offset && a->guards == b->guards;
}

static enum admission take_sequence(struct checkpoint *checkpoint, const struct uuid *claim_id,
                                    int64_t sequence)
{
    if (!checkpoint->has_claim || !uuid_equal(&checkpoint->claim_id, claim_id))
        return SKIPPED_OTHER_CLAIM;
    if (sequence != checkpoint->next_sequence)
        return SKIPPED_SEQUENCE;
    checkpoint->next_sequence++;
    return ADMITTED;
}

enum admission admission_statement(struct checkpoint *checkpoint, const struct statement *statement)
{
    enum admission admission = take_sequence(checkpoint, &statement->claim_id, statement->sequence);
    if (admission == ADMITTED)
        learn_format(checkpoint, statement->format);
    return admission;
}

enum admission admission_expiry(struct checkpoint *checkpoint, const struct expiry *expiry)
{
    enum admission admission = take_sequence(checkpoint, &expiry->claim_id, expiry->sequence);
    if (admission == ADMITTED && expiry->decided_at > checkpoint->newest_decided_at)
        checkpoint->newest_decided_at = expiry->decided_at;
    return admission;
}

enum admission admission_sequence(struct checkpoint *checkpoint,
                                  const struct continuation *continuation)
{
    enum admission admission =
        take_sequence(checkpoint, &continuation->claim_id, continuation->sequence);
    if (admission != ADMITTED)
        return admission;
    learn_format(checkpoint, continuation->format);
    if (continuation->trimmed >= checkpoint->start)
        checkpoint->complete = true;
    if (continuation->trimmed > checkpoint->trimmed)
        checkpoint->trimmed = continuation->trimmed;
    if (continuation->emitted_through > checkpoint->emitted_through)
        checkpoint->emitted_through = continuation->emitted_through;
    return ADMITTED;
}

enum admission admission_continuation(struct checkpoint *checkpoint,
                                      const struct continuation *continuation)
{
    struct continuation folded;
    struct checkpoint next = *checkpoint;
    admission_state(checkpoint, &folded);
    enum admission admission = admission_sequence(&next, continuation);
    if (admission != ADMITTED)
        return admission;
    if (!states_the_same(continuation, &folded))
        return ADMISSION_DIFFERS;
    *checkpoint = next;
    return ADMITTED;
}

/* A log that was trimmed begins here: nothing before it is left to compare this with. */
static void trust(struct checkpoint *checkpoint, const struct continuation *continuation)
{
    assert(admission_begins(checkpoint) && !checkpoint->has_claim);
    checkpoint->has_first_claim = checkpoint->has_claim = true;
    checkpoint->first_claim_id = continuation->first_claim_id;
    checkpoint->claim_id = continuation->claim_id;
    checkpoint->next_sequence = continuation->sequence;
    checkpoint->partition_count = continuation->partition_count;
    checkpoint->next_command_offset = continuation->next_command_offset;
    checkpoint->last_command_offset = continuation->last_command_offset;
    checkpoint->last_command_time = continuation->last_command_time;
    checkpoint->newest_decided_at = continuation->newest_decided_at;
    checkpoint->claim_decisions = continuation->claim_decisions;
    checkpoint->previous_claim_decisions = continuation->previous_claim_decisions;
    checkpoint->guarded_offset = continuation->guarded_offset;
    checkpoint->guards = continuation->guards;
}

/* ---- resets ---- */

bool admission_skips(const struct checkpoint *checkpoint, int64_t offset)
{
    bool skips = false;
    for (int64_t i = 0; i < checkpoint->skip_count && !skips; i++)
        skips = offset >= checkpoint->skips[i].from && offset < checkpoint->skips[i].to;
    return skips;
}

int64_t admission_past_skips(const struct checkpoint *checkpoint, int64_t offset)
{
    int64_t at = offset;
    for (int64_t i = 0; i < checkpoint->skip_count; i++) {
        if (at < checkpoint->skips[i].from || at >= checkpoint->skips[i].to)
            continue;
        at = checkpoint->skips[i].to;
        i = -1; /* the next range may be any of them */
    }
    assert(at >= offset);
    return at;
}

static bool is_valid(const struct partition_reset *reset, int64_t offset)
{
    return reset->expected_offset == offset && reset->next_command_offset >= -1 &&
           reset->newest_decided_at >= 0 &&
           (!reset->has_skip || (reset->skip.from >= 0 && reset->skip.from < reset->skip.to &&
                                 reset->skip.to <= offset));
}

bool admission_skip_of(const struct partition_reset *reset, int64_t offset,
                       struct skip_range *ret_range)
{
    if (!reset->has_skip || !is_valid(reset, offset))
        return false;
    *ret_range = (struct skip_range){reset->skip.from, reset->skip.to, offset};
    return true;
}

static bool knows(const struct checkpoint *checkpoint, const struct skip_range *range)
{
    bool known = false;
    for (int64_t i = 0; i < checkpoint->skip_count && !known; i++)
        known = checkpoint->skips[i].from == range->from && checkpoint->skips[i].to == range->to &&
                checkpoint->skips[i].at == range->at;
    return known;
}

/* False: the log may still hold it. */
static bool forget_oldest(struct checkpoint *checkpoint)
{
    int64_t oldest = 0;
    assert(checkpoint->skip_count > 0);
    for (int64_t i = 1; i < checkpoint->skip_count; i++)
        if (checkpoint->skips[i].at < checkpoint->skips[oldest].at)
            oldest = i;
    if (checkpoint->skips[oldest].at >= checkpoint->trimmed)
        return false;
    checkpoint->skips[oldest] = checkpoint->skips[--checkpoint->skip_count];
    return true;
}

bool admission_learn_skip(struct checkpoint *checkpoint, const struct skip_range *range)
{
    struct checkpoint next = *checkpoint;
    assert(range->from < range->to && range->to <= range->at); /* admission_skip_of() */
    assert(checkpoint->skip_count >= 0 && checkpoint->skip_count <= CHECKPOINT_SKIPS_MAX);
    if (knows(checkpoint, range))
        return true;
    next.skip_count = 0;
    for (int64_t i = 0; i < checkpoint->skip_count; i++)
        if (checkpoint->skips[i].at != range->at &&
            (checkpoint->skips[i].at < range->from || checkpoint->skips[i].at >= range->to))
            next.skips[next.skip_count++] = checkpoint->skips[i];
    if (next.skip_count == CHECKPOINT_SKIPS_MAX && !forget_oldest(&next))
        return false;
    next.skips[next.skip_count++] = *range;
    *checkpoint = next;
    return true;
}

void admission_copy_skips(struct checkpoint *checkpoint, const struct checkpoint *from)
{
    assert(from->skip_count >= 0 && from->skip_count <= CHECKPOINT_SKIPS_MAX);
    checkpoint->skip_count = from->skip_count;
    memcpy(checkpoint->skips, from->skips, sizeof(from->skips));
}

bool admission_expects_reset(const struct checkpoint *checkpoint, int64_t offset)
{
    bool expects = false;
    for (int64_t i = 0; i < checkpoint->skip_count && !expects; i++)
        expects = checkpoint->skips[i].at == offset;
    return expects;
}

bool admission_awaits_reset(const struct checkpoint *checkpoint)
{
    bool awaits = false;
    for (int64_t i = 0; i < checkpoint->skip_count && !awaits; i++)
        awaits = checkpoint->skips[i].at >= checkpoint->next_event_offset;
    return awaits;
}

void admission_correct_skips(struct checkpoint *checkpoint, const struct record *record,
                             int64_t offset)
{
    struct skip_range range;
    int64_t count = 0;
    for (int64_t i = 0; i < checkpoint->skip_count; i++)
        if (checkpoint->skips[i].at != offset)
            checkpoint->skips[count++] = checkpoint->skips[i];
    checkpoint->skip_count = count;
    if (record != NULL && record->kind == RECORD_RESET &&
        admission_skip_of(&record->reset, offset, &range))
        admission_learn_skip(checkpoint, &range);
}

enum admission admission_reset(struct checkpoint *checkpoint, const struct partition_reset *reset,
                               int64_t offset)
{
    struct skip_range range;
    struct checkpoint next = *checkpoint;
    bool expected = admission_expects_reset(checkpoint, offset);
    bool skips = admission_skip_of(reset, offset, &range);
    if (expected && !(skips && knows(checkpoint, &range)))
        return ADMISSION_REFOLD;
    if (skips && !expected)
        return admission_learn_skip(&next, &range) ? ADMISSION_REFOLD : ADMISSION_TOO_MANY;
    if (!is_valid(reset, offset))
        return SKIPPED_VOID;
    checkpoint->has_claim = false;
    checkpoint->next_sequence = checkpoint->claim_decisions = 0;
    if (reset->next_command_offset >= 0)
        set_next_command(checkpoint, reset->next_command_offset);
    if (reset->newest_decided_at > 0 && reset->newest_decided_at < checkpoint->newest_decided_at)
        checkpoint->newest_decided_at = reset->newest_decided_at;
    return ADMITTED;
}

/* ---- any record ---- */

/* No owner has sent the effects of what it has not yet written, or needs nothing of that. */
static enum admission admit_continuation(struct checkpoint *checkpoint,
                                         const struct continuation *continuation, int64_t offset)
{
    struct checkpoint next = *checkpoint;
    if (admission_begins(checkpoint))
        trust(&next, continuation);
    enum admission admission = admission_continuation(&next, continuation);
    if (admission == ADMITTED && continuation->emitted_through >= offset)
        return ADMISSION_DIFFERS;
    if (admission == ADMITTED && continuation->trimmed >= offset)
        return ADMISSION_DIFFERS;
    *checkpoint = next;
    return admission;
}

enum admission admission_record(struct checkpoint *checkpoint, const struct record *record,
                                int64_t offset)
{
    bool skips = admission_skips(checkpoint, offset);
    if (admission_begins(checkpoint) && (skips || record->kind != RECORD_CONTINUATION))
        return ADMISSION_DIFFERS;
    if (skips)
        return SKIPPED_RANGE;
    if (record->kind == RECORD_RESET)
        return admission_reset(checkpoint, &record->reset, offset);
    if (admission_expects_reset(checkpoint, offset))
        return ADMISSION_REFOLD;
    if (record->kind == RECORD_DECISION)
        return admission_decision(checkpoint, &record->decision);
    if (record->kind == RECORD_CLAIM)
        return admission_claim(checkpoint, &record->claim);
    if (record->kind == RECORD_COMMAND_GUARD)
        return admission_guard(checkpoint, &record->command_guard);
    if (record->kind == RECORD_CONTINUATION)
        return admit_continuation(checkpoint, &record->continuation, offset);
    if (record->kind == RECORD_STATEMENT)
        return admission_statement(checkpoint, &record->statement);
    if (record->kind == RECORD_EXPIRY)
        return admission_expiry(checkpoint, &record->expiry);
    return SKIPPED_FOREIGN;
}
