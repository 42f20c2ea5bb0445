/* SPDX-License-Identifier: Apache-2.0 */
#include "base/real.h"

#include "tests/lib/seed.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *written(double real)
{
    static char text[64];
    struct json_number number;
    int size = 0;
    real_to_number(real, &number);
    size += snprintf(text, sizeof(text), "%s", number.negative ? "-" : "");
    for (uint8_t i = 0; i < number.count; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size, "%d", number.digits[i]);
    snprintf(text + size, sizeof(text) - (size_t)size, "e%d", number.exponent);
    return text;
}

Test(real, writes_the_shortest_digits)
{
    static const struct {
        double real;
        const char *text;
    } rows[] = {
        {0, "e0"},
        {-0.0, "e0"},
        {1, "1e0"},
        {-100, "-1e2"},
        {0.1, "1e-1"},
        {0.1 + 0.2, "30000000000000004e-17"},
        {1.0 / 3, "3333333333333333e-16"},
        {100.10, "1001e-1"},
        {9007199254740991, "9007199254740991e0"},
        {9007199254740993.0, "9007199254740992e0"},
        {1e21, "1e21"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {9.5367431640625e-07, "95367431640625e-20"},
        {0x1p-25, "29802322387695312e-24"}, /* half-way: the even digit */
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "22250738585072014e-324"},
        {1.7976931348623157e308, "17976931348623157e292"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_str_eq(written(rows[i].real), rows[i].text, "%a: %s", rows[i].real,
                         written(rows[i].real));
}

Test(real, reads_what_json_has)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1.5",
        "-12e2",
        "1E+2",
        "1e-400",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324", /* rounds to 0 */
        "2.4703282292062328e-324", /* and to the least double */
        "9007199254740993",        /* half-way: to even */
        "9007199254740993.00000000000000000000000001",
        "1.7976931348623158e308",
        "0.000000000000000000000000000000000000000000000000000000000000001e63",
    };
    static const char *const bad[] = {"",    "-",  "+1",  "01",  ".5",    "1.", "1e",
                                      "1e+", "1 ", "0x1", "inf", "1.5.5", "--1"};
    double real;
    bool finite;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_assert(real_parse(text_of(good[i]), &real, &finite), "%s", good[i]);
        cr_expect(finite && real == strtod(good[i], NULL), "%s: %a", good[i], real);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect(!real_parse(text_of(bad[i]), &real, &finite) && finite, "%s", bad[i]);
    cr_expect(!real_parse(TEXT("1.8e308"), &real, &finite) && !finite);
    cr_expect(!real_parse(TEXT("-1e99999999999"), &real, &finite) && !finite);
}

Test(real, rounds_texts_of_any_length)
{
    /* 2^53 + 1, half-way between two doubles: a digit far behind decides. */
    char text[2000];
    double real;
    bool finite;
    int size = snprintf(text, sizeof(text), "9007199254740993.%0*d", 1900, 0);
    cr_assert(real_parse((struct text){text, (uint32_t)size}, &real, &finite));
    cr_expect_eq(real, 9007199254740992);
    text[size - 1] = '1';
    cr_assert(real_parse((struct text){text, (uint32_t)size}, &real, &finite));
    cr_expect_eq(real, 9007199254740994);
}

/* ---- against the C library ---- */

static uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Any bits; few decimals; a power of two, whose neighbours are not equally far; whole numbers. */
static double draw_real(uint64_t *random)
{
    uint64_t bits = draw(random);
    uint64_t kind = draw(random) % 4;
    double real;
    if (kind == 1)
        return (double)(int64_t)(bits >> 24) / 1000;
    if (kind == 2)
        bits &= UINT64_C(0xfff) << 52;
    if (kind == 3)
        bits >>= draw(random) % 64;
    memcpy(&real, &bits, sizeof(real));
    return isfinite(real) ? real : 1.5;
}

static uint32_t shortest_digits(double real)
{
    char text[64];
    for (int digits = 1; digits < 17; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, real);
        if (strtod(text, NULL) == real)
            return (uint32_t)digits;
    }
    return 17;
}

static void read_like_the_library(const char *text)
{
    double real = 0, expected = strtod(text, NULL);
    bool finite;
    bool read = real_parse(text_of(text), &real, &finite);
    cr_assert(read ? real == expected : !finite && isinf(expected), "%s: %a", text, real);
}

static void run_case(uint64_t seed)
{
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    double real = draw_real(&random);
    char text[1200];
    struct json_number number;
    real_to_number(real, &number);
    cr_assert(strtod(written(real), NULL) == real, "%a: %s", real, written(real));
    cr_assert(real == 0 || number.count <= shortest_digits(real), "%a: %s", real, written(real));
    snprintf(text, sizeof(text), "%.*e", (int)(draw(&random) % 780), real);
    read_like_the_library(text);
    double next = nextafter(real, INFINITY);
    if (isfinite(next)) {
        snprintf(text, sizeof(text), "%.*Le", 20 + (int)(draw(&random) % 1000),
                 ((long double)real + (long double)next) / 2);
        read_like_the_library(text);
    }
}

Test(real, agrees_with_the_library)
{
    uint64_t first = seed_first();
    for (uint64_t i = 0; i < seed_cases(5000); i++) {
        seed_begin(first + i);
        run_case(first + i);
        seed_end();
    }
}
