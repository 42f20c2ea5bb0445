/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: what to do with each item of a record's bytes, in the writer's order. Made once for a
 * writer's schema and a binding (plan.c), executed over the bytes of each record (decode.c,
 * encode.c).
 *
 * Records within records are flattened; only what repeats or branches has a plan of its own, and
 * each record that is skipped has one. Plans are as deep as their schema, see AVRO_DEPTH_MAX, and
 * have at most PLAN_OPS_MAX operations: a small schema may name the same type many times. */
#ifndef SCHEMAS_AVRO_PLAN_H
#define SCHEMAS_AVRO_PLAN_H

#include "base/buffer.h"
#include "schemas/avro/schema.h"
#include "schemas/binding.h"

enum op_code {
    /* consume an item and write a member */
    OP_TEXT, /* limit: bytes; utf8: checked */
    OP_BOOL,
    OP_I32,
    OP_U32, /* limit: largest value */
    OP_I64,
    OP_U64,
    OP_ENUM,  /* values[index] */
    OP_FIXED, /* size bytes */
    OP_DECIMAL,
    OP_POINTER,          /* sub: the struct of `size` bytes */
    OP_PART,             /* sub: one field of a struct of `size` bytes; NULL: zeros */
    OP_ARRAY,            /* sub: an element of `size` bytes; limit: elements; bytes_min: of one */
    OP_COUNTERS,         /* limit: elements */
    OP_ATTRIBUTES,       /* sub: the value; limit: elements */
    OP_EVENTS,           /* branches; limit: elements */
    OP_UNION,            /* branches: of any type, what they write is in their plans */
    OP_OPTIONAL,         /* the same, and `count` is the flag: encoding needs to know */
    OP_OPTIONAL_FIXED,   /* the same; null stands for `size` zeros */
    OP_OPTIONAL_POINTER, /* the same; null stands for NULL */
    /* write a member only: the writer does not have it */
    OP_SET32, /* value */
    OP_SET64, /* value */
    OP_SET_TRUE,
    /* consume an item only: we do not know it */
    OP_SKIP_VARINT,
    OP_SKIP_INDEX,  /* limit: largest index of an enum */
    OP_SKIP_SIZED,  /* bytes or string */
    OP_SKIP_FIXED,  /* size bytes */
    OP_SKIP_ARRAY,  /* sub, bytes_min */
    OP_SKIP_MAP,    /* sub, bytes_min: of key and value */
    OP_SKIP_UNION,  /* branches */
    OP_SKIP_RECORD, /* sub: one for each named type, wherever the writer uses it */
    /* refuse */
    OP_REFUSE, /* a branch that does not fit the member: null for a required one */
    OP_CODE_COUNT
};

enum { PLAN_OPS_MAX = 16 * 1024, AVRO_PLAN_BLOCK_BYTES = 16 * 1024 };

struct plan;

struct branches {
    uint32_t count;
    const struct branch {
        const struct plan *plan;
        enum event_kind event; /* OP_EVENTS: 0 = unknown */
        const char *name;
    } * list;
    uint8_t index_of[EVENT_KIND_COUNT]; /* OP_EVENTS: for encoding; UINT8_MAX = none */
};

enum { ENUM_UNKNOWN = UINT8_MAX };

struct op {
    enum op_code code;
    bool utf8;
    uint32_t offset; /* of the member, from the start of the plan's struct */
    uint32_t count;  /* offset of the member's count or flag */
    uint32_t limit;
    uint32_t size;
    uint32_t bytes_min;
    int32_t value;
    const char *name; /* of the field, for messages */
    union {
        const struct plan *sub;
        const struct branches *branches;
        const uint8_t
            *values; /* OP_ENUM: of each of the writer's symbols, or ENUM_UNKNOWN; limit: last */
    };
};

struct plan {
    const struct op *ops;
    uint32_t count;
};

/* New in `arena`. The struct starts `base` bytes after the address that the plan will be executed
 * at. REJECT, code "Unmappable", when the schema lacks a required field or has a field of another
 * type. */
enum error_class avro_plan_compile(const struct avro_type *writer,
                                   const struct record_binding *binding, uint32_t base,
                                   struct arena *arena, const struct plan **ret_plan,
                                   struct error *ret_error);

/* ---- execution: decode.c ---- */

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    struct arena *arena;
    struct error *error;
};

/* Executes the plan over the bytes from reader->at on. `base` is zeroed memory. Texts point into
 * the bytes. False: reader->error says why (REJECT, or FATAL for an unknown event). */
bool avro_plan_decode(const struct plan *plan, struct reader *reader, uint8_t *base);

/* ---- execution: encode.c ---- */

/* Only for plans made of our own schemas. Asserts the limits of the bindings. */
void avro_plan_encode(const struct plan *plan, const uint8_t *base, struct buffer *buffer);

#endif
