/* SPDX-License-Identifier: Apache-2.0 */
/* An Avro schema as a tree, read from the text of an .avsc file.
 *
 * Why not avro-c's avro_schema_t: it drops logical types, prints no canonical form, and follows
 * recursive schemas. avro-c is asked for its opinion all the same: a text that it refuses is not a
 * schema. Invariants of a tree: not recursive, at most AVRO_DEPTH_MAX deep, at most
 * AVRO_TYPES_MAX types when every named type is written out in full, so that walking it needs
 * no bound of its own. */
#ifndef SCHEMAS_AVRO_SCHEMA_H
#define SCHEMAS_AVRO_SCHEMA_H

#include "base/arena.h"
#include "base/error.h"

enum { AVRO_DEPTH_MAX = 16, AVRO_TYPES_MAX = 20000, AVRO_SCHEMA_BYTES_MAX = 128 * 1024 };

enum avro_kind {
    AVRO_KIND_NULL,
    AVRO_KIND_BOOLEAN,
    AVRO_KIND_INT,
    AVRO_KIND_LONG,
    AVRO_KIND_FLOAT,
    AVRO_KIND_DOUBLE,
    AVRO_KIND_BYTES,
    AVRO_KIND_STRING,
    AVRO_KIND_RECORD,
    AVRO_KIND_ENUM,
    AVRO_KIND_FIXED,
    AVRO_KIND_ARRAY,
    AVRO_KIND_MAP,
    AVRO_KIND_UNION,
    AVRO_KIND_COUNT
};

struct avro_type;

struct avro_field {
    const char *name;
    const struct avro_type *type;
};

struct avro_type {
    enum avro_kind kind;
    const char *name;                 /* full name of a record, enum or fixed, else NULL */
    const struct avro_field *fields;  /* record */
    const char *const *symbols;       /* enum */
    const struct avro_type **members; /* union: its branches; array and map: one, the items */
    uint32_t count;                   /* of fields, symbols or members */
    uint32_t size;                    /* fixed, in bytes */
    int32_t scale;                    /* of a decimal; -1: says nothing about it */
    uint32_t bytes_min;               /* smallest encoding; 0 only if it is always empty */
    uint32_t type_count;              /* written out in full */
    uint32_t depth;                   /* 1 for a leaf */
};

/* All of *ret_type lives in `arena`. REJECT, code "BadSchema". */
enum error_class avro_schema_parse(struct text avsc, struct arena *arena,
                                   const struct avro_type **ret_type, struct error *ret_error);
/* The same without asking avro-c: for schemas that are compiled in, about which tests ask it. */
enum error_class avro_schema_read(struct text avsc, struct arena *arena,
                                  const struct avro_type **ret_type, struct error *ret_error);

/* For tests: the Parsing Canonical Form; new in `arena`. */
struct text avro_schema_canonical(const struct avro_type *type, struct arena *arena);
/* CRC-64-AVRO of the canonical form; `arena` is for scratch. */
uint64_t avro_schema_fingerprint(const struct avro_type *type, struct arena *arena);
/* For tests: the specification's Rabin fingerprint of any bytes. */
uint64_t avro_crc64(struct text bytes);

/* What follows the last dot. */
const char *avro_short_name(const char *full_name);
const char *avro_kind_name(enum avro_kind kind);

#endif
