/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <criterion/criterion.h>

struct amount {
    const char *text;
    int64_t unscaled;
    const char *shortest; /* NULL: the same */
};

static const struct amount amounts[] = {
    {"0", 0, NULL},
    {"12.5", 125000, NULL},
    {"-3", -30000, NULL},
    {"0.001", 10, NULL},
    {"-0.0001", -1, NULL},
    {"2.5500", 25500, "2.55"},
    {"2.550000000", 25500, "2.55"},
    {"007", 70000, "7"},
    {"-0", 0, "0"},
    {"99999999999999.9999", DECIMAL_UNSCALED_MAX, NULL},
    {"-99999999999999.9999", -DECIMAL_UNSCALED_MAX, NULL},
};
static const char *const no_amounts[] = {
    "",
    "-",
    ".",
    ".5",
    "5.",
    "1,5",
    "1.5 ",
    " 1",
    "+1",
    "1e3",
    "--1",
    "1.2.3",
    "0x10",
    "NaN",
    "1-",
    "1.00001",
    "100000000000000",
    "99999999999999.99991",
    "999999999999999999999999",
};

Test(decimal, reads_and_writes_decimals)
{
    for (uint32_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
        struct decimal decimal = {-1};
        cr_assert(decimal_parse(text_of(amounts[i].text), &decimal), "%s", amounts[i].text);
        cr_assert_eq(decimal.unscaled, amounts[i].unscaled, "%s", amounts[i].text);
        char text[DECIMAL_TEXT_MAX];
        size_t size = decimal_format(decimal, text);
        cr_assert_eq(size, strlen(text));
        cr_assert_str_eq(text, amounts[i].shortest != NULL ? amounts[i].shortest : amounts[i].text);
    }
    for (uint32_t i = 0; i < sizeof(no_amounts) / sizeof(no_amounts[0]); i++) {
        struct decimal decimal = {-1};
        cr_assert_not(decimal_parse(text_of(no_amounts[i]), &decimal), "%s", no_amounts[i]);
        cr_assert_eq(decimal.unscaled, -1, "untouched");
    }
    struct decimal decimal = {-1};
    cr_assert_not(decimal_parse(TEXT("1\0"), &decimal));
}

Test(decimal, round_trips_decimals_through_text)
{
    for (int64_t value = 1; value < DECIMAL_UNSCALED_MAX / 7; value = value * 7 + 3) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct decimal before = {sign * value};
            struct decimal after = {0};
            char text[DECIMAL_TEXT_MAX];
            decimal_format(before, text);
            cr_assert(decimal_parse(text_of(text), &after));
            cr_assert_eq(before.unscaled, after.unscaled, "%s", text);
        }
    }
}
