/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <criterion/criterion.h>

Test(base64, agrees_with_rfc_4648)
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
