/* SPDX-License-Identifier: Apache-2.0 */
/* Avro bytes <-> structs, in single-object framing: C3 01, the writer schema's CRC-64-AVRO
 * fingerprint (8 bytes, little-endian), the Avro binary body.
 *
 * Decoding is one strict, bounded walk over the writer's schema: no allocation before a length is
 * checked against the bytes that are left and against engine/limits.h, exact end of input, enum and
 * union ranges, UTF-8, depth. Fields are mapped by name; what the writer does not have gets our
 * default, what we do not know is skipped (but an unknown event in a Decision is an error of class
 * FATAL, code "UnknownEvent"). What a reader makes of a record that is refused depends on its
 * schema: codec_is_newer(). One codec per thread: not thread-safe. */
#ifndef SCHEMAS_AVRO_CODEC_H
#define SCHEMAS_AVRO_CODEC_H

#include "base/buffer.h"
#include "base/error.h"
#include "schemas/records.h"

struct codec;

/* New; knows all schemas that this build was made with (they are compiled in). Never fails. */
struct codec *codec_new(void);
void codec_free(struct codec *codec);

/* Appends the framed record. `record` is the union's member (struct command for commands). Asserts
 * that readers have room for it: values were checked before they got here, those that arise here
 * against the limits of writing, and those that were read against the limits of reading. */
void codec_encode(struct codec *codec, enum record_kind kind, const void *record,
                  struct buffer *buffer);

/* Decodes one framed record; texts are copied into `arena` unless `borrow`, then they point into
 * `bytes`. Errors (class REJECT): "NotAvro", "UnknownSchema" (the fingerprint in hex is in the
 * message), "Truncated", "TrailingBytes", "TooLong", "BadValue" ...; FATAL only for "UnknownEvent".
 */
enum error_class codec_decode(struct codec *codec, struct text bytes, bool borrow,
                              struct arena *arena, struct record *ret_record,
                              struct error *ret_error);

/* A record without its framing, and the fingerprint of the schema that it was written with. */
struct codec_body {
    uint64_t fingerprint;
    struct text bytes;
};
/* As codec_decode(), of what another framing held (schemas/avro/registered.h). */
enum error_class codec_decode_body(struct codec *codec, const struct codec_body *body, bool borrow,
                                   struct arena *arena, struct record *ret_record,
                                   struct error *ret_error);

/* The order_id and reply_to of a submission that codec_decode() refused, as far as
 * they can be read; empty if not. They point into `bytes`, which may be of any size, and are not
 * validated. */
void codec_read_sender(struct codec *codec, struct text bytes, struct arena *arena,
                       struct text *ret_order_id, struct text *ret_reply_to);
void codec_read_sender_of_body(struct codec *codec, const struct codec_body *body,
                               struct arena *arena, struct text *ret_order_id,
                               struct text *ret_reply_to);

/* Learns a writer's schema from its .avsc text (from the schemas topic, or a schema registry).
 * *ret_fingerprint, if not NULL, is its fingerprint. REJECT when it is not a schema, has none of
 * our record names, or cannot be mapped (a field of another type, a recursive schema, over-deep).
 * Idempotent. Its text is kept, and compiled when a record is first decoded
 * with it. Of all that is learned, CODEC_LEARNED_BYTES_MAX are kept: those never used go first,
 * then the least recently used. */
enum error_class codec_learn(struct codec *codec, struct text avsc, uint64_t *ret_fingerprint,
                             struct error *ret_error);
/* It can be decoded now: our own, or learned and not forgotten. */
bool codec_knows(const struct codec *codec, uint64_t fingerprint);
/* Since the last call, a record needed a schema that was learned and had to go ("UnknownSchema"):
 * learn from the topic's beginning, which brings back what was asked for, and nothing else. */
bool codec_misses(struct codec *codec);

enum {
    CODEC_LEARNED_BYTES_MAX = 16 * 1024 * 1024,
    CODEC_LEARNED_MAX = 16 * 1024 /* fingerprints of schemas, forgotten ones included */
};

/* Framed, and with a schema that this build does not have as its own. Limits are in no schema, and
 * a newer version may have raised them, as it may have added events and symbols. So if
 * codec_decode() refuses such a record for whatever reason, it may be one of a newer version: it is
 * not to be called a foreign one, and not to be lost. */
bool codec_is_newer(const struct codec *codec, struct text bytes);

/* Fingerprint of framed bytes, or false when they are not framed. */
bool codec_peek(struct text bytes, uint64_t *ret_fingerprint);
uint64_t codec_fingerprint(const struct codec *codec, enum record_kind kind);
struct text codec_schema(enum record_kind kind); /* the .avsc text; static */

#endif
