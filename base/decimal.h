/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals of scale DECIMAL_SCALE: prices. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_SCALE 4
#define DECIMAL_UNSCALED_MAX INT64_C(999999999999999999) /* precision 18 */
enum { DECIMAL_TEXT_MAX = 24 };

struct decimal {
    int64_t unscaled; /* value * 10^DECIMAL_SCALE, at most 18 digits */
};

/* "12.5", "-3", "0.001" -> decimal; false when malformed or over its scale or precision. */
bool decimal_parse(struct text text, struct decimal *ret_decimal);
/* Shortest form without trailing zeros; returns the length. */
size_t decimal_format(struct decimal decimal, char ret_text[DECIMAL_TEXT_MAX]);

#endif
