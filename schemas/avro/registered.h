/* SPDX-License-Identifier: Apache-2.0 */
/* Confluent's framing, and what a schema registry has answered about the ids in it.
 *
 *     00 | id BE4 | the Avro binary body
 *
 * Pure: replica/cluster/schema_registry.h asks the registry. Ids come from records that anyone may
 * have written, so what is kept of them is bounded: REGISTERED_MAX ids, of which those go first
 * that were not needed for longest, and REGISTERED_ASKED_MAX that are to be asked for or are being
 * asked for; a record with another id waits until it is its turn. */
#ifndef SCHEMAS_AVRO_REGISTERED_H
#define SCHEMAS_AVRO_REGISTERED_H

#include "base/buffer.h"
#include "schemas/avro/codec.h"

enum {
    REGISTERED_FRAME_BYTES = 5,
    REGISTERED_MAX = 1024,
    REGISTERED_ASKED_MAX = 256,
    /* A follower of the registry may learn of a new id a moment later than who has it from the
     * leader: what it does not know is asked for twice. */
    REGISTERED_DOUBT_MS = 500,
    REGISTERED_REFUSED_MS = 60 * 1000 /* an answer that refuses an id is believed for this long */
};

/* Whether the bytes have that framing. */
bool registered_peek(struct text bytes, uint32_t *ret_id);
/* Gives our own record that framing, in place of its single-object encoding. `start`: where the
 * record begins in the buffer, of which it is the end. */
void registered_frame(struct buffer *buffer, size_t start, uint32_t id);

struct registered;

struct registered *registered_new(void);
void registered_free(struct registered *table);

/* OK: the fingerprint that the codec knows the id's schema by. RETRY "NoAnswer": the registry is to
 * be asked, or has not answered. REJECT: by its answer, records with this id cannot be read. */
enum error_class registered_find(struct registered *table, uint32_t id, int64_t now_ms,
                                 uint64_t *ret_fingerprint, struct error *ret_error);
/* Whether registered_find() could only say RETRY again. */
bool registered_waits(const struct registered *table, uint32_t id);

/* The next id to ask for; its answer is to follow. False: there is none now. */
bool registered_next(struct registered *table, int64_t now_ms, uint32_t *ret_id);
/* When registered_next() has one, if it has none before; INT64_MAX: when a record needs one. */
int64_t registered_next_ms(const struct registered *table);
/* For tests: how many ids have no answer yet. */
uint32_t registered_asked(const struct registered *table);

/* The answers: the codec has learned the id's schema; */
void registered_known(struct registered *table, uint32_t id, uint64_t fingerprint);
/* there is none of this id; */
void registered_unknown(struct registered *table, uint32_t id, int64_t now_ms);
/* records with it cannot be read, for this reason; */
void registered_refuse(struct registered *table, uint32_t id, int64_t now_ms,
                       const struct error *why);
/* there was none, or the codec has forgotten the schema: ask again. */
void registered_ask_again(struct registered *table, uint32_t id);

#endif
