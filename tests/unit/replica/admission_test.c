/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, case by case: records of events[p] in a compact notation, and which of them count.
 *
 *     C1        Claim of claimant 1            R1@7   Claim of 1 with a reset to command 7
 *     D1.0@4    Decision of 1, sequence 0, of the command at offset 4
 *     A1@4      Attempt of 1 at command 4 */
#include "replica/admission.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct uuid claim_id(int claimant)
{
    return (struct uuid){{(uint8_t)claimant}};
}

static enum admission admit(struct checkpoint *checkpoint, const char *record)
{
    int claimant = 0;
    long long sequence = 0;
    long long command = 0;
    if (sscanf(record, "D%d.%lld@%lld", &claimant, &sequence, &command) == 3) {
        struct decision decision = {.claim_id = claim_id(claimant),
                                    .sequence = sequence,
                                    .command_offset = command,
                                    .emitted_through = -1};
        return admission_decision(checkpoint, &decision);
    }
    if (sscanf(record, "A%d@%lld", &claimant, &command) == 2) {
        struct command_guard attempt = {claim_id(claimant), command};
        return admission_guard(checkpoint, &attempt);
    }
    if (sscanf(record, "R%d@%lld", &claimant, &command) == 2) {
        struct claim claim = {.claim_id = claim_id(claimant),
                              .has_reset = true,
                              .reset = {.next_command_offset = command}};
        return admission_claim(checkpoint, &claim);
    }
    cr_assert_eq(sscanf(record, "C%d", &claimant), 1, "not a record: %s", record);
    struct claim claim = {.claim_id = claim_id(claimant)};
    return admission_claim(checkpoint, &claim);
}

/* "C1 D1.0@0 C2 D1.1@1!other_claim": what follows '!' is the expected verdict, else admitted. */
static struct checkpoint tell(const char *story)
{
    struct checkpoint checkpoint = {.last_command_offset = -1,
                                    .emitted_through = -1,
                                    .guarded_offset = -1,
                                    .previous_claim_decisions = -1};
    char copy[512];
    char *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", story);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *bang = strchr(word, '!');
        if (bang != NULL)
            *bang = '\0';
        const char *expected = bang != NULL ? bang + 1 : "admitted";
        const char *verdict = admission_name(admit(&checkpoint, word));
        cr_assert_str_eq(verdict, expected, "%s in: %s", word, story);
    }
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

Test(admission, adds_up_the_guards_of_one_command_over_claims)
{
    struct checkpoint end = tell("C1 A1@0 C2 A2@0 A1@0!other_claim C3 A3@0");
    cr_assert_eq(end.guards, 3);
    cr_assert_eq(end.guarded_offset, 0);
    end = tell("C1 A1@0 C2 A2@0 D2.0@0 A2@1");
    cr_assert_eq(end.guards, 1);
    tell("C1 D1.0@4 A1@4!command");
}

Test(admission, continues_where_a_reset_points)
{
    struct checkpoint end = tell("C1 D1.0@9 R2@0 C3 D3.0@0 D3.1@1");
    cr_assert_eq(end.next_command_offset, 2);
}
