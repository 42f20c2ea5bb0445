/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, case by case: records of events[p] in a compact notation, and which of them count.
 *
 *     C1        Claim of claimant 1            R1@7   Claim of 1 with a reset to command 7
 *     D1.0@4    Decision of 1, sequence 0, of the command at offset 4
 *     A1@4      Attempt of 1 at command 4
 *     K1.2      Continuation of 1, sequence 2, that states what was folded
 *     K1.2T5    likewise, and nothing before offset 5 is needed
 *     X1.2      likewise, but it states another next command
 *     O1.2      Statement of 1, sequence 2
 *     N3@7      Reset that expects offset 3, to command 7 (-1: as it was)
 *     S5:1-4    Reset that expects offset 5 and skips [1, 4)
 *     -         no record of the log
 *
 * The first word has offset 0, or that at which a trimmed log begins. */
#include "replica/fold/admission.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct uuid claim_id(int claimant)
{
    return (struct uuid){{(uint8_t)claimant}};
}

static enum admission admit_reset(struct checkpoint *checkpoint, const char *word, int64_t offset)
{
    struct record record = {.kind = RECORD_RESET, .reset = {.next_command_offset = -1}};
    long long expected = 0;
    long long next = -1;
    long long from = 0;
    long long to = 0;
    if (sscanf(word, "S%lld:%lld-%lld", &expected, &from, &to) == 3) {
        record.reset.has_skip = true;
        record.reset.skip.from = from;
        record.reset.skip.to = to;
    } else {
        cr_assert_eq(sscanf(word, "N%lld@%lld", &expected, &next), 2, "not a record: %s", word);
    }
    record.reset.expected_offset = expected;
    record.reset.next_command_offset = next;
    enum admission admission = admission_record(checkpoint, &record, offset);
    if (admission == ADMISSION_REFOLD)
        admission_correct_skips(checkpoint, &record, offset);
    return admission;
}

static enum admission admit_continuation(struct checkpoint *checkpoint, int claimant,
                                         long long sequence, long long trimmed, bool differs,
                                         int64_t offset)
{
    struct record record = {.kind = RECORD_CONTINUATION};
    admission_state(checkpoint, &record.continuation);
    record.continuation.claim_id = claim_id(claimant);
    record.continuation.sequence = sequence;
    record.continuation.trimmed = trimmed;
    record.continuation.next_command_offset += differs;
    return admission_record(checkpoint, &record, offset);
}

static enum admission admit(struct checkpoint *checkpoint, const char *record, int64_t offset)
{
    int claimant = 0;
    long long sequence = 0;
    long long command = 0;
    if (sscanf(record, "D%d.%lld@%lld", &claimant, &sequence, &command) == 3) {
        struct decision decision = {.claim_id = claim_id(claimant),
                                    .sequence = sequence,
                                    .command_offset = command,
                                    .emitted_through = -1};
        struct record any = {.kind = RECORD_DECISION, .decision = decision};
        return admission_record(checkpoint, &any, offset);
    }
    if (sscanf(record, "A%d@%lld", &claimant, &command) == 2) {
        struct record any = {.kind = RECORD_COMMAND_GUARD,
                             .command_guard = {claim_id(claimant), command}};
        return admission_record(checkpoint, &any, offset);
    }
    if (sscanf(record, "R%d@%lld", &claimant, &command) == 2) {
        struct record any = {.kind = RECORD_CLAIM,
                             .claim = {.claim_id = claim_id(claimant),
                                       .has_reset = true,
                                       .reset = {.next_command_offset = command}}};
        return admission_record(checkpoint, &any, offset);
    }
    long long trimmed = -1;
    if (sscanf(record, "K%d.%lldT%lld", &claimant, &sequence, &trimmed) >= 2)
        return admit_continuation(checkpoint, claimant, sequence, trimmed, false, offset);
    if (sscanf(record, "X%d.%lld", &claimant, &sequence) == 2)
        return admit_continuation(checkpoint, claimant, sequence, trimmed, true, offset);
    if (sscanf(record, "O%d.%lld", &claimant, &sequence) == 2) {
        struct record any = {.kind = RECORD_STATEMENT};
        any.statement = (struct statement){.claim_id = claim_id(claimant), .sequence = sequence};
        return admission_record(checkpoint, &any, offset);
    }
    long long decided_at = 0;
    if (sscanf(record, "E%d.%lldT%lld", &claimant, &sequence, &decided_at) == 3) {
        struct record any = {.kind = RECORD_EXPIRY};
        any.expiry = (struct expiry){
            .claim_id = claim_id(claimant), .sequence = sequence, .decided_at = decided_at};
        return admission_record(checkpoint, &any, offset);
    }
    if (record[0] == 'N' || record[0] == 'S')
        return admit_reset(checkpoint, record, offset);
    struct record any = {.kind = RECORD_STATUS_UPDATE};
    if (record[0] != '-') {
        cr_assert_eq(sscanf(record, "C%d", &claimant), 1, "not a record: %s", record);
        any = (struct record){.kind = RECORD_CLAIM, .claim = {.claim_id = claim_id(claimant)}};
    }
    return admission_record(checkpoint, &any, offset);
}

