/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the tests of schemas/. A kit is freed at the latest when the test's process ends. */
#ifndef TESTS_UNIT_SCHEMAS_KIT_H
#define TESTS_UNIT_SCHEMAS_KIT_H

#include "base/heap_arena.h"
#include "tests/unit/schemas/samples.h"

struct kit {
    struct codec *codec;
    struct heap_arena memory; /* of what is decoded */
    struct record record;     /* the latest */
    struct error error;
};

void kit_init(struct kit *kit);
void kit_deinit(struct kit *kit);

struct text text_of_buffer(const struct buffer *buffer);
/* Encoded again; the caller deinits the buffer. `record` as codec_decode() gives it. */
struct buffer kit_encode(struct kit *kit, const struct record *record);
/* Into kit->record; the class. Bytes are copied so that reading beyond them is seen by a sanitizer.
 */
enum error_class kit_decode(struct kit *kit, struct text bytes);
/* Asserts that the bytes are refused with this class and code. */
void kit_refuses(struct kit *kit, struct text bytes, enum error_class class, enum error_code code);

/* tests/golden/<name>.bin; in the kit's memory. */
struct text kit_golden(struct kit *kit, const char *name);
/* The schema of a kind with the first `from` replaced by `to`; in the kit's memory. Asserts that it
 * was there. */
struct text kit_schema(struct kit *kit, enum record_kind kind, const char *from, const char *to);

/* ---- bytes made by hand ---- */

void put_marker(struct buffer *buffer, uint64_t fingerprint);
void put_long(struct buffer *buffer, int64_t value);
void put_string(struct buffer *buffer, const char *string);
void put_bytes(struct buffer *buffer, const void *bytes, size_t size);

#endif
