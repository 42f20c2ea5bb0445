/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of pages and the encoding they share. */
#include "services/console/model/search.h"

#include <criterion/criterion.h>

static void check_round_trip_of(enum search_sort sort, int64_t at, struct text id)
{
    char text[SEARCH_CURSOR_SIZE];
    struct search_cursor cursor;
    struct search_cursor back;
    search_cursor_set(&cursor, sort, at, id);
    search_cursor_encode(&cursor, text);
    cr_assert(strlen(text) < SEARCH_CURSOR_SIZE);
    cr_assert_eq(text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "-_")],
                 '\0', "no escaping in a URL");
    cr_assert(search_cursor_decode(text_of(text), &back));
    cr_assert_eq(search_cursor_compare(&cursor, &back), 0);
    cr_assert_eq(back.at, at);
    cr_assert_eq(back.sort, sort);
    cr_assert(text_equal(search_cursor_id(&back), id));
}

static void check_round_trip(int64_t at, struct text id)
{
    check_round_trip_of(SEARCH_BY_CHANGE, at, id);
    check_round_trip_of(SEARCH_BY_SUBMISSION, at, id);
    check_round_trip_of(SEARCH_BY_ID, at, id);
}

Test(console_cursor, round_trips_cursors)
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
    struct search_cursor newer, older, same;
    search_cursor_set(&newer, SEARCH_BY_CHANGE, 2, TEXT("b"));
    search_cursor_set(&older, SEARCH_BY_CHANGE, 1, TEXT("a"));
    search_cursor_set(&same, SEARCH_BY_CHANGE, 2, TEXT("c"));
    cr_assert_lt(search_cursor_compare(&newer, &older), 0);
    cr_assert_gt(search_cursor_compare(&older, &newer), 0);
    cr_assert_lt(search_cursor_compare(&newer, &same), 0);
}

Test(console_cursor, rejects_malformed_cursors)
{
    static const char *const texts[] = {
        "",
        "A",
        "AQ",
        "not a cursor",
        "AQAAAAAAAAAA",           /* no id */
        "AAAAAAAAAAAAYQ",         /* no sort */
        "BAAAAAAAAAAAYQ",         /* another sort */
        "_wAAAAAAAAAAYQ",         /* a negative sort, where char is signed */
        "AQAAAAAAAAAALw",         /* an id with a slash */
        "AQAAAAAAAAAAAA",         /* an id with a NUL */
        "AQAAAAAAAAAA_w",         /* an id that is not UTF-8 */
        "AQAAAAAAAAAAYR",         /* bits left over */
        "AQAAAAAAAAAAYQ==",       /* padding */
        "AQAAAAAAAAAAYQ\xc3\xa9", /* no base64 */
    };
    struct search_cursor cursor;
    char large[4096];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_assert_not(search_cursor_decode(text_of(texts[i]), &cursor), "%s", texts[i]);
    memset(large, 'Y', sizeof(large));
    for (uint32_t size = 0; size < sizeof(large); size += 7)
        cr_assert_not(search_cursor_decode((struct text){large, size}, &cursor));
    cr_assert(search_cursor_decode(TEXT("AQAAAAAAAAAAYQ"), &cursor));
}
