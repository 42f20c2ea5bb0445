/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of base/json.h share. Inside base/json_*.c only. */
#ifndef BASE_JSON_INTERNAL_H
#define BASE_JSON_INTERNAL_H

#include "base/json.h"

enum { JSON_ESCAPE_SIZE_MAX = 6 }; /* of a canonical escape, or of a character in UTF-8 */

/* ---- texts (json_text.c) ---- */

/* Where the run of bytes from `at` ends that stand for themselves in a text: the first quote,
 * backslash or control character, or `end`. UTF-8 is not looked at. */
const char *json_plain_end(const char *at, const char *end);
/* Reads the escape at `at`, a backslash before `end`. Returns its bytes, or 0: *ret_fault. */
uint32_t json_escape_read(const char *at, const char *end, uint32_t *ret_character,
                          enum json_fault *ret_fault);
/* A character as canonical text has it, escaped or in UTF-8; returns its bytes. Not NUL. */
uint32_t json_escape_write(uint32_t character, char ret_bytes[JSON_ESCAPE_SIZE_MAX]);
/* The order of two texts (escaped, canonical) by their bytes after unescaping. */
int json_escaped_compare(struct text a, struct text b);

/* ---- reading (json_value.c) ---- */

/* Where the value at `at` ends; NULL if that is not before or at `end`. */
const char *json_value_end(const char *at, const char *end);
/* `at` is behind a quote: where the other one is; NULL if it is not before `end`. */
const char *json_quote_end(const char *at, const char *end);

/* ---- writing (json_write.c): json_write_...() with tokens that lie in the text that is checked,
 * from which the writer copies nothing as long as it writes the very same bytes ---- */

/* What is written is expected to be `json` as it is. */
void json_writer_mirror(struct json_writer *writer, struct text json);
/* Bytes that belong to the value or name under way. */
void json_put(struct json_writer *writer, const char *bytes, uint32_t size);
/* A comma, if one is due, and whatever else begins a value; `comma` is a ",". */
void json_put_begin(struct json_writer *writer, const char *comma);
/* '[' or '{', ']' or '}', behind json_put_begin(). */
void json_put_open(struct json_writer *writer, const char *bracket);
void json_put_close(struct json_writer *writer, const char *bracket);
/* A name: `comma`, quote, json_put() of what is between, quote, colon. */
void json_put_name_begin(struct json_writer *writer, const char *comma, const char *quote);
void json_put_name_end(struct json_writer *writer, const char *quote, const char *colon);

#endif
