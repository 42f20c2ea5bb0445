/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint as bytes. See checkpoint.h for the layout. */
#include "statestore/checkpoint.h"

#include "base/bytes.h"

#include <assert.h>
#include <xxhash.h>

enum { FLAG_FIRST_CLAIM = 1, FLAG_CLAIM = 2, FLAG_COMPLETE = 4, NUMBER_COUNT = 18 };

static void numbers_of(const struct checkpoint *checkpoint, uint64_t ret_numbers[NUMBER_COUNT])
{
    const uint64_t numbers[NUMBER_COUNT] = {
        (uint64_t)checkpoint->next_event_offset,
        checkpoint->last_record_hash,
        (uint64_t)checkpoint->next_sequence,
        (uint64_t)checkpoint->next_command_offset,
        (uint64_t)checkpoint->last_command_offset,
        (uint64_t)checkpoint->last_command_time,
        (uint64_t)checkpoint->newest_decided_at,
        (uint64_t)checkpoint->emitted_through,
        (uint64_t)checkpoint->previous_claim_decisions,
        (uint64_t)checkpoint->guarded_offset,
        (uint64_t)checkpoint->guards,
        (uint64_t)checkpoint->skipped,
        (uint64_t)checkpoint->claim_decisions,
        (uint64_t)checkpoint->partition_count,
        (uint64_t)checkpoint->state_format,
        (uint64_t)checkpoint->start,
        (uint64_t)checkpoint->trimmed,
        (uint64_t)checkpoint->skip_count,
    };
    memcpy(ret_numbers, numbers, sizeof(numbers));
}

static void set_numbers(struct checkpoint *checkpoint, const uint64_t numbers[NUMBER_COUNT])
{
    checkpoint->next_event_offset = (int64_t)numbers[0];
    checkpoint->last_record_hash = numbers[1];
    checkpoint->next_sequence = (int64_t)numbers[2];
    checkpoint->next_command_offset = (int64_t)numbers[3];
    checkpoint->last_command_offset = (int64_t)numbers[4];
    checkpoint->last_command_time = (int64_t)numbers[5];
    checkpoint->newest_decided_at = (int64_t)numbers[6];
    checkpoint->emitted_through = (int64_t)numbers[7];
    checkpoint->previous_claim_decisions = (int64_t)numbers[8];
    checkpoint->guarded_offset = (int64_t)numbers[9];
    checkpoint->guards = (int64_t)numbers[10];
    checkpoint->skipped = (int64_t)numbers[11];
    checkpoint->claim_decisions = (int64_t)numbers[12];
    checkpoint->partition_count = (int64_t)numbers[13];
    checkpoint->state_format = (int64_t)numbers[14];
    checkpoint->start = (int64_t)numbers[15];
    checkpoint->trimmed = (int64_t)numbers[16];
    checkpoint->skip_count = (int64_t)numbers[17];
}

void checkpoint_encode(const struct checkpoint *checkpoint, uint8_t ret_bytes[CHECKPOINT_BYTES])
{
    size_t id_size = strnlen(checkpoint->cluster_id, CLUSTER_ID_BYTES_MAX);
    assert(id_size < CLUSTER_ID_BYTES_MAX);
    uint64_t numbers[NUMBER_COUNT];
    numbers_of(checkpoint, numbers);

    uint32_t flags = (checkpoint->has_first_claim ? FLAG_FIRST_CLAIM : 0u) |
                     (checkpoint->has_claim ? FLAG_CLAIM : 0u) |
                     (checkpoint->complete ? FLAG_COMPLETE : 0u);
    uint8_t *at = bytes_put_le(ret_bytes, CHECKPOINT_FORMAT, 4);
    at = bytes_put_le(at, flags, 4);
    memset(at, 0, CLUSTER_ID_BYTES_MAX);
    memcpy(at, checkpoint->cluster_id, id_size);
    at += CLUSTER_ID_BYTES_MAX;
    memcpy(at, checkpoint->first_claim_id.bytes, sizeof(checkpoint->first_claim_id.bytes));
    at += sizeof(checkpoint->first_claim_id.bytes);
    memcpy(at, checkpoint->claim_id.bytes, sizeof(checkpoint->claim_id.bytes));
    at += sizeof(checkpoint->claim_id.bytes);
    for (int i = 0; i < NUMBER_COUNT; i++)
        at = bytes_put_le(at, numbers[i], 8);
    for (int i = 0; i < CHECKPOINT_SKIPS_MAX; i++) {
        at = bytes_put_le(at, (uint64_t)checkpoint->skips[i].from, 8);
        at = bytes_put_le(at, (uint64_t)checkpoint->skips[i].to, 8);
        at = bytes_put_le(at, (uint64_t)checkpoint->skips[i].at, 8);
    }
    at = bytes_put_le(at, XXH3_64bits(ret_bytes, (size_t)(at - ret_bytes)), 8);
    assert(at == ret_bytes + CHECKPOINT_BYTES);
}

