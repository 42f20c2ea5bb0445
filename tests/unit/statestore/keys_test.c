/* SPDX-License-Identifier: Apache-2.0 */
/* Keys decode to what was encoded, and sort in the order that scans need. */
#include "statestore/keys.h"
#include "statestore/seal.h"

#include <criterion/criterion.h>

static const int64_t times[] = {INT64_MIN, -1, 0, 1, 255, 256, INT64_C(1700000000000), INT64_MAX};
enum { TIME_COUNT = sizeof(times) / sizeof(times[0]) };

Test(statestore_keys, decodes_deadlines_and_sorts_them_by_time)
{
    struct key key = {0};
    struct key last = {0};
    for (int i = 0; i < TIME_COUNT; i++) {
        struct deadline deadline = {DEADLINE_START, times[i], UINT32_MAX};
        struct deadline decoded = {0};
        struct text order_id;
        key_of_deadline(TEXT("o1"), &deadline, &key);
        cr_assert(key_to_deadline(key_text(&key), &order_id, &decoded));
        cr_assert(text_equal(order_id, TEXT("o1")));
        cr_assert(decoded.kind == DEADLINE_START && decoded.due_at == times[i] &&
                  decoded.step == UINT32_MAX);
        cr_assert(i == 0 || text_compare(key_text(&last), key_text(&key)) < 0);
        struct key begin;
        key_of_due_time(times[i], &begin);
        cr_assert(text_compare(key_text(&begin), key_text(&key)) < 0);
        last = key;
    }
}

Test(statestore_keys, rejects_malformed_deadlines)
{
    struct deadline deadline = {DEADLINE_RECOVER, 5, 1};
    struct key key;
    struct text order_id;
    key_of_deadline(TEXT("o"), &deadline, &key);
    cr_assert(!key_to_deadline((struct text){key.data, 13}, &order_id, &deadline));
    key.data[key.size - 5] = DEADLINE_KIND_COUNT;
    cr_assert(!key_to_deadline(key_text(&key), &order_id, &deadline));
    key.data[key.size - 5] = 0;
    key.data[key.size - 6] = 1;
    cr_assert(!key_to_deadline(key_text(&key), &order_id, &deadline));
}

Test(statestore_keys, sorts_the_index_newest_first)
{
    struct key key = {0};
    struct key last = {0};
    for (int i = TIME_COUNT - 1; i >= 0; i--) {
        struct key prefix;
        int64_t updated_at = 0;
        struct text order_id;
        key_of_index_prefix(INDEX_ERROR, TEXT("a\0b"), &prefix);
        key_of_index(INDEX_ERROR, TEXT("a\0b"), times[i], TEXT("o1"), &key);
        cr_assert(key_to_index(key_text(&key), prefix.size, &updated_at, &order_id));
        cr_assert(updated_at == times[i] && text_equal(order_id, TEXT("o1")));
        cr_assert(i == TIME_COUNT - 1 || text_compare(key_text(&last), key_text(&key)) < 0);
        last = key;
    }
}

Test(statestore_keys, sorts_history_by_offset)
{
    struct key older, newer;
    int64_t offset = -1;
    key_of_history(TEXT("o1"), 255, &older);
    key_of_history(TEXT("o1"), 256, &newer);
    cr_assert(text_compare(key_text(&older), key_text(&newer)) < 0);
    cr_assert(key_to_history(key_text(&newer), 2, &offset) && offset == 256);
    cr_assert(!key_to_history(key_text(&newer), 3, &offset));
}

Test(statestore_keys, finds_the_end_of_a_prefix)
{
    struct key key = {.size = 3, .data = {1, (char)255, (char)255}};
    struct key after;
    cr_assert(key_after_prefix(&key, &after));
    cr_assert(after.size == 1 && after.data[0] == 2);
    key = (struct key){.size = 2, .data = {(char)255, (char)255}};
    cr_assert(!key_after_prefix(&key, &after));
}

/* No id that is accepted has one, but the log may hold one of an older scheduler. */
Test(statestore_keys, takes_a_zero_byte_in_an_order_id)
{
    struct key key;
    int64_t offset = 0;
    key_of_history(TEXT("o\0o"), 1, &key);
    cr_assert(key_to_history(key_text(&key), 3, &offset) && offset == 1);
    cr_assert(!key_to_history(key_text(&key), 1, &offset));
}

Test(statestore_keys, detects_each_flipped_bit_and_another_key_by_the_seal)
{
    uint8_t sealed[5 + SEAL_BYTES] = "hello";
    struct text value;
    struct text all = {(const char *)sealed, sizeof(sealed)};
    seal_make(1, TEXT("key"), TEXT("hello"), sealed + 5);
    cr_assert(seal_open(1, TEXT("key"), all, &value));
    cr_assert(text_equal(value, TEXT("hello")));
    cr_assert(!seal_open(1, TEXT("kex"), all, &value));
    cr_assert(!seal_open(2, TEXT("key"), all, &value));
    cr_assert(!seal_open(1, TEXT("key"), (struct text){all.data, SEAL_BYTES - 1}, &value));
    for (size_t bit = 0; bit < sizeof(sealed) * 8; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        cr_assert(!seal_open(1, TEXT("key"), all, &value));
        sealed[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
}
