/* SPDX-License-Identifier: Apache-2.0 */
/* Is this the log that the store was made from? Before folding, the checkpoint is compared with the
 * log: the cluster, the first claim, the record before the checkpoint
 * (docs/design/decisions/0003-disposable-stores.md). */
#include "replica/follower_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

enum {
    RESET_WITHIN = 10000, /* records from the beginning of the log */
    METADATA_MS = 5000
};

static void checked(struct follower *follower)
{
    struct checkpoint const *checkpoint = view_checkpoint(follower->view);
    follower_close_reader(follower);
    if (checkpoint->cluster_id[0] == '\0') {
        const char *cluster_id = broker_cluster_id(follower->cluster->broker, METADATA_MS);
        if (cluster_id == NULL) {
            follower_check_later(follower, FOLLOWER_RETRY_MS);
            return;
        }
        view_set_cluster_id(follower->view, cluster_id);
    }
    follower->recheck_ms = 0;
    follower->stop = (struct error){0};
    follower->phase = PHASE_CHECKED;
    follower->ops->checked(follower->ctx);
}

static void different_log(struct follower *follower, const char *what)
{
    struct error error;
    if (follower->reset_seen) {
        if (follower_drop_store(follower, "PartitionReset", "an operator reset the partition"))
            follower_check_later(follower, 0);
        return;
    }
    error_set(
        &error, ERROR_FATAL, "LogDiffers",
        "%s[%d] is not the log that this store was made from (%s): the directory is kept. "
        "Bring the old topic or cluster back; or accept the new log: delete that directory, or "
        "begin the new log with `reeve partition reset --partition %d`",
        follower_topic(follower), follower->partition, what, follower->partition);
    follower_stop(follower, &error);
}

static void tail_lost(struct follower *follower)
{
    if (follower_drop_store(
            follower, "LogTailLost",
            "the end of the log that this store had folded is gone (unclean election?): "
            "the store follows the log"))
        follower_check_later(follower, 0);
}

static void read_one(struct follower *follower, enum follower_phase phase, int64_t offset);

/* The first Claim tells the log. A former owner may have written before it, without a claim of this
 * log; such records never count. If it is another log, an operator's reset near its beginning, made
 * after all that the store has seen, accepts it. */
static void check_first_claim(struct follower *follower, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct record decoded;
    struct error error;
    heap_arena_reset(&follower->cluster->scratch);
    enum error_class class = codec_decode(follower->cluster->codec, record->value, true,
                                          &follower->cluster->scratch.arena, &decoded, &error);
    bool is_claim = class == ERROR_OK && decoded.kind == RECORD_CLAIM;
    bool same = checkpoint->has_first_claim
                    ? is_claim && !follower->claim_seen &&
                          uuid_equal(&decoded.claim.claim_id, &checkpoint->first_claim_id)
                    : !follower->claim_seen && record->offset + 1 == checkpoint->next_event_offset;
    if (same && follower->high < checkpoint->next_event_offset) {
        tail_lost(follower);
        return;
    }
    if (same) {
        read_one(follower, PHASE_LAST, checkpoint->next_event_offset - 1);
        return;
    }
    if (is_claim && decoded.claim.has_reset &&
        (!follower->claim_seen || decoded.claim.claimed_at > checkpoint->newest_decided_at))
        follower->reset_seen = true;
    follower->claim_seen |= is_claim;
    if (follower->reset_seen || record->offset + 1 >= follower->high ||
        record->offset >= RESET_WITHIN)
        different_log(follower, "its first claim is another one");
}

static void check_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    if (follower->phase == PHASE_LAST) {
        bool same =
            record->offset == checkpoint->next_event_offset - 1 &&
            XXH3_64bits(record->value.data, record->value.size) == checkpoint->last_record_hash;
        if (same)
            checked(follower);
        else
            tail_lost(follower);
        return;
    }
    check_first_claim(follower, record);
}

static void check_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)next_offset;
    /* The end came before the record did: it was lost between two looks. */
    follower_check_later(follower, FOLLOWER_RETRY_MS);
}

static void check_error(void *ctx, const struct error *error)
{
    struct follower *follower = ctx;
    if (error->class == ERROR_FATAL)
        follower_check_later(follower, FOLLOWER_RETRY_MS);
}

static const struct broker_reader_ops check_ops = {check_record, check_end, check_error};

static void read_one(struct follower *follower, enum follower_phase phase, int64_t offset)
{
    follower_close_reader(follower);
    follower->phase = phase;
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, offset, &check_ops, follower);
}

static void check_with_offsets(struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct error error;
    if (follower->low > checkpoint->next_event_offset) {
        error_set(&error, ERROR_FATAL, "LogTruncated",
                  "%s[%d] starts at offset %" PRId64 ", after the %" PRId64
                  " that is folded here: its beginning was deleted. The topic needs retention "
                  "-1. Restore the topic; the directory is kept meanwhile",
                  follower_topic(follower), follower->partition, follower->low,
                  checkpoint->next_event_offset);
        follower_stop(follower, &error);
        return;
    }
    if (checkpoint->next_event_offset == 0) {
        checked(follower);
        return;
    }
    const char *cluster_id = broker_cluster_id(follower->cluster->broker, METADATA_MS);
    if (cluster_id == NULL)
        follower_check_later(follower, FOLLOWER_RETRY_MS);
    else if (strcmp(cluster_id, checkpoint->cluster_id) != 0)
        different_log(follower, "another cluster");
    else if (follower->high == 0)
        different_log(follower, "it is empty");
    else if (follower->low == 0)
        read_one(follower, PHASE_FIRST, 0);
    else if (follower->high < checkpoint->next_event_offset)
        tail_lost(follower);
    else
        read_one(follower, PHASE_LAST, checkpoint->next_event_offset - 1);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct follower *follower = ctx;
    follower->query_outstanding = false;
    if (follower->freed) {
        free(follower);
        return;
    }
    if (follower->phase == PHASE_PAUSED && high > follower->high)
        follower->high = high;
    if (follower->phase != PHASE_OFFSETS)
        return;
    if (error != NULL && error_is(error)) {
        follower_check_later(follower, FOLLOWER_RETRY_MS);
        return;
    }
    follower->low = low;
    follower->high = high;
    check_with_offsets(follower);
}

void follower_ask_offsets(struct follower *follower)
{
    if (follower->query_outstanding)
        return; /* the answer under way will do */
    follower->query_outstanding = true;
    broker_offsets(follower->cluster->broker, follower_topic(follower), follower->partition,
                   on_offsets, follower);
}

void follower_check(struct follower *follower)
{
    follower->claim_seen = follower->reset_seen = false;
    follower->phase = PHASE_OFFSETS;
    follower_ask_offsets(follower);
}
