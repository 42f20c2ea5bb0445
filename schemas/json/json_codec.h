/* SPDX-License-Identifier: Apache-2.0 */
/* Structs <-> JSON, by the binding tables (binding.h) that map them to Avro.
 *
 *     record, pointer   an object with the names of the .avsc file
 *     text              a string
 *     JSON              what it is, with its numbers as they are; null when empty
 *     bytes             a string of base64url
 *     number, bool      a number, true or false
 *     time              "2010-12-01T08:26:00.000Z" (RFC 3339)
 *     decimal           "2.55"; a number is read as well
 *     enum              its symbol
 *     uuid, hash        "ab010000-0000-...", "0102..."; a hash may be null, which is all zeros
 *     attributes        an object of strings
 *     optional record   an object or null
 *     event             {"kind": its name, "data": its object}
 *
 * `only`: the names of the fields that are meant, terminated by NULL; NULL: all. */
#ifndef SCHEMAS_JSON_JSON_CODEC_H
#define SCHEMAS_JSON_JSON_CODEC_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "schemas/binding.h"

#include <jansson.h>

enum json_codec_flags {
    JSON_CODEC_NULLS = 1,   /* encoding: texts that are empty and times that are 0 become null */
    JSON_CODEC_ANY_SIZE = 2 /* decoding: the caller checks how long texts are */
};

/* New. Texts that are not UTF-8 are shown with '?' in place of each byte beyond ASCII. */
json_t *json_codec_encode(const struct record_binding *binding, const void *record, unsigned flags);
/* Adds the fields to `object`, in the order of `only`. Asserts that each of them exists. */
void json_codec_add(json_t *object, const struct record_binding *binding, const void *record,
                    const char *const only[], unsigned flags);
/* object[name] = value, which is stolen. */
void json_codec_put(json_t *object, const char *name, json_t *value);
json_t *json_codec_text(struct text text);
json_t *json_codec_text_or_null(struct text text); /* null when empty */
/* JSON that is to stay as it is (JSON_MARK): null when empty, and a string if it is not JSON, which
 * only records that were never accepted have. */
json_t *json_codec_json(struct text json);
json_t *json_codec_uuid(const struct uuid *uuid);
/* Of milliseconds since the epoch. */
json_t *json_codec_time(int64_t ms);
json_t *json_codec_time_or_null(int64_t ms); /* null when 0 */

/* One object, canonical: it borrows `json` where that is, else it is new in `arena`. Errors call it
 * `what`. REJECT "BadJson". */
enum error_class json_codec_parse(struct text json, const char *what, struct arena *arena,
                                  struct json_value *ret_object, struct error *ret_error);
/* Reads an object of canonical text (json_codec_parse()) strictly into the struct; texts are copied
 * into `arena`. Fields that are left out get the table's default; texts are empty then, even
 * required ones, so that the check of a record's values reports them. REJECT "UnknownField" (with
 * the nearest name) or "BadField" (with the field's path, and what is expected or the limit).
 *
 * Everything but events can be read; asserts that no list of them is selected. */
enum error_class json_codec_decode(const struct record_binding *binding, const char *const only[],
                                   unsigned flags, struct json_value json, struct arena *arena,
                                   void *ret_record, struct error *ret_error);

#endif
