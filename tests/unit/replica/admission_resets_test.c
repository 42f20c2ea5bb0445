/* SPDX-License-Identifier: Apache-2.0 */
/* Random logs in which an operator skips parts again and again while the owner trims: a reader that
 * has followed the log all along, one that comes and goes, and one that begins where the log begins
 * agree on which records count. */
#include "replica/fold/admission.h"
#include "tests/lib/seed.h"
#include "tests/property/engine_random.h"

#include <criterion/criterion.h>

TestSuite(admission_resets);

enum { LOG_MAX = 400, TRIM_PERCENT = 6, RESET_PERCENT = 20, RANGE_MAX = 12 };

struct history {
    struct dice dice;
    struct record log[LOG_MAX];
    int64_t low;
    int64_t end;
    int64_t may_begin; /* by the last Trimmed */
    uint8_t claims;
    struct checkpoint follows; /* never begins again of its own accord */
    struct checkpoint visits;
    uint64_t forgotten;
    uint64_t refused;
};

static void begin_at(struct checkpoint *checkpoint, int64_t low)
{
    *checkpoint = admission_begin();
    admission_begin_at(checkpoint, low);
}

/* To the end of the log, as a follower does. A reader begins again for each reset that it does not
 * know, however many there are in ranges that later ones hold; what it has learned once it never
 * meets again, so each lies behind the last. */
static void fold(const struct history *history, struct checkpoint *checkpoint)
{
    int64_t learned = -1;
    if (checkpoint->next_event_offset <= history->low && history->low > 0)
        begin_at(checkpoint, history->low);
    while (checkpoint->next_event_offset < history->end) {
        int64_t offset = checkpoint->next_event_offset;
        const struct record *record = &history->log[offset];
        enum admission admission = admission_record(checkpoint, record, offset);
        cr_assert(admission != ADMISSION_DIFFERS && admission != ADMISSION_TOO_MANY,
                  "%s at %lld of %lld to %lld", admission_name(admission), (long long)offset,
                  (long long)history->low, (long long)history->end);
        checkpoint->next_event_offset++;
        if (admission != ADMISSION_REFOLD)
            continue;
        struct checkpoint skips = *checkpoint;
        admission_correct_skips(&skips, record, offset);
        *checkpoint = admission_begin();
        admission_copy_skips(checkpoint, &skips);
        admission_begin_at(checkpoint, history->low);
        cr_assert(offset > learned, "%lld after %lld", (long long)offset, (long long)learned);
        learned = offset;
    }
}

static void append(struct history *history, const struct record *record)
{
    cr_assert(history->end < LOG_MAX);
    history->log[history->end++] = *record;
    fold(history, &history->follows);
}

static void claim(struct history *history)
{
    append(history,
           &(struct record){.kind = RECORD_CLAIM, .claim = {.claim_id = {{++history->claims}}}});
}

static void decide(struct history *history)
{
    const struct checkpoint *known = &history->follows;
    struct record record = {.kind = RECORD_DECISION};
    record.decision = (struct decision){.claim_id = known->claim_id,
                                        .sequence = known->next_sequence,
                                        .command_offset = known->next_command_offset,
                                        .emitted_through = -1};
    append(history, &record);
}

static void go_on(struct history *history, int64_t trimmed)
{
    struct record record = {.kind = RECORD_CONTINUATION};
    admission_state(&history->follows, &record.continuation);
    record.continuation.trimmed = trimmed;
    append(history, &record);
    if (trimmed >= 0)
        history->may_begin = trimmed;
}

/* The newest Continuation that counts, but for the last records. */
static void trim(struct history *history)
{
    int64_t to = history->end - 1 - dice_roll(&history->dice, RANGE_MAX);
    while (to > history->may_begin &&
           (history->log[to].kind != RECORD_CONTINUATION || admission_skips(&history->follows, to)))
        to--;
    if (to > history->may_begin)
        go_on(history, to);
}

/* As `reeve partition reset` does: by the whole log, from where it begins. */
static void skip(struct history *history)
{
    static const struct record foreign = {.kind = RECORD_STATUS_UPDATE};
    append(history, &foreign);
    int64_t from = history->end - 1 - dice_roll(&history->dice, RANGE_MAX);
    struct skip_range range = {from, history->end, history->end};
    bool refuse = from <= history->low;
    for (int64_t at = from; at < history->end && !refuse; at++)
        refuse = (history->log[at].kind == RECORD_CONTINUATION &&
                  history->log[at].continuation.trimmed >= 0) ||
                 (history->log[at].kind == RECORD_RESET && history->log[at].reset.skip.from < from);
    struct checkpoint whole;
    begin_at(&whole, history->low);
    fold(history, &whole);
    whole.trimmed = 0;
    if (refuse)
        return;
    if (!admission_learn_skip(&whole, &range)) {
        history->refused++;
        return;
    }
    struct checkpoint before = history->follows;
    struct record record = {.kind = RECORD_RESET};
    record.reset = (struct partition_reset){.expected_offset = history->end,
                                            .next_command_offset = -1,
                                            .has_skip = true,
                                            .skip = {range.from, range.to}};
    append(history, &record);
    cr_assert(admission_expects_reset(&history->follows, range.at), "it counts");
    for (int64_t i = 0; i < before.skip_count; i++)
        history->forgotten += before.skips[i].at < from &&
                              !admission_expects_reset(&history->follows, before.skips[i].at);
}

static void expect_same(const struct checkpoint *a, const struct checkpoint *b)
{
    struct continuation states_a;
    struct continuation states_b;
    admission_state(a, &states_a);
    admission_state(b, &states_b);
    cr_assert_eq(memcmp(&states_a, &states_b, sizeof(states_a)), 0);
    cr_assert(a->has_claim == b->has_claim && a->next_event_offset == b->next_event_offset);
}

static void go_through(struct history *history)
{
    while (history->end < LOG_MAX - 4) {
        struct checkpoint fresh;
        if (!history->follows.has_claim || dice_percent(&history->dice, 5))
            claim(history);
        else if (dice_percent(&history->dice, TRIM_PERCENT))
            trim(history);
        else if (dice_percent(&history->dice, RESET_PERCENT))
            skip(history);
        else if (dice_percent(&history->dice, 40))
            go_on(history, -1);
        else
            decide(history);
        if (dice_percent(&history->dice, 10))
            history->low = history->may_begin;
        begin_at(&fresh, history->low);
        fold(history, &fresh);
        expect_same(&fresh, &history->follows);
        if (!dice_percent(&history->dice, 10))
            continue;
        fold(history, &history->visits);
        expect_same(&fresh, &history->visits);
    }
}

Test(admission_resets, readers_agree_wherever_they_begin)
{
    uint64_t seed = seed_first();
    uint64_t cases = seed_cases(300);
    uint64_t forgotten = 0;
    uint64_t refused = 0;
    for (uint64_t i = 0; i < cases; i++) {
        static struct history history;
        seed_begin(seed + i);
        history = (struct history){.dice = dice_of(seed + i)};
        begin_at(&history.follows, 0);
        begin_at(&history.visits, 0);
        go_through(&history);
        forgotten += history.forgotten;
        refused += history.refused;
        seed_end();
    }
    cr_assert(cases < 300 || (forgotten > 100 && refused > 100), "%llu, %llu",
              (unsigned long long)forgotten, (unsigned long long)refused);
}
