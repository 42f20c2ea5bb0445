/* SPDX-License-Identifier: Apache-2.0 */
/* When does a reader doubt that the log still holds what it has folded? After an unclean election
 * the log may have lost its tail and have grown again below the reader, which sees only that the
 * next records do not fit. The record before the first of those is compared (check.c). */
#include "replica/follow/internal.h"

const struct uuid *follower_claim_of(const struct record *record)
{
    if (record->kind == RECORD_DECISION)
        return &record->decision.claim_id;
    if (record->kind == RECORD_CLAIM)
        return &record->claim.claim_id;
    if (record->kind == RECORD_COMMAND_GUARD)
        return &record->command_guard.claim_id;
    if (record->kind == RECORD_CONTINUATION)
        return &record->continuation.claim_id;
    if (record->kind == RECORD_STATEMENT)
        return &record->statement.claim_id;
    if (record->kind == RECORD_EXPIRY)
        return &record->expiry.claim_id;
    return NULL;
}

static bool claim_is_news(struct follower *follower, const struct uuid *claim_id)
{
    uint32_t filled =
        follower->seen_count < FOLLOWER_CLAIMS_SEEN ? follower->seen_count : FOLLOWER_CLAIMS_SEEN;
    for (uint32_t i = 0; i < filled; i++)
        if (uuid_equal(&follower->seen[i], claim_id))
            return false;
    follower->seen[follower->seen_count++ % FOLLOWER_CLAIMS_SEEN] = *claim_id;
    return true;
}

/* There is a record before the last one that can be compared. */
static bool has_folded_before(const struct follower *follower)
{
    return follower->before_next > view_checkpoint(follower->view)->start;
}

/* It does not follow what is folded: a zombie wrote it, or the log has lost what is folded. */
static bool does_not_follow(const struct view_folded *folded)
{
    return folded->admission == SKIPPED_OTHER_CLAIM || folded->admission == SKIPPED_SEQUENCE ||
           folded->admission == SKIPPED_COMMAND || folded->admission == SKIPPED_REPEAT;
}

static bool is_doubtful(struct follower *follower, const struct view_folded *folded, int64_t offset,
                        bool arrived)
{
    bool recent = follower->met_end || offset >= follower->checked_end;
    bool first = arrived || !follower->strays;
    follower->strays = does_not_follow(folded);
    bool other = folded->kind == RECORD_CLAIM || folded->admission == SKIPPED_OTHER_CLAIM;
    if (other && claim_is_news(follower, follower_claim_of(folded->record)))
        return folded->kind != RECORD_CLAIM || (recent && has_folded_before(follower));
    bool stray =
        follower->strays ? first && recent : folded->admission == SKIPPED_FOREIGN && arrived;
    return stray && has_folded_before(follower);
}

bool follower_doubts(struct follower *follower, const struct view_folded *folded, int64_t offset,
                     bool arrived)
{
    uint64_t hash = view_checkpoint(follower->view)->last_record_hash;
    bool doubtful = is_doubtful(follower, folded, offset, arrived);
    if (offset < follower->doubted_at)
        return false;
    if (offset == follower->doubted_at ? hash == follower->doubted_hash : !doubtful)
        return false;
    follower->doubted_at = offset;
    follower->doubted_hash = hash;
    return true;
}

bool follower_reads_again(struct follower *follower)
{
    return view_checkpoint(follower->view)->next_event_offset <= follower->doubted_at;
}

void follower_check_again(struct follower *follower)
{
    follower->doubted_at = -1;
    follower_restart(follower, false, 0);
}
