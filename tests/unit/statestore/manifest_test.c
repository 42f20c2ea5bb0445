/* SPDX-License-Identifier: Apache-2.0 */
#include "statestore/manifest_edit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Reads a copy that ends where the edit does: a sanitizer sees every read past the end. */
static uint64_t oldest_log(const uint8_t *edit, size_t size, uint64_t known)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    cr_assert_not_null(copy);
    memcpy(copy, edit, size);
    manifest_edit_oldest_log(copy, size, &known);
    free(copy);
    return known;
}
#define OLDEST(known, ...) \
    oldest_log((uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), known)

Test(statestore_manifest, reads_the_oldest_log_that_is_needed)
{
    cr_assert_eq(OLDEST(0, 9, 0, 3, 120, 10, 116, 4, 0xff, 0x7f, 0xac, 0x02, 0), 116);
    cr_assert_eq(OLDEST(0, 10, 0x80, 0x01), 128);
    cr_assert_eq(OLDEST(200, 10, 116), 200, "the number only rises");
    cr_assert_eq(OLDEST(7, 2, 116, 9, 0, 200, 1, 1), 7,
                 "the log of one column family is not the log of the store");
}

Test(statestore_manifest, finds_the_log_number_behind_files_and_names)
{
    /* level 0, file 117, 300 bytes, keys "a" and "b", sequences 1 and 2, one more field */
    cr_assert_eq(OLDEST(0, 103, 0, 117, 0xac, 0x02, 1, 'a', 1, 'b', 1, 2, 6, 1, 9, 1, 10, 116),
                 116);
    cr_assert_eq(OLDEST(0, 1, 2, 'x', 'y', 201, 1, 1, 'm', 6, 0, 98, 5, 1, 1, 'k', 10, 116), 116);
    cr_assert_eq(OLDEST(0, 0x81, 0x40, 2, 10, 99, 10, 116), 116, "an ignorable field is skipped");
}

Test(statestore_manifest, stops_at_an_unknown_or_truncated_field)
{
    cr_assert_eq(OLDEST(5, 77, 10, 116), 5);
    cr_assert_eq(OLDEST(5, 10), 5);
    cr_assert_eq(OLDEST(5, 10, 0x80), 5);
    cr_assert_eq(OLDEST(5, 1, 40, 'x', 10, 116), 5, "a truncated text");
    cr_assert_eq(OLDEST(5, 103, 0, 117, 1, 1, 'a', 1, 'b', 1, 2, 6, 1), 5, "a truncated file");
    cr_assert_eq(OLDEST(5, 10, 116, 77), 116, "fields before the unknown one count");
}

Test(statestore_manifest, never_reads_past_the_end)
{
    uint64_t random = UINT64_C(88172645463325252);
    static const uint8_t tags[] = {1, 2, 3, 4, 5, 6, 9, 10, 103, 200, 201, 202};
    for (int round = 0; round < 20000; round++) {
        uint8_t edit[64];
        for (size_t i = 0; i < sizeof(edit); i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            edit[i] = (random >> 40) % 3 == 0 ? tags[(random >> 20) % sizeof(tags)]
                                              : (uint8_t)(random >> 32);
        }
        oldest_log(edit, random % (sizeof(edit) + 1), 0);
    }
}
