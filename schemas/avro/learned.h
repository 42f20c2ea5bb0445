/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of other writers, as their texts, and those that are used, as plans. For codec.c.
 *
 * Bounded in bytes and in number: a schema that is used takes the place of those that never were,
 * the oldest first, and then of the least recently used. The fingerprint of a schema that had to go
 * stays known as long as there is room for it: when a record needs the schema again, `missed` says
 * that its text has to be learned once more, and only such a text is taken back. */
#ifndef SCHEMAS_AVRO_LEARNED_H
#define SCHEMAS_AVRO_LEARNED_H

#include "base/heap_arena.h"
#include "schemas/avro/plan.h"

enum learned_place {
    LEARNED_UNUSED,    /* in the order of learning */
    LEARNED_USED,      /* the least recently used first */
    LEARNED_FORGOTTEN, /* without text; the first that went first */
    LEARNED_PLACE_COUNT
};

/* One writer's schema. */
struct known_schema {
    uint64_t fingerprint;
    enum record_kind kind;
    const struct plan *plan;   /* NULL: it is not compiled yet */
    const struct plan *sender; /* reads a submission's sender; NULL: it is not a submission */
    struct heap_arena memory;  /* the plans' */
    /* of a learned one */
    struct text text; /* owned */
    size_t counted;   /* in `bytes` */
    enum learned_place place;
    bool wanted; /* forgotten, and a record needed it */
    struct known_schema *prev, *next;
    struct known_schema *chain; /* in its bucket */
};

enum { LEARNED_BUCKETS = 4096 };

/* Zeroed is empty. */
struct learned {
    struct known_schema *buckets[LEARNED_BUCKETS];
    struct known_schema *lists[LEARNED_PLACE_COUNT];
    uint32_t count;
    size_t bytes; /* of texts and plans */
    bool missed;
};

void learned_deinit(struct learned *learned);
/* New to it, or forgotten and needed again. */
bool learned_wants(const struct learned *learned, uint64_t fingerprint);
/* What it wants. Others may go. */
void learned_add(struct learned *learned, uint64_t fingerprint, enum record_kind kind,
                 struct text avsc);
bool learned_knows(const struct learned *learned, uint64_t fingerprint);
/* Borrowed until the next call. NULL: unknown, or forgotten, which is noted. */
struct known_schema *learned_use(struct learned *learned, uint64_t fingerprint);
/* Its plans are made. Others may go. */
void learned_compiled(struct learned *learned, struct known_schema *known);

#endif
