/* SPDX-License-Identifier: Apache-2.0 */
/* See real.h. Reading: long division of whole numbers (Clinger, "How to read floating point numbers
 * accurately", 1990, AlgorithmM). Writing: Steele and White's free-format algorithm ("How to print
 * floating-point numbers accurately", 1990). Both have a way around for few digits. */
#include "base/real.h"

#include "base/numbers.h"

#include <assert.h>

enum {
    MANTISSA_BITS = 53,
    EXPONENT_BIAS = 1075, /* of a double's mantissa taken as a whole number */
    EXPONENT_MIN = -1074, /* of that number: the least, of subnormals */
    EXACT_POWER_MAX = 22, /* 10^22 is a double, 10^23 is not */
    TEXT_EXPONENT_MAX = 100000,
    LEADING_MAX = 308,  /* a first digit of 10^309 is too large */
    LEADING_MIN = -325, /* 10^-325 is less than half of the least double */
    /* 770 digits times 2^1200, or 10^(325 + 770) times 2^127. */
    BIG_WORDS = 160,
};

static const double exact_powers[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const double fast_digits_end = 1e15;       /* 10^REAL_FAST_DIGITS_MAX */
static const double whole_end = 9007199254740992; /* 2^53: whole numbers below are exact */

/* ---- big whole numbers ---- */

struct big {
    uint32_t count;            /* of the words in use; the last one is not 0 */
    uint32_t words[BIG_WORDS]; /* the lowest first */
};

static void big_set(struct big *big, uint64_t value)
{
    big->words[0] = (uint32_t)value;
    big->words[1] = (uint32_t)(value >> 32);
    big->count = big->words[1] != 0 ? 2 : big->words[0] != 0;
}

static void big_multiply_add(struct big *big, uint32_t factor, uint32_t more)
{
    uint64_t carry = more;
    for (uint32_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        assert(big->count < BIG_WORDS);
        big->words[big->count++] = (uint32_t)carry;
    }
}

static void big_shift(struct big *big, uint32_t bits)
{
    uint32_t words = bits / 32;
    if (big->count == 0 || bits == 0)
        return;
    big_multiply_add(big, UINT32_C(1) << bits % 32, 0);
    assert(big->count + words <= BIG_WORDS);
    memmove(big->words + words, big->words, big->count * sizeof(big->words[0]));
    memset(big->words, 0, words * sizeof(big->words[0]));
    big->count += words;
}

static void big_multiply_power_of_10(struct big *big, uint32_t exponent)
{
    const uint32_t five_13 = 1220703125; /* the greatest power of 5 in 32 bits */
    for (uint32_t left = exponent; left > 0;) {
        uint32_t factor = 5;
        if (left >= 13) {
            factor = five_13;
            left -= 13;
        } else {
            left--;
        }
        big_multiply_add(big, factor, 0);
    }
    big_shift(big, exponent);
}

static uint32_t big_bits(const struct big *big)
{
    assert(big->count > 0);
    uint32_t bits = 32 * (big->count - 1);
    for (uint32_t top = big->words[big->count - 1]; top != 0; top >>= 1)
        bits++;
    return bits;
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;) {
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    }
    return 0;
}

static void big_add(struct big *a, const struct big *b)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < b->count || carry != 0; i++) {
        assert(i < BIG_WORDS);
        if (i == a->count)
            a->words[a->count++] = 0;
        carry += (uint64_t)a->words[i] + (i < b->count ? b->words[i] : 0);
        a->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a >= b. */
static void big_subtract(struct big *a, const struct big *b)
{
    uint32_t borrow = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t less = (uint64_t)(i < b->count ? b->words[i] : 0) + borrow;
        borrow = a->words[i] < less;
        a->words[i] = (uint32_t)(a->words[i] - less);
    }
    assert(borrow == 0);
    while (a->count > 0 && a->words[a->count - 1] == 0)
        a->count--;
}

/* ---- the parts of a double ---- */

static uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static double of_bits(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof(real));
    return real;
}

bool real_is_finite(double real)
{
    return (bits_of(real) >> 52 & 0x7ff) != 0x7ff;
}

/* mantissa * 2^exponent, a whole number of at most 53 bits. False: too large. */
static bool assemble(uint64_t mantissa, int32_t exponent, double *ret_real)
{
    if (mantissa == UINT64_C(1) << MANTISSA_BITS) {
        mantissa >>= 1;
        exponent++;
    }
    assert(mantissa < UINT64_C(1) << MANTISSA_BITS);
    if (mantissa < UINT64_C(1) << (MANTISSA_BITS - 1)) {
        assert(mantissa == 0 || exponent == EXPONENT_MIN);
        *ret_real = of_bits(mantissa);
        return true;
    }
    if (exponent + EXPONENT_BIAS >= 0x7ff)
        return false;
    *ret_real = of_bits((mantissa & ~(UINT64_C(1) << (MANTISSA_BITS - 1))) |
                        (uint64_t)(exponent + EXPONENT_BIAS) << 52);
    return true;
}

