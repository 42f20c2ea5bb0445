/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts that come from elsewhere: flags, settings, queries, file names. Nothing is
 * skipped (no blanks), and *ret_... stays untouched on failure. */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include "base/text.h"

/* All of `text` is a decimal integer from `min` to `max`, with an optional sign. */
bool number_parse(struct text text, int64_t min, int64_t max, int64_t *ret_number);
/* All of `text` is a duration: 500 or 500ms, 30s, 5m or 5min, 2h, 7d; fractions are allowed. */
bool number_parse_duration(struct text text, int64_t *ret_ms);

/* The digits at the front of *text, which then begins after them. False if there are none, or if
 * the number is greater than `max`. */
bool number_take(struct text *text, uint64_t max, uint64_t *ret_number);
bool number_take_hex(struct text *text, uint64_t *ret_number);
/* The same for a decimal number: sign, fraction and exponent are optional; no hexadecimal digits,
 * infinities or NaNs. */
bool number_take_real(struct text *text, double *ret_real);

static inline bool number_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool number_is_sign(char c)
{
    return c == '-' || c == '+';
}

/* 0 to 15, or -1 if `c` is not a hexadecimal digit. */
int number_hex_digit(char c);

#endif
