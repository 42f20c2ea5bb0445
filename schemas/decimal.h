/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals of scale DECIMAL_SCALE as text. */
#ifndef SCHEMAS_DECIMAL_H
#define SCHEMAS_DECIMAL_H

#include "engine/order.h"

#include <stddef.h>

enum { DECIMAL_TEXT_MAX = 24 };

/* "12.5", "-3", "0.001" -> decimal; false when malformed or over its scale or precision. */
bool decimal_parse(struct text text, struct decimal *ret_decimal);
/* Shortest form without trailing zeros; returns the length. */
size_t decimal_format(struct decimal decimal, char ret_text[DECIMAL_TEXT_MAX]);

#endif
