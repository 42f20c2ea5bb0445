/* SPDX-License-Identifier: Apache-2.0 */
/* How the fields of an Avro record map to the members of a C struct: tables, one per record.
 *
 * A binding knows the reader's side only. avro/plan.c joins it with a writer's schema, field by
 * field by name. */
#ifndef SCHEMAS_BINDING_H
#define SCHEMAS_BINDING_H

#include "base/arena.h"
#include "schemas/records.h"

#include <assert.h>
#include <stddef.h>

enum field_kind {
    FIELD_TEXT,       /* struct text <- string; limit = bytes */
    FIELD_JSON,       /* likewise; it is JSON, or empty */
    FIELD_BYTES,      /* struct text <- bytes; limit = bytes */
    FIELD_BOOL,       /* bool <- boolean */
    FIELD_I32,        /* int32_t <- int */
    FIELD_U32,        /* uint32_t <- int; limit = largest value */
    FIELD_I64,        /* int64_t <- long */
    FIELD_U64,        /* uint64_t <- long, not negative */
    FIELD_ENUM,       /* an enum <- enum, by symbol */
    FIELD_UUID,       /* struct uuid <- fixed(16) */
    FIELD_HASH,       /* struct content_hash <- union of null (all zeros) and fixed(16) */
    FIELD_DECIMAL,    /* struct decimal <- bytes, decimal(18, 4) */
    FIELD_RECORD,     /* a struct within the struct <- record */
    FIELD_POINTER,    /* a pointer to a struct in the arena <- record; OPTIONAL: NULL <- null */
    FIELD_OPTIONAL,   /* a struct and a bool (`count`) <- union of null and record */
    FIELD_ARRAY,      /* a pointer and a count <- array of records; limit = elements */
    FIELD_TEXTS,      /* a struct text_list <- array of string; limit = elements */
    FIELD_COUNTERS,   /* uint32_t[limit] <- array of int, without trailing zeros */
    FIELD_ATTRIBUTES, /* a pointer and a count <- map of string; limit = elements */
    FIELD_EVENTS,     /* a pointer and a count <- array of a union of events */
    FIELD_KIND_COUNT
};

struct record_binding;

/* A struct that has some of a record's fields, and that the record's own struct points to. It is
 * made when the first of them is read. NULL: they are all zeros, as is their default. */
struct part_binding {
    uint32_t offset; /* of the pointer */
    uint32_t size;   /* of the struct, at most PART_BYTES_MAX */
};
enum { PART_BYTES_MAX = 64 };

struct field_binding {
    const char *name;
    enum field_kind kind;
    bool is_time;        /* a number of milliseconds since the epoch; 0: none */
    bool required;       /* a writer without it cannot be mapped; else zeros or `fallback` */
    uint32_t offset;     /* of the member */
    uint32_t size;       /* of the member */
    uint32_t count;      /* offset of the count or flag */
    uint32_t limit;      /* of what is asked for and written here */
    uint32_t read_limit; /* of what is read and passed on */
    int32_t fallback;    /* of a number or an enum */
    const struct enum_names *symbols; /* FIELD_ENUM */
    const struct record_binding *sub; /* record, pointer, optional; elements of an array */
    const struct part_binding *part;  /* where the member is; NULL: in the record's own struct */
};

struct record_binding {
    uint32_t size; /* of the struct */
    uint32_t count;
    const struct field_binding *fields;
};

/* The struct to read a part's members from: it, or zeros. */
static inline const uint8_t *binding_part(const uint8_t *record, uint32_t offset, uint32_t size)
{
    static const uint64_t zeros[PART_BYTES_MAX / sizeof(uint64_t)];
    const uint8_t *part;
    assert(size <= sizeof(zeros));
    memcpy(&part, record + offset, sizeof(part));
    return part != NULL ? part : (const uint8_t *)zeros;
}

/* The struct to write a part's members to. */
static inline uint8_t *binding_part_made(uint8_t *record, uint32_t offset, uint32_t size,
                                         struct arena *arena)
{
    uint8_t *part;
    memcpy(&part, record + offset, sizeof(part));
    if (part == NULL) {
        part = arena_calloc(arena, 1, size);
        memcpy(record + offset, &part, sizeof(part));
    }
    return part;
}

/* REQUIRED or OPTIONAL, the struct's type, the member, whose name is the field's. */
#define REQUIRED true
#define OPTIONAL false
#define FIELD_AS(avro_name, field_kind, need, type, member)        \
    .name = (avro_name), .kind = (field_kind), .required = (need), \
    .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
/* `name` stands for the constants name_MAX and name_READ_MAX. */
#define LIMITS(name)                                                                            \
    .limit = name##_MAX,                                                                        \
    .read_limit = name##_READ_MAX + 0 * sizeof(struct {                                         \
                                        _Static_assert((int)name##_READ_MAX >= (int)name##_MAX, \
                                                       "what is written is read");              \
                                        int unused;                                             \
                                    })