/* ---- reading ---- */

/* a -= digit * b * 2^(32 * at). True: the result is below 0, and lacks its sign. */
static bool subtract_product(struct big *a, const struct big *b, uint32_t digit, uint32_t at)
{
    uint64_t carry = 0, borrow = 0;
    for (uint32_t i = 0; i <= b->count; i++) {
        carry += i < b->count ? (uint64_t)b->words[i] * digit : 0;
        uint64_t word = (uint64_t)a->words[at + i] - (uint32_t)carry - borrow;
        a->words[at + i] = (uint32_t)word;
        borrow = word >> 63;
        carry >>= 32;
    }
    return borrow != 0;
}

static void add_back(struct big *a, const struct big *b, uint32_t at)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i <= b->count; i++) {
        carry += (uint64_t)a->words[at + i] + (i < b->count ? b->words[i] : 0);
        a->words[at + i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* The word of the quotient at `at`: Knuth, "The Art of Computer Programming", 4.3.1, algorithm D.
 * The highest bit of b is set. */
static uint32_t divide_word(struct big *a, const struct big *b, uint32_t at)
{
    uint32_t n = b->count;
    uint64_t top = (uint64_t)a->words[at + n] << 32 | a->words[at + n - 1];
    uint64_t digit = top / b->words[n - 1], rest = top % b->words[n - 1];
    while (rest <= UINT32_MAX &&
           (digit > UINT32_MAX ||
            (n > 1 && digit * b->words[n - 2] > (rest << 32 | a->words[at + n - 2])))) {
        digit--;
        rest += b->words[n - 1];
    }
    if (subtract_product(a, b, (uint32_t)digit, at)) {
        add_back(a, b, at);
        digit--;
    }
    return (uint32_t)digit;
}

/* The whole part of a / b, which is less than 2^64, and whether anything is left. */
static uint64_t divide(struct big *a, struct big *b, bool *ret_rest)
{
    uint64_t quotient = 0;
    uint32_t shift = 32 * b->count - big_bits(b);
    big_shift(a, shift);
    big_shift(b, shift);
    uint32_t words = a->count - b->count;
    assert(a->count >= b->count && a->count < BIG_WORDS);
    a->words[a->count] = 0;
    for (uint32_t at = words + 1; at-- > 0;)
        quotient = quotient << 32 | divide_word(a, b, at);
    *ret_rest = false;
    for (uint32_t i = 0; i < b->count; i++)
        *ret_rest |= a->words[i] != 0;
    return quotient;
}

/* quotient * 2^exponent, a little more if there is a rest; the quotient has 63 or 64 bits. */
static bool round_to_double(uint64_t quotient, int32_t exponent, bool rest, double *ret_real)
{
    assert(quotient >> 62 != 0);
    int32_t bits = quotient >> 63 != 0 ? 64 : 63;
    int32_t drop = bits - MANTISSA_BITS;
    if (exponent + drop < EXPONENT_MIN)
        drop = EXPONENT_MIN - exponent;
    if (drop > 64) {
        *ret_real = 0;
        return true;
    }
    uint64_t kept = drop == 64 ? 0 : quotient >> drop;
    uint64_t half = UINT64_C(1) << (drop - 1);
    uint64_t dropped = quotient & (half - 1);
    if ((quotient & half) != 0 && (dropped != 0 || rest || (kept & 1) != 0))
        kept++;
    return assemble(kept, exponent + drop, ret_real);
}

/* digits * 10^exponent, for digits that neither begin nor end with a 0. False: too large. */
static bool read_digits(const uint8_t *digits, uint32_t count, int32_t exponent, double *ret_real)
{
    if (count == 0 || (int32_t)count - 1 + exponent < LEADING_MIN) {
        *ret_real = 0;
        return true;
    }
    if ((int32_t)count - 1 + exponent > LEADING_MAX)
        return false;
    if (count <= REAL_FAST_DIGITS_MAX && exponent >= -EXACT_POWER_MAX &&
        exponent <= EXACT_POWER_MAX) {
        int64_t whole = 0;
        for (uint32_t i = 0; i < count; i++)
            whole = 10 * whole + digits[i];
        /* One operation on two exact numbers, rounded once. */
        *ret_real = exponent < 0 ? (double)whole / exact_powers[-exponent]
                                 : (double)whole * exact_powers[exponent];
        return true;
    }
    struct big a, b;
    big_set(&a, 0);
    big_set(&b, 1);
    for (uint32_t i = 0; i < count; i++)
        big_multiply_add(&a, 10, digits[i]);
    big_multiply_power_of_10(exponent < 0 ? &b : &a,
                             (uint32_t)(exponent < 0 ? -exponent : exponent));
    int32_t shift = 63 - ((int32_t)big_bits(&a) - (int32_t)big_bits(&b));
    big_shift(shift > 0 ? &a : &b, (uint32_t)(shift > 0 ? shift : -shift));
    bool rest;
    uint64_t quotient = divide(&a, &b, &rest);
    return round_to_double(quotient, -shift, rest, ret_real);
}

double real_of_number(const struct json_number *number)
{
    double real = 0;
    bool fits = read_digits(number->digits, number->count, number->exponent, &real);
    assert(fits);
    (void)fits;
    return number->negative ? -real : real;
}

/* What a text says, in digits that count. */
struct real_reading {
    uint8_t digits[REAL_PARSE_DIGITS_MAX + 1]; /* from the first that is not 0 */
    uint32_t count;
    int32_t exponent; /* of the digit after the last */
    bool more;        /* a digit beyond them is not 0 */
};

static uint32_t take_digits(struct real_reading *reading, struct text *text, bool fraction)
{
    uint32_t taken = 0;
    for (; taken < text->size && number_is_digit(text->data[taken]); taken++) {
        uint8_t digit = (uint8_t)(text->data[taken] - '0');
        bool counts = reading->count > 0 || digit != 0;
        if (counts && reading->count < REAL_PARSE_DIGITS_MAX) {
            reading->digits[reading->count++] = digit;
            reading->exponent -= fraction;
        } else if (counts) {
            reading->more |= digit != 0;
            reading->exponent += !fraction;
        } else {
            reading->exponent -= fraction;
        }
    }
    *text = text_from(*text, taken);
    return taken;
}

static bool take_exponent(struct real_reading *reading, struct text *text)
{
    if (text->size == 0 || (text->data[0] | 0x20) != 'e')
        return true;
    *text = text_from(*text, 1);
    bool negative = text->size > 0 && text->data[0] == '-';
    if (text->size > 0 && (text->data[0] == '-' || text->data[0] == '+'))
        *text = text_from(*text, 1);
    int32_t exponent = 0;
    uint32_t at = 0;
    for (; at < text->size && number_is_digit(text->data[at]); at++) {
        if (exponent < TEXT_EXPONENT_MAX)
            exponent = 10 * exponent + (text->data[at] - '0');
    }
    *text = text_from(*text, at);
    reading->exponent += negative ? -exponent : exponent;
    return at > 0;
}

/* Fills `digits` so that they neither end with a 0 nor lack what stands for further ones. */
static void finish_digits(struct real_reading *reading)
{
    if (reading->more) {
        reading->digits[reading->count++] = 1;
        reading->exponent--;
    }
    while (reading->count > 0 && reading->digits[reading->count - 1] == 0) {
        reading->count--;
        reading->exponent++;
    }
}

bool real_parse(struct text text, double *ret_real, bool *ret_finite)
{
    struct real_reading reading;
    reading.count = 0;
    reading.exponent = 0;
    reading.more = false;
    *ret_finite = true;
    bool negative = text.size > 0 && text.data[0] == '-';
    text = text_from(text, negative);
    bool zero_first = text.size > 0 && text.data[0] == '0';
    uint32_t whole = take_digits(&reading, &text, false);
    if (whole == 0 || (zero_first && whole > 1))
        return false;
    if (text.size > 0 && text.data[0] == '.') {
        text = text_from(text, 1);
        if (take_digits(&reading, &text, true) == 0)
            return false;
    }
    if (!take_exponent(&reading, &text) || text.size > 0)
        return false;
    finish_digits(&reading);
    double real = 0;
    if (!read_digits(reading.digits, reading.count, reading.exponent, &real)) {
        *ret_finite = false;
        return false;
    }
    *ret_real = negative ? -real : real;
    return true;
}

/* ---- writing ---- */

/* digits * 10^exponent, digits < 2^64 and not 0. */
static void set_digits(struct json_number *number, uint64_t digits, int32_t exponent)
{
    uint8_t reversed[20];
    uint8_t count = 0;
    for (; digits % 10 == 0; digits /= 10)
        exponent++;
    for (; digits != 0; digits /= 10)
        reversed[count++] = (uint8_t)(digits % 10);
    for (uint8_t i = 0; i < count; i++)
        number->digits[i] = reversed[count - 1 - i];
    number->count = count;
    number->exponent = exponent;
}

/* At most 15 digits, which no other text of as many shares, or a whole number below 2^53. */
static bool write_fast(double real, struct json_number *number)
{
    if (real < whole_end && real == (double)(uint64_t)real) {
        set_digits(number, (uint64_t)real, 0);
        return true;
    }
    for (int32_t k = 0; k <= EXACT_POWER_MAX; k++) {
        double scaled = real * exact_powers[k];
        if (scaled >= fast_digits_end)
            return false;
        uint64_t digits = (uint64_t)(scaled + 0.5);
        if (digits != 0 && (double)digits / exact_powers[k] == real) {
            set_digits(number, digits, -k);
            return true;
        }
    }
    return false;
}

/* Steele and White's state: the rest is a / scale of a digit, and every number less than low /
 * scale below or high / scale above it is read as the same double. */
struct real_writing {
    struct big a, scale, low, high;
    bool even;       /* so are the two ends */
    int32_t leading; /* the first digit is that of 10^(leading - 1) */
};

static void times_10(struct real_writing *writing)
{
    big_multiply_add(&writing->a, 10, 0);
    big_multiply_add(&writing->low, 10, 0);
    big_multiply_add(&writing->high, 10, 0);
}

/* Whether what is left reaches the next digit's value. */
static bool reaches_next(const struct real_writing *writing)
{
    struct big sum = writing->a;
    big_add(&sum, &writing->high);
    int order = big_compare(&sum, &writing->scale);
    return order > 0 || (order == 0 && writing->even);
}

static bool reaches_last(const struct real_writing *writing)
{
    int order = big_compare(&writing->a, &writing->low);
    return order < 0 || (order == 0 && writing->even);
}

/* real = mantissa * 2^exponent. */
static void begin_writing(struct real_writing *writing, uint64_t mantissa, int32_t exponent)
{
    /* Below a power of two, doubles are twice as dense. */
    bool uneven = mantissa == UINT64_C(1) << (MANTISSA_BITS - 1) && exponent > EXPONENT_MIN;
    uint32_t up = exponent > 0 ? (uint32_t)exponent : 0;
    uint32_t down = exponent < 0 ? (uint32_t)-exponent : 0;
    writing->even = (mantissa & 1) == 0;
    big_set(&writing->a, mantissa);
    big_set(&writing->scale, 1);
    big_set(&writing->low, 1);
    big_set(&writing->high, 1);
    big_shift(&writing->a, up + 1 + uneven);
    big_shift(&writing->scale, down + 1 + uneven);
    big_shift(&writing->low, up);
    big_shift(&writing->high, up + uneven);

    int32_t bits = exponent;
    for (uint64_t left = mantissa; left != 0; left >>= 1)
        bits++;
    /* Of 10^k > real >= 10^(k - 1), k or k - 1: 78913 / 2^18 is a little less than log10(2). */
    int32_t scaled = (bits - 1) * 78913;
    writing->leading = scaled >= 0 ? (scaled + 262143) / 262144 : -(-scaled / 262144);
    if (writing->leading >= 0) {
        big_multiply_power_of_10(&writing->scale, (uint32_t)writing->leading);
    } else {
        uint32_t power = (uint32_t)-writing->leading;
        big_multiply_power_of_10(&writing->a, power);
        big_multiply_power_of_10(&writing->low, power);
        big_multiply_power_of_10(&writing->high, power);
    }
    if (reaches_next(writing))
        writing->leading++;
    else
        times_10(writing);
}

static uint8_t next_digit(struct real_writing *writing)
{
    uint8_t digit = 0;
    for (; big_compare(&writing->a, &writing->scale) >= 0; digit++)
        big_subtract(&writing->a, &writing->scale);
    assert(digit < 10);
    return digit;
}

static void write_slow(double real, struct json_number *number)
{
    uint64_t bits = bits_of(real);
    int32_t biased = (int32_t)(bits >> 52);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    struct real_writing writing;
    begin_writing(&writing, biased == 0 ? fraction : fraction | UINT64_C(1) << 52,
                  biased == 0 ? EXPONENT_MIN : biased - EXPONENT_BIAS);
    number->count = 0;
    for (;;) {
        uint8_t digit = next_digit(&writing);
        bool down = reaches_last(&writing), up = reaches_next(&writing);
        assert(number->count < REAL_DIGITS_MAX);
        if (down && up) {
            big_shift(&writing.a, 1);
            int order = big_compare(&writing.a, &writing.scale);
            up = order > 0 || (order == 0 && digit % 2 == 1);
        }
        number->digits[number->count++] = (uint8_t)(digit + up);
        assert(digit + up < 10);
        if (down || up)
            break;
        times_10(&writing);
    }
    number->exponent = writing.leading - number->count;
}

void real_to_number(double real, struct json_number *ret_number)
{
    assert(real_is_finite(real));
    *ret_number = (struct json_number){.negative = real < 0};
    real = real < 0 ? -real : real;
    if (real != 0 && !write_fast(real, ret_number))
        write_slow(real, ret_number);
}
