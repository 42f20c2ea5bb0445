/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/admission.h"

#include <assert.h>

static const char *const names[] = {"admitted", "other_claim", "sequence", "command", "repeat"};
_Static_assert(sizeof(names) / sizeof(names[0]) == ADMISSION_COUNT, "every admission has a name");

const char *admission_name(enum admission admission)
{
    assert((unsigned)admission < ADMISSION_COUNT);
    return names[admission];
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
    checkpoint->previous_claim_decisions = checkpoint->has_claim ? checkpoint->next_sequence : -1;
    checkpoint->has_claim = true;
    checkpoint->claim_id = claim->claim_id;
    checkpoint->next_sequence = 0;
    if (claim->has_reset) {
        checkpoint->next_command_offset = claim->reset.next_command_offset;
        checkpoint->last_command_offset = -1;
        checkpoint->last_command_time = 0;
        checkpoint->guarded_offset = -1;
        checkpoint->guards = 0;
    }
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
