/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles and decimal digits: correctly rounded to the nearest, ties to even, and the shortest
 * digits that read back as the same double. Neither libc's conversions nor its locale take part, so
 * every machine agrees. Inputs are bounded, and so is the work. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include "base/json.h"

enum {
    REAL_DIGITS_MAX = 17, /* tell any double from its neighbours */
    /* Digits of a text that count; of further ones, only whether one is not 0. That rounds any text
     * correctly: half-way between two doubles there are at most 767 digits. */
    REAL_PARSE_DIGITS_MAX = 770,
    /* This many digits are read, and most doubles are written, in some nanoseconds; more take up to
     * some microseconds, which budgets have to know. */
    REAL_FAST_DIGITS_MAX = 15,
};

/* All of `text` is a number as JSON spells them, of any size. *ret_real is the nearest double, 0
 * where it is too small. False: it is not a number, or beyond the largest double (then *ret_finite
 * is false). */
bool real_parse(struct text text, double *ret_real, bool *ret_finite);
/* The nearest double; a json_number is never beyond the largest one. */
double real_of_number(const struct json_number *number);
/* The shortest digits of a finite number and, of several such texts, the nearest to it. They are in
 * *ret_number whatever its exponent: json_number_format() says which can be written. */
void real_to_number(double real, struct json_number *ret_number);
bool real_is_finite(double real);

#endif
