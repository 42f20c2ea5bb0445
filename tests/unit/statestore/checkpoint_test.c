/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint as bytes: its layout is fixed, and it detects every change. */
#include "base/bytes.h"
#include "statestore/checkpoint.h"

#include <criterion/criterion.h>
#include <xxhash.h>

static struct checkpoint sample(void)
{
    struct checkpoint checkpoint = {
        .cluster_id = "MkU3OEVBNTcwNTJENDM2Qk",
        .has_first_claim = true,
        .has_claim = true,
        .next_event_offset = 1,
        .last_record_hash = UINT64_C(0xfedcba9876543210),
        .next_sequence = 3,
        .next_command_offset = 4,
        .last_command_offset = -1,
        .last_command_time = 6,
        .newest_decided_at = 7,
        .emitted_through = INT64_MIN,
        .previous_claim_decisions = INT64_MAX,
        .guarded_offset = 10,
        .guards = 11,
        .skipped = 12,
        .claim_decisions = 13,
        .partition_count = 14,
        .state_format = 21,
        .start = 22,
        .trimmed = 23,
        .skip_count = 2,
        .skips = {{15, 16, 17}, {18, 19, 20}},
    };
    memset(checkpoint.first_claim_id.bytes, 0xAA, 16);
    memset(checkpoint.claim_id.bytes, 0xBB, 16);
    return checkpoint;
}

static struct text bytes_text(const uint8_t *bytes, uint32_t size)
{
    return (struct text){(const char *)bytes, size};
}

Test(statestore_checkpoint, round_trips_every_field)
{
    struct checkpoint before = sample();
    struct checkpoint after;
    uint8_t bytes[CHECKPOINT_BYTES];
    uint8_t again[CHECKPOINT_BYTES];
    checkpoint_encode(&before, bytes);
    cr_assert(checkpoint_decode(bytes_text(bytes, sizeof(bytes)), &after, NULL) == ERROR_OK);
    cr_assert_str_eq(after.cluster_id, before.cluster_id);
    cr_assert(after.has_first_claim && after.has_claim);
    cr_assert(after.next_event_offset == 1 && after.next_sequence == 3);
    cr_assert(after.last_record_hash == UINT64_C(0xfedcba9876543210));
    cr_assert(after.last_command_offset == -1 && after.emitted_through == INT64_MIN);
    cr_assert(after.previous_claim_decisions == INT64_MAX && after.skipped == 12);
    cr_assert(after.claim_decisions == 13 && after.partition_count == 14);
    cr_assert(after.state_format == 21 && after.start == 22 && after.trimmed == 23);
    cr_assert_not(after.complete);
    cr_assert(after.skip_count == 2 && after.skips[1].from == 18 && after.skips[1].at == 20);
    checkpoint_encode(&after, again);
    cr_assert(memcmp(bytes, again, sizeof(bytes)) == 0);
    before.complete = true;
    checkpoint_encode(&before, bytes);
    cr_assert(checkpoint_decode(bytes_text(bytes, sizeof(bytes)), &after, NULL) == ERROR_OK);
    cr_assert(after.complete && after.has_claim);
}

Test(statestore_checkpoint, keeps_its_layout)
{
    struct checkpoint checkpoint = sample();
    uint8_t bytes[CHECKPOINT_BYTES];
    checkpoint_encode(&checkpoint, bytes);
    static const uint8_t head[] = {CHECKPOINT_FORMAT, 0, 0, 0, 3, 0, 0, 0, 'M', 'k'};
    cr_assert(memcmp(bytes, head, sizeof(head)) == 0);
    cr_assert(bytes[72] == 0xAA && bytes[88] == 0xBB);
    static const uint8_t numbers[] = {1,    0,    0,    0,    0,    0,    0,    0,
                                      0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
    cr_assert(memcmp(bytes + 104, numbers, sizeof(numbers)) == 0);
    cr_assert(CHECKPOINT_BYTES == 448);
}

Test(statestore_checkpoint, detects_each_flipped_bit)
{
    struct checkpoint checkpoint = sample();
    struct checkpoint decoded;
    uint8_t bytes[CHECKPOINT_BYTES];
    checkpoint_encode(&checkpoint, bytes);
    for (int bit = 0; bit < CHECKPOINT_BYTES * 8; bit++) {
        struct error error = {0};
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        cr_assert(checkpoint_decode(bytes_text(bytes, sizeof(bytes)), &decoded, &error) ==
                  ERROR_FATAL);
        cr_assert_eq(error.code, bit < 32 ? CODE_STORE_FORMAT : CODE_STORE_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
}

/* Whole, by a release with another layout of the same size. */
Test(statestore_checkpoint, rejects_other_formats)
{
    struct checkpoint checkpoint = sample();
    struct checkpoint decoded;
    uint8_t bytes[CHECKPOINT_BYTES];
    for (int step = -1; step <= 1; step++) {
        checkpoint_encode(&checkpoint, bytes);
        bytes[0] = (uint8_t)(CHECKPOINT_FORMAT + step);
        uint64_t sum = XXH3_64bits(bytes, CHECKPOINT_BYTES - 8);
        bytes_put_le(bytes + CHECKPOINT_BYTES - 8, sum, 8);
        enum error_class class =
            checkpoint_decode(bytes_text(bytes, sizeof(bytes)), &decoded, NULL);
        cr_assert((class == ERROR_OK) == (step == 0));
    }
}

Test(statestore_checkpoint, rejects_other_sizes)
{
    struct checkpoint checkpoint = sample();
    struct checkpoint decoded;
    uint8_t bytes[CHECKPOINT_BYTES + 1] = {0};
    checkpoint_encode(&checkpoint, bytes);
    for (uint32_t size = 0; size <= CHECKPOINT_BYTES + 1; size++) {
        enum error_class class = checkpoint_decode(bytes_text(bytes, size), &decoded, NULL);
        cr_assert((class == ERROR_OK) == (size == CHECKPOINT_BYTES));
    }
}
