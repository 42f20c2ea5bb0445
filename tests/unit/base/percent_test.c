/* SPDX-License-Identifier: Apache-2.0 */
#include "base/percent.h"

#include <criterion/criterion.h>

static void expect_encoded(struct text text, enum percent_keep keep, const char *expected)
{
    char encoded[64];
    size_t size = percent_encode(text, keep, encoded, sizeof(encoded));
    cr_expect_eq(size, strlen(expected));
    cr_expect_str_eq(encoded, expected);
}

Test(percent, encodes_bytes_that_a_path_does_not_preserve)
{
    expect_encoded(TEXT("aZ09-_.~"), PERCENT_KEEP_UNRESERVED, "aZ09-_.~");
    expect_encoded(TEXT("a b/c%?\xc3\xa9"), PERCENT_KEEP_UNRESERVED, "a%20b%2Fc%25%3F%C3%A9");
    expect_encoded(TEXT(""), PERCENT_KEEP_UNRESERVED, "");
}

Test(percent, encodes_dots_that_a_path_would_lose)
{
    expect_encoded(TEXT("."), PERCENT_KEEP_UNRESERVED, "%2E");
    expect_encoded(TEXT(".."), PERCENT_KEEP_UNRESERVED, "%2E%2E");
    expect_encoded(TEXT("..."), PERCENT_KEEP_UNRESERVED, "...");
    expect_encoded(TEXT(".."), PERCENT_KEEP_VISIBLE, "..");
}

Test(percent, encodes_bytes_that_a_header_does_not_preserve)
{
    expect_encoded(TEXT("a/b?c\r\n %"), PERCENT_KEEP_VISIBLE, "a/b?c%0D%0A%20%25");
}

Test(percent, writes_nothing_when_the_buffer_is_too_small)
{
    char encoded[5] = "left";
    cr_expect_eq(percent_encode(TEXT("ab "), PERCENT_KEEP_UNRESERVED, encoded, 5), 5);
    cr_expect_str_eq(encoded, "left");
    cr_expect_eq(percent_encode(TEXT("a "), PERCENT_KEEP_UNRESERVED, encoded, 5), 4);
    cr_expect_str_eq(encoded, "a%20");
}

Test(percent, decodes_what_it_encodes)
{
    char bytes[255], encoded[3 * sizeof(bytes) + 1];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i + 1);
    percent_encode((struct text){bytes, sizeof(bytes)}, PERCENT_KEEP_UNRESERVED, encoded,
                   sizeof(encoded));
    cr_assert(percent_decode(encoded));
    cr_expect_eq(strlen(encoded), sizeof(bytes));
    cr_expect_arr_eq(encoded, bytes, sizeof(bytes));
}

Test(percent, refuses_malformed_sequences_and_nul)
{
    static const char *const malformed[] = {"%", "a%4", "%4g", "%%41", "%00", "%x1"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        char copy[8] = "";
        memcpy(copy, malformed[i], strlen(malformed[i]));
        cr_expect_not(percent_decode(copy), "%s", malformed[i]);
    }
}
