/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as bytes. */
#include "base/bytes.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(base_bytes, writes_the_widths_of_both_orders)
{
    static const struct {
        size_t size;
        const char *big, *little;
    } cases[] = {
        {1, "\x88", "\x88"},
        {2, "\x77\x88", "\x88\x77"},
        {4, "\x55\x66\x77\x88", "\x88\x77\x66\x55"},
        {8, "\xf1\x22\x33\x44\x55\x66\x77\x88", "\x88\x77\x66\x55\x44\x33\x22\xf1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = cases[i].size;
        uint64_t value = UINT64_C(0xf122334455667788) & UINT64_MAX >> (64 - 8 * size);
        char bytes[9] = "?????????";
        cr_assert(bytes_put_be(bytes, value, size) == bytes + size);
        cr_assert_arr_eq(bytes, cases[i].big, size);
        cr_assert_eq(bytes_get_be(bytes, size), value);
        cr_assert(bytes_put_le(bytes, value, size) == bytes + size);
        cr_assert_arr_eq(bytes, cases[i].little, size);
        cr_assert_eq(bytes_get_le(bytes, size), value);
        cr_assert_eq(bytes[size], '?');
    }
}

Test(base_bytes, asserts_that_a_number_fits, .signal = SIGABRT)
{
    char bytes[2];
    bytes_put_le(bytes, 0x10000, 2);
}

Test(base_bytes, takes_numbers_off_the_front)
{
    struct text rest = TEXT("\x01\x02\x03");
    uint64_t value = 0;
    cr_assert(bytes_take_le(&rest, 2, &value));
    cr_assert_eq(value, 0x0201);
    cr_assert_not(bytes_take_le(&rest, 2, &value));
    cr_assert_eq(rest.size, 1);
    cr_assert_eq(value, 0x0201);
}

Test(base_bytes, orders_signed_numbers_in_keys)
{
    static const int64_t rising[] = {INT64_MIN, -256, -1, 0, 1, 255, 256, INT64_MAX};
    char before[8], bytes[8];
    for (size_t i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
        bytes_put_rising(bytes, rising[i]);
        cr_assert_eq(bytes_get_rising(bytes), rising[i]);
        cr_assert(i == 0 || memcmp(before, bytes, sizeof(bytes)) < 0);
        memcpy(before, bytes, sizeof(bytes));
    }
}