static enum error_class corrupt(const char *what, struct error *ret_error)
{
    return error_set(ret_error, CODE_STORE_CORRUPT,
                     "the store's checkpoint %s: drop the store and fold again", what);
}

static uint64_t take(const uint8_t **at, size_t size)
{
    uint64_t value = bytes_get_le(*at, size);
    *at += size;
    return value;
}

enum error_class checkpoint_decode(struct text bytes, struct checkpoint *ret_checkpoint,
                                   struct error *ret_error)
{
    const uint8_t *start = (const uint8_t *)bytes.data;
    if (bytes.size < 4)
        return corrupt("is cut off", ret_error);
    const uint8_t *at = start;
    uint64_t format = take(&at, 4);
    if (format != CHECKPOINT_FORMAT)
        return error_set(ret_error, CODE_STORE_FORMAT,
                         "the store is of format %u, this release's are of %d: it is folded again",
                         (unsigned)format, CHECKPOINT_FORMAT);
    if (bytes.size != CHECKPOINT_BYTES)
        return corrupt("has the wrong size", ret_error);
    if (XXH3_64bits(start, CHECKPOINT_BYTES - 8) != bytes_get_le(start + CHECKPOINT_BYTES - 8, 8))
        return corrupt("does not match its checksum", ret_error);

    struct checkpoint checkpoint = {0};
    uint64_t flags = take(&at, 4);
    checkpoint.has_first_claim = (flags & FLAG_FIRST_CLAIM) != 0;
    checkpoint.has_claim = (flags & FLAG_CLAIM) != 0;
    checkpoint.complete = (flags & FLAG_COMPLETE) != 0;
    memcpy(checkpoint.cluster_id, at, CLUSTER_ID_BYTES_MAX);
    at += CLUSTER_ID_BYTES_MAX;
    if (checkpoint.cluster_id[CLUSTER_ID_BYTES_MAX - 1] != '\0')
        return corrupt("has an endless cluster id", ret_error);
    memcpy(checkpoint.first_claim_id.bytes, at, sizeof(checkpoint.first_claim_id.bytes));
    at += sizeof(checkpoint.first_claim_id.bytes);
    memcpy(checkpoint.claim_id.bytes, at, sizeof(checkpoint.claim_id.bytes));
    at += sizeof(checkpoint.claim_id.bytes);
    uint64_t numbers[NUMBER_COUNT];
    for (int i = 0; i < NUMBER_COUNT; i++)
        numbers[i] = take(&at, 8);
    set_numbers(&checkpoint, numbers);
    for (int i = 0; i < CHECKPOINT_SKIPS_MAX; i++) {
        checkpoint.skips[i].from = (int64_t)take(&at, 8);
        checkpoint.skips[i].to = (int64_t)take(&at, 8);
        checkpoint.skips[i].at = (int64_t)take(&at, 8);
    }
    if (checkpoint.skip_count < 0 || checkpoint.skip_count > CHECKPOINT_SKIPS_MAX)
        return corrupt("has too many skipped ranges", ret_error);
    *ret_checkpoint = checkpoint;
    return ERROR_OK;
}