/* "C1 D1.0@0 C2 D1.1@1!other_claim": what follows '!' is the expected verdict, else admitted. */
static void tell_on(struct checkpoint *checkpoint, const char *story)
{
    int64_t offset = checkpoint->start;
    char copy[512];
    char *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", story);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *bang = strchr(word, '!');
        if (bang != NULL)
            *bang = '\0';
        const char *expected = bang != NULL ? bang + 1 : "admitted";
        const char *verdict = admission_name(admit(checkpoint, word, offset++));
        checkpoint->next_event_offset = offset;
        cr_assert_str_eq(verdict, expected, "%s in: %s", word, story);
    }
}

static struct checkpoint tell(const char *story)
{
    struct checkpoint checkpoint = admission_begin();
    tell_on(&checkpoint, story);
    return checkpoint;
}

Test(admission, admits_decisions_of_the_latest_claim_in_sequence)
{
    struct checkpoint end = tell("C1 D1.0@0 D1.1@1 D1.2@5");
    cr_assert_eq(end.next_command_offset, 6);
    cr_assert_eq(end.next_sequence, 3);
}

Test(admission, skips_a_decision_before_any_claim)
{
    tell("D1.0@0!other_claim C1 D1.0@0");
}

Test(admission, skips_a_zombie_after_another_claim)
{
    struct checkpoint end =
        tell("C1 D1.0@0 C2 D1.1@1!other_claim D2.0@1 D1.2@2!other_claim D2.1@2");
    cr_assert_eq(end.next_command_offset, 3);
}

Test(admission, skips_duplicates_and_everything_after_a_gap)
{
    tell("C1 D1.0@0 D1.0@0!sequence D1.2@2!sequence D1.3@3!sequence D1.1@1 D1.2@2");
}

Test(admission, consumes_a_command_once)
{
    tell("C1 D1.0@3 C2 D2.0@3!command D2.0@2!command D2.0@4");
}

Test(admission, ignores_a_repeated_claim)
{
    struct checkpoint end = tell("C1 D1.0@0 C1!repeat D1.1@1");
    cr_assert_eq(end.next_sequence, 2);
    /* ... but an earlier one that comes late fences the later one: last claim in the log owns. */
    tell("C1 C2 C1 D2.0@0!other_claim D1.0@0");
}

Test(admission, counts_the_decisions_of_the_previous_claim)
{
    cr_assert_eq(tell("C1").previous_claim_decisions, -1);
    cr_assert_eq(tell("C1 C2").previous_claim_decisions, 0);
    cr_assert_eq(tell("C1 D1.0@0 D1.1@1 C2").previous_claim_decisions, 2);
}

