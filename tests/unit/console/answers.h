/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of the API says. */
#ifndef TESTS_UNIT_CONSOLE_ANSWERS_H
#define TESTS_UNIT_CONSOLE_ANSWERS_H

#include <jansson.h>
#include <stdint.h>

/* json["a"]["b"] of "a.b", numbers are indexes; asserts that it is there. */
const json_t *world_at(const json_t *json, const char *path);
const char *world_text(const json_t *json, const char *path);
int64_t world_int(const json_t *json, const char *path);
/* In milliseconds since the epoch. */
int64_t world_time(const json_t *json, const char *path);

/* Asserts what the members of an answer (stolen) are: SHOWS(answer, {"state", "Error"}, ...). A
 * value is written in short: a text as it is; true, false, null and numbers as in JSON; an array or
 * an object by its size, as "[3]" or "{3}"; a text that reads like one of these in quotes, as
 * "\"3\"". "~part" stands for any that contains the part, and NULL for no member at all. */
#define SHOWS(answer, ...) answer_shows(answer, (const char *const[][2]){__VA_ARGS__, {NULL}})
void answer_shows(json_t *answer, const char *const members[][2]);
/* A number in short, until the eighth after it. */
const char *answer_number(int64_t number);

#endif