#define F_TEXT_AS(avro_name, need, type, member, limits)                    \
    {                                                                       \
        FIELD_AS(avro_name, FIELD_TEXT, need, type, member), LIMITS(limits) \
    }
#define F_TEXT(need, type, member, limits) F_TEXT_AS(#member, need, type, member, limits)
#define F_JSON(need, type, member, limits)                                \
    {                                                                     \
        FIELD_AS(#member, FIELD_JSON, need, type, member), LIMITS(limits) \
    }
#define F_BYTES(need, type, member, limits)                                \
    {                                                                      \
        FIELD_AS(#member, FIELD_BYTES, need, type, member), LIMITS(limits) \
    }
#define F_BOOL(need, type, member)                        \
    {                                                     \
        FIELD_AS(#member, FIELD_BOOL, need, type, member) \
    }
#define F_I32(need, type, member)                        \
    {                                                    \
        FIELD_AS(#member, FIELD_I32, need, type, member) \
    }
#define F_U32_UP_TO(avro_name, need, type, member, max)                                         \
    {                                                                                           \
        FIELD_AS(avro_name, FIELD_U32, need, type, member), .limit = (max), .read_limit = (max) \
    }
#define F_U32_AS(avro_name, need, type, member) \
    F_U32_UP_TO(avro_name, need, type, member, INT32_MAX)
#define F_U32(need, type, member) F_U32_AS(#member, need, type, member)
#define F_I64(need, type, member)                        \
    {                                                    \
        FIELD_AS(#member, FIELD_I64, need, type, member) \
    }
#define F_TIME_AS(avro_name, need, type, member)                            \
    {                                                                       \
        FIELD_AS(avro_name, FIELD_I64, need, type, member), .is_time = true \
    }
#define F_TIME(need, type, member) F_TIME_AS(#member, need, type, member)
#define F_I64_OR(type, member, value)                                             \
    {                                                                             \
        FIELD_AS(#member, FIELD_I64, OPTIONAL, type, member), .fallback = (value) \
    }
#define F_U64(need, type, member)                        \
    {                                                    \
        FIELD_AS(#member, FIELD_U64, need, type, member) \
    }
#define F_ENUM_AS(avro_name, need, type, member, table, value)                    \
    {                                                                             \
        FIELD_AS(avro_name, FIELD_ENUM, need, type, member), .symbols = &(table), \
                                                             .fallback = (value)  \
    }
#define F_ENUM(need, type, member, table, value) \
    F_ENUM_AS(#member, need, type, member, table, value)
#define F_UUID(type, member)                                  \
    {                                                         \
        FIELD_AS(#member, FIELD_UUID, REQUIRED, type, member) \
    }
#define F_SUB(field_kind, type, member, binding)                                 \
    {                                                                            \
        FIELD_AS(#member, field_kind, REQUIRED, type, member), .sub = &(binding) \
    }
/* A pointer, or NULL. */
#define F_POINTER(type, avro_name, member, binding)                                   \
    {                                                                                 \
        FIELD_AS(avro_name, FIELD_POINTER, OPTIONAL, type, member), .sub = &(binding) \
    }
#define F_ARRAY(need, type, member, count_member, limits, binding)                                 \
    {                                                                                              \
        FIELD_AS(#member, FIELD_ARRAY, need, type, member), .count = offsetof(type, count_member), \
                                                            LIMITS(limits), .sub = &(binding)      \
    }
#define F_TEXTS(type, member, limits)                             \
    {                                                             \
        FIELD_AS(#member, FIELD_TEXTS, OPTIONAL, type, member),   \
            .count = offsetof(type, member.count), LIMITS(limits) \
    }
#define BINDING(type, table)                                                                 \
    {                                                                                        \
        .size = sizeof(type), .fields = (table), .count = sizeof(table) / sizeof((table)[0]) \
    }

/* binding_order.c */
extern const struct record_binding binding_order_details;
extern const struct record_binding binding_order_row;
extern const struct record_binding binding_step_row;
extern const struct record_binding binding_awaiting; /* what a step waits for */
extern const struct record_binding binding_order_parent;
extern const struct record_binding binding_suborders; /* of a step */

/* binding_events.c */
extern const struct record_binding binding_decision;
/* The struct within struct event's union; NULL: no such event. */
const struct record_binding *event_binding(enum event_kind kind);
/* 0: a name that this build does not know. */
enum event_kind event_kind_of(const char *name);

/* binding_records.c: everything about a kind of record. */
struct record_kind_info {
    const char *name;
    const struct record_binding *binding;
    uint32_t order_id; /* commands: offset of the order id in their struct */
    bool is_command;
};
const struct record_kind_info *record_kind_info(enum record_kind kind);
/* 0: a name that this build does not know. */
enum record_kind record_kind_of(const char *name);

#endif