Test(admission, remembers_the_first_claim_of_the_log)
{
    struct checkpoint end = tell("C1 D1.0@0 C2 C3 N4@7 C4");
    struct uuid first = claim_id(1);
    cr_assert(uuid_equal(&end.first_claim_id, &first));
}

Test(admission, lets_no_mark_fall_with_a_decision)
{
    struct uuid id = claim_id(1);
    struct checkpoint end = tell("C1");
    struct decision newer = {.claim_id = id, .decided_at = 900, .emitted_through = 7};
    struct decision older = {.claim_id = id,
                             .sequence = 1,
                             .command_offset = 1,
                             .decided_at = 500,
                             .emitted_through = 3};
    cr_assert(admission_decision(&end, &newer) == ADMITTED);
    cr_assert(admission_decision(&end, &older) == ADMITTED);
    cr_assert_eq(end.newest_decided_at, 900);
    cr_assert_eq(end.emitted_through, 7);
}

Test(admission, admits_an_expiry_of_the_latest_claim_in_sequence)
{
    struct checkpoint end = tell("C1 D1.0@0 E1.1T900 E1.1T950!sequence E1.3T950!sequence D1.2@1 "
                                 "C2 E1.3T950!other_claim E2.0T800");
    cr_assert_eq(end.next_sequence, 1);
    cr_assert_eq(end.next_command_offset, 2);
    cr_assert_eq(end.claim_decisions, 0, "it is not the Decision that a careful owner waits for");
    cr_assert_eq(end.newest_decided_at, 900, "time rises with it, and does not fall");
}

Test(admission, adds_up_the_guards_of_one_command_over_claims)
{
    struct checkpoint end = tell("C1 A1@0 C2 A2@0 A1@0!other_claim C3 A3@0");
    cr_assert_eq(end.guards, 3);
    cr_assert_eq(end.guarded_offset, 0);
    end = tell("C1 A1@0 C2 A2@0 D2.0@0 A2@1");
    cr_assert_eq(end.guards, 1);
    tell("C1 D1.0@4 A1@4!command");
}

Test(admission, counts_the_guards_of_each_command_on_their_own)
{
    struct checkpoint end = tell("C1 A1@0 C2 A2@0 A2@1");
    cr_assert_eq(end.guards, 1);
    cr_assert_eq(end.guarded_offset, 1);
    end = tell("C1 A1@0 D1.0@0");
    cr_assert_eq(end.guards, 0);
    cr_assert_eq(end.guarded_offset, -1);
}

Test(admission, continues_where_a_reset_points)
{
    struct checkpoint end = tell("C1 D1.0@9 R2@0 C3 D3.0@0 D3.1@1");
    cr_assert_eq(end.next_command_offset, 2);
}

/* ---- continuations ---- */

Test(admission, counts_a_continuation_as_the_next_of_its_claim)
{
    struct checkpoint end = tell("C1 D1.0@0 K1.1 D1.1@1!sequence D1.2@1 K1.3 K1.4");
    cr_assert_eq(end.next_sequence, 5);
    cr_assert_eq(end.next_command_offset, 2);
    cr_assert_eq(end.claim_decisions, 2);
}

Test(admission, skips_a_continuation_of_a_zombie_or_out_of_sequence)
{
    tell("K1.0!other_claim C1 K1.1!sequence K1.0 K1.0!sequence C2 K1.1!other_claim K2.0");
}

Test(admission, stops_at_a_continuation_that_states_something_else)
{
    struct checkpoint end = tell("C1 D1.0@0 X1.1!differs");
    cr_assert_eq(end.next_sequence, 1, "it leaves the checkpoint alone");
    tell("C1 X2.0!other_claim X1.7!sequence"); /* only where it is exactly the next */
}

