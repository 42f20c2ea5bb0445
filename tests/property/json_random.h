/* SPDX-License-Identifier: Apache-2.0 */
/* Random JSON values. A value follows from its seed alone, so that it can be spelled in many ways,
 * written, and compared with what was read, without being kept. */
#ifndef TESTS_PROPERTY_JSON_RANDOM_H
#define TESTS_PROPERTY_JSON_RANDOM_H

#include "base/json.h"
#include "tests/property/engine_random.h"

enum { JSON_RANDOM_SIZE = 256 * 1024 };

struct json_spelling {
    struct dice dice; /* of the spelling */
    uint32_t size;
    char text[JSON_RANDOM_SIZE];
};

/* The value with random blanks, escapes, forms of numbers and order of names. */
void json_random_spell(uint64_t seed, struct json_spelling *spelling);
void json_random_write(uint64_t seed, struct json_writer *writer);
/* Asserts that it is what is read. */
void json_random_check(uint64_t seed, struct json_value value);
/* Digits * 10^exponent with at most JSON_DIGITS_MAX digits of text, in a form that is not
 * canonical. Returns its size. */
struct json_number json_random_number(struct dice *dice);
uint32_t json_random_spell_number(struct dice *dice, const struct json_number *number,
                                  char ret_text[128]);

#endif
