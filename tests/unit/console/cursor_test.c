/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of pages and the encoding they share. */
#include "services/console/cursor.h"

#include <criterion/criterion.h>

static void check_round_trip(int64_t updated_at, struct text id)
{
    char text[CURSOR_TEXT_SIZE];
    struct cursor cursor;
    struct cursor back;
    cursor_set(&cursor, updated_at, id);
    cursor_encode(&cursor, text);
    cr_assert(strlen(text) < CURSOR_TEXT_SIZE);
    cr_assert_eq(text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "-_")],
                 '\0', "it needs no escaping in a URL");
    cr_assert(cursor_decode(text_of(text), &back));
    cr_assert_eq(cursor_compare(&cursor, &back), 0);
    cr_assert_eq(back.updated_at, updated_at);
    cr_assert(text_equal(cursor_id(&back), id));
}

Test(console_cursor, comes_back_as_it_was)
{
    char longest[ORDER_ID_BYTES_MAX];
    memset(longest, 'x', sizeof(longest));
    check_round_trip(0, TEXT("a"));
    check_round_trip(INT64_MAX, TEXT("\xf0\x9f\x9a\x80 ?&=#%"));
    check_round_trip(INT64_MIN, (struct text){longest, sizeof(longest)});
    for (uint32_t size = 1; size < 8; size++)
        check_round_trip(1700000000000, (struct text){longest, size});
}

Test(console_cursor, orders_the_newest_first_and_equal_times_by_id)
{
    struct cursor newer, older, same;
    cursor_set(&newer, 2, TEXT("b"));
    cursor_set(&older, 1, TEXT("a"));
    cursor_set(&same, 2, TEXT("c"));
    cr_assert_lt(cursor_compare(&newer, &older), 0);
    cr_assert_gt(cursor_compare(&older, &newer), 0);
    cr_assert_lt(cursor_compare(&newer, &same), 0);
}

Test(console_cursor, what_is_none_is_refused)
{
    static const char *const texts[] = {
        "",
        "A",
        "AQ",
        "not a cursor",
        "AQAAAAAAAAAA",           /* no id */
        "AgAAAAAAAAAAYQ",         /* another format */
        "AQAAAAAAAAAALw",         /* an id with a slash */
        "AQAAAAAAAAAAAA",         /* an id with a NUL */
        "AQAAAAAAAAAA_w",         /* an id that is no UTF-8 */
        "AQAAAAAAAAAAYR",         /* bits left over */
        "AQAAAAAAAAAAYQ==",       /* padding */
        "AQAAAAAAAAAAYQ\xc3\xa9", /* no base64 */
    };
    struct cursor cursor;
    char large[4096];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_assert_not(cursor_decode(text_of(texts[i]), &cursor), "%s", texts[i]);
    memset(large, 'Y', sizeof(large));
    for (uint32_t size = 0; size < sizeof(large); size += 7)
        cr_assert_not(cursor_decode((struct text){large, size}, &cursor));
    cr_assert(cursor_decode(TEXT("AQAAAAAAAAAAYQ"), &cursor));
}

Test(console_base64, agrees_with_rfc_4648)
{
    static const char *const pairs[][2] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xff\xef", "_-8"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[32];
        char bytes[32];
        uint32_t size = 99;
        base64_encode(text_of(pairs[i][0]), text);
        cr_assert_str_eq(text, pairs[i][1]);
        cr_assert(base64_decode(text_of(text), bytes, sizeof(bytes), &size));
        cr_assert(text_equal((struct text){bytes, size}, text_of(pairs[i][0])));
        if (size > 0)
            cr_assert_not(base64_decode(text_of(text), bytes, size - 1, &size));
    }
}