Test(admission, stops_at_a_continuation_that_says_later_effects_are_sent)
{
    struct checkpoint checkpoint = admission_begin();
    struct record claim = {.kind = RECORD_CLAIM, .claim = {.claim_id = claim_id(1)}};
    struct record record = {.kind = RECORD_CONTINUATION};
    cr_assert_eq(admission_record(&checkpoint, &claim, 0), ADMITTED);
    admission_state(&checkpoint, &record.continuation);
    record.continuation.emitted_through = 1;
    cr_assert_eq(admission_record(&checkpoint, &record, 1), ADMISSION_DIFFERS);
    cr_assert_eq(checkpoint.emitted_through, -1);
    record.continuation.emitted_through = 0;
    cr_assert_eq(admission_record(&checkpoint, &record, 1), ADMITTED);
    cr_assert_eq(checkpoint.emitted_through, 0);
}

Test(admission, does_not_count_continuations_as_decisions_of_the_previous_claim)
{
    cr_assert_eq(tell("C1 K1.0 K1.1 C2").previous_claim_decisions, 0);
    cr_assert_eq(tell("C1 K1.0 D1.1@0 K1.2 C2 K2.0").previous_claim_decisions, 1);
}

/* ---- statements, and logs that were trimmed ---- */

Test(admission, gives_a_statement_the_next_sequence_and_no_command)
{
    struct checkpoint end = tell("O1.0!other_claim C1 O1.1!sequence O1.0 O1.0!sequence D1.1@0 O1.2 "
                                 "K1.3 C2 O1.4!other_claim O2.0");
    cr_assert_eq(end.next_sequence, 1);
    cr_assert_eq(end.next_command_offset, 1);
    cr_assert_eq(end.previous_claim_decisions, 1, "a statement is not a Decision");
    cr_assert_eq(tell("C1 O1.0 C2").previous_claim_decisions, 0);
}

/* Admits one Continuation, from what `state` would state. */
static enum admission admit_stated(struct checkpoint *checkpoint, const struct checkpoint *state,
                                   int64_t emitted_through, int64_t trimmed, int64_t offset)
{
    struct record record = {.kind = RECORD_CONTINUATION};
    admission_state(state, &record.continuation);
    record.continuation.emitted_through = emitted_through;
    record.continuation.trimmed = trimmed;
    return admission_record(checkpoint, &record, offset);
}

Test(admission, begins_a_trimmed_log_with_what_its_continuation_states)
{
    struct checkpoint whole = tell("C1 D1.0@3 D1.1@4 C2 A2@5 A2@5");
    whole.newest_decided_at = 700;
    whole.last_command_time = 600;
    whole.partition_count = 12;
    struct checkpoint trimmed = admission_begin();
    admission_begin_at(&trimmed, 6);
    cr_assert(admission_begins(&trimmed) && !trimmed.complete);
    cr_assert_eq(admit_stated(&trimmed, &whole, 1, -1, 6), ADMITTED);
    cr_assert_eq(admit_stated(&whole, &whole, 1, -1, 6), ADMITTED);
    trimmed.next_event_offset = 7;
    cr_assert_not(admission_begins(&trimmed));
    struct continuation a, b;
    admission_state(&whole, &a);
    admission_state(&trimmed, &b);
    cr_assert_eq(memcmp(&a, &b, sizeof(a)), 0, "it goes on like one that has folded all");
    cr_assert(trimmed.has_first_claim && trimmed.has_claim);
    tell_on(&trimmed, "D2.1@5 K2.2 C3 D3.0@6");
}

Test(admission, begins_a_trimmed_log_only_with_a_continuation)
{
    struct checkpoint begin = admission_begin();
    admission_begin_at(&begin, 4);
    for (const char *const *word =
             (const char *const[]){"C1", "D1.0@3", "O1.0", "A1@1", "N4@7", "-", NULL};
         *word != NULL; word++) {
        struct checkpoint trimmed = begin;
        cr_assert_eq(admit(&trimmed, *word, 4), ADMISSION_DIFFERS, "%s", *word);
        cr_assert(!trimmed.has_claim && admission_begins(&trimmed));
    }
    struct checkpoint skips = begin;
    cr_assert(admission_learn_skip(&skips, &(struct skip_range){3, 5, 6}));
    cr_assert_eq(admit(&skips, "K0.0", 4), ADMISSION_DIFFERS, "it does not count");
}

Test(admission, trusts_a_continuation_nowhere_but_at_the_beginning)
{
    struct checkpoint trimmed = admission_begin();
    admission_begin_at(&trimmed, 4);
    tell_on(&trimmed, "K0.0 X0.1!differs K7.0!other_claim");
    cr_assert_eq(trimmed.next_sequence, 1);
}

Test(admission, is_complete_once_a_trim_covers_the_beginning)
{
    struct checkpoint trimmed = admission_begin();
    admission_begin_at(&trimmed, 6);
    tell_on(&trimmed, "K0.0T2");
    cr_assert_not(trimmed.complete, "it speaks of what was before");
    tell_on(&trimmed, "O0.1 K0.2 K0.2T6!sequence K7.3T6!other_claim K0.3T5");
    cr_assert_not(trimmed.complete);
    tell_on(&trimmed, "C1 K1.0T6");
    cr_assert(trimmed.complete);
    tell_on(&trimmed, "K1.1");
    cr_assert(trimmed.complete);
    cr_assert(tell("C1 K1.0").complete, "nothing of it is gone");
}

Test(admission, stops_at_a_continuation_that_trims_what_is_not_written)
{
    struct checkpoint checkpoint = tell("C1");
    cr_assert_eq(admit_stated(&checkpoint, &checkpoint, -1, 1, 1), ADMISSION_DIFFERS);
    cr_assert_eq(checkpoint.next_sequence, 0);
    cr_assert_eq(admit_stated(&checkpoint, &checkpoint, -1, 0, 1), ADMITTED);
}

static void show_format(struct checkpoint *checkpoint, enum record_kind kind, int32_t format,
                        int64_t sequence)
{
    struct record record = {.kind = kind};
    if (kind == RECORD_CLAIM) {
        record.claim = (struct claim){.claim_id = claim_id(1), .format = format};
    } else if (kind == RECORD_STATEMENT) {
        record.statement =
            (struct statement){.claim_id = claim_id(1), .sequence = sequence, .format = format};
    } else {
        admission_state(checkpoint, &record.continuation);
        record.continuation.format = format;
    }
    cr_assert_eq(admission_record(checkpoint, &record, 1), ADMITTED);
}

Test(admission, remembers_the_newest_format_of_the_state)
{
    struct checkpoint checkpoint = admission_begin();
    struct continuation continuation;
    admission_state(&checkpoint, &continuation);
    cr_assert_eq(continuation.format, STATE_FORMAT, "its owner's own");
    show_format(&checkpoint, RECORD_CLAIM, 3, 0);
    cr_assert_eq(checkpoint.state_format, 3);
    show_format(&checkpoint, RECORD_STATEMENT, 5, 0);
    show_format(&checkpoint, RECORD_CONTINUATION, 4, 1);
    cr_assert_eq(checkpoint.state_format, 5, "it never falls");
    show_format(&checkpoint, RECORD_CONTINUATION, 8, 2);
    show_format(&checkpoint, RECORD_CONTINUATION, 0, 3); /* of an older release */
    admission_state(&checkpoint, &continuation);
    cr_assert_eq(continuation.format, 8, "an older owner passes on what it has seen");
    cr_assert_eq(continuation.trimmed, -1);
}

/* ---- resets ---- */

Test(admission, counts_a_reset_only_at_its_offset)
{
    cr_assert_eq(tell("C1 D1.0@9 N2@0 C3 D3.0@0").next_command_offset, 1);
    cr_assert_eq(tell("C1 D1.0@9 D1.1@10 N2@0!void D1.2@11").next_command_offset, 12);
    tell("C1 N2@0!void N0@0!void N3@0");
}

Test(admission, ends_the_claim_with_a_reset)
{
    struct checkpoint end = tell("C1 D1.0@9 N2@-1 D1.1@10!other_claim K1.1!other_claim C1 D1.0@10");
    cr_assert_eq(end.next_command_offset, 11);
    cr_assert_eq(end.previous_claim_decisions, -1, "no owner crashed while deciding");
}

Test(admission, lowers_newest_decided_at_with_a_reset)
{
    struct checkpoint checkpoint = admission_begin();
    struct partition_reset reset = {.next_command_offset = -1, .newest_decided_at = 500};
    checkpoint.newest_decided_at = 900;
    cr_assert(admission_reset(&checkpoint, &reset, 0) == ADMITTED);
    cr_assert_eq(checkpoint.newest_decided_at, 500);
    reset.newest_decided_at = 700; /* it is never raised */
    cr_assert(admission_reset(&checkpoint, &reset, 0) == ADMITTED);
    cr_assert_eq(checkpoint.newest_decided_at, 500);
}

Test(admission, skips_a_range_once_its_reset_is_known)
{
    struct checkpoint knows = tell("C1 D1.0@0 D1.1@1 D1.2@2 S4:2-4!refold");
    struct checkpoint again = admission_begin();
    admission_copy_skips(&again, &knows);
    tell_on(&again, "C1 D1.0@0 D1.1@1!range D1.2@2!range S4:2-4 C2 D2.0@1 -!foreign");
    cr_assert_eq(again.next_command_offset, 2);
    cr_assert_eq(again.skip_count, 1);
}

Test(admission, refuses_a_range_that_makes_no_sense)
{
    tell("C1 S1:1-1!void S2:1-3!void S3:2-1!void");
}

Test(admission, lets_a_later_reset_win)
{
    struct checkpoint knows = tell("C1 D1.0@0 S2:1-2!refold C2 S4:1-4!refold");
    cr_assert_eq(knows.skip_count, 1, "the first one is in the range of the second");
    cr_assert_eq(knows.skips[0].to, 4);
    struct checkpoint again = admission_begin();
    admission_copy_skips(&again, &knows);
    tell_on(&again, "C1 D1.0@0!range S2:1-2!range C2!range S4:1-4");
}

Test(admission, folds_again_when_a_reset_that_it_honoured_is_gone)
{
    struct checkpoint knows = tell("C1 D1.0@0 S2:1-2!refold");
    struct checkpoint again = admission_begin();
    admission_copy_skips(&again, &knows);
    tell_on(&again, "C1 D1.0@0!range C2!refold");
    struct checkpoint third = admission_begin();
    admission_copy_skips(&third, &knows);
    tell_on(&third, "C1 D1.0@0!range S2:0-1!refold");
    cr_assert(third.skip_count == 1 && third.skips[0].from == 0);
}

Test(admission, stops_at_more_ranges_than_it_remembers)
{
    tell("C1 C2 C3 C4 C5 C6 C7 C8 C9 S9:0-1!refold S10:1-2!refold S11:2-3!refold S12:3-4!refold "
         "S13:4-5!refold S14:5-6!refold S15:6-7!refold S16:7-8!refold S17:8-9!too_many "
         "S18:0-18!refold");
}

Test(admission, forgets_the_oldest_range_only_where_the_log_may_begin_after_it)
{
    const char *last_words[] = {"S19:17-18!refold", "S19:17-18!too_many"};
    for (int needed = 0; needed <= 1; needed++) {
        struct checkpoint checkpoint = tell("C1 K1.0");
        for (int64_t at = 3; at < 11; at++)
            cr_assert(admission_learn_skip(&checkpoint, &(struct skip_range){2, 3, at}));
        checkpoint.start = 11; /* where the story goes on */
        tell_on(&checkpoint, needed ? "C2 K2.0T3 K2.1T1" : "C2 K2.0T4 K2.1T1");
        checkpoint.start = 19;
        tell_on(&checkpoint, last_words[needed]);
        cr_assert_eq(admission_expects_reset(&checkpoint, 3), needed);
        cr_assert_eq(admission_expects_reset(&checkpoint, 19), !needed);
        cr_assert_eq(checkpoint.skip_count, CHECKPOINT_SKIPS_MAX);
    }
}
