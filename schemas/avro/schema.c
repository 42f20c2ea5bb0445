/* SPDX-License-Identifier: Apache-2.0 */
/* .avsc text -> tree. See schema.h. */
#include "schemas/avro/schema.h"

#include <avro.h>
#include <jansson.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 256, NAMED_TYPES_MAX = 512 };

/* A type that may be referred to by its full name from where it was defined on. */
struct named {
    const struct avro_type *type; /* NULL while its own definition is being read */
    const char *name;
};

struct parser {
    struct arena *arena;
    struct error *error;
    struct named named[NAMED_TYPES_MAX];
    uint32_t named_count;
    uint32_t depth; /* of the nesting that is being read */
};

static const char *const kind_names[] = {
    "null",   "boolean", "int",  "long",  "float", "double", "bytes",
    "string", "record",  "enum", "fixed", "array", "map",    "union",
};
_Static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == AVRO_KIND_COUNT, "all have a name");

const char *avro_kind_name(enum avro_kind kind)
{
    return (unsigned)kind < AVRO_KIND_COUNT ? kind_names[kind] : "?";
}

const char *avro_short_name(const char *full_name)
{
    const char *dot = strrchr(full_name, '.');
    return dot != NULL ? dot + 1 : full_name;
}

static const struct avro_type *bad(struct parser *parser, const char *what, const char *where)
{
    error_set(parser->error, CODE_BAD_SCHEMA, "%s: %.100s", what, where);
    return NULL;
}

static const char *keep(struct parser *parser, const char *string)
{
    size_t size = strlen(string) + 1;
    return memcpy(arena_bytes(parser->arena, size), string, size);
}

/* [A-Za-z_][A-Za-z0-9_]*, and with `dots` several of them. */
static bool name_valid(const char *name, bool dots)
{
    bool first = true;
    if (strlen(name) >= NAME_MAX_BYTES)
        return false;
    for (; *name != '\0'; name++) {
        bool letter =
            (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_';
        bool digit = *name >= '0' && *name <= '9';
        if (*name == '.') {
            if (!dots || first)
                return false;
            first = true;
            continue;
        }
        if (!letter && (first || !digit))
            return false;
        first = false;
    }
    return !first;
}

static bool primitive_of(const char *name, enum avro_kind *ret_kind)
{
    for (int kind = AVRO_KIND_NULL; kind <= AVRO_KIND_STRING; kind++) {
        if (strcmp(name, kind_names[kind]) == 0) {
            *ret_kind = (enum avro_kind)kind;
            return true;
        }
    }
    return false;
}

static const struct avro_type *leaf(struct parser *parser, enum avro_kind kind)
{
    static const uint8_t bytes_min[AVRO_KIND_FIXED] = {
        [AVRO_KIND_BOOLEAN] = 1, [AVRO_KIND_INT] = 1,    [AVRO_KIND_LONG] = 1,
        [AVRO_KIND_FLOAT] = 4,   [AVRO_KIND_DOUBLE] = 8, [AVRO_KIND_BYTES] = 1,
        [AVRO_KIND_STRING] = 1,
    };
    struct avro_type *type = ARENA_NEW(parser->arena, struct avro_type);
    *type = (struct avro_type){
        .kind = kind, .scale = -1, .bytes_min = bytes_min[kind], .type_count = 1, .depth = 1};
    return type;
}

/* False also for a full name that is too long, as the canonical form has full names. */
static bool qualify(const char *name, const char *namespace, char ret_full[NAME_MAX_BYTES])
{
    if (!name_valid(name, true))
        return false;
    bool qualified = strchr(name, '.') != NULL || namespace[0] == '\0';
    int size = snprintf(ret_full, NAME_MAX_BYTES, "%s%s%s", qualified ? "" : namespace,
                        qualified ? "" : ".", name);
    return size < NAME_MAX_BYTES;
}

static const struct avro_type *refer(struct parser *parser, const char *name, const char *namespace)
{
    enum avro_kind kind;
    if (primitive_of(name, &kind))
        return leaf(parser, kind);
    char full[NAME_MAX_BYTES];
    if (!qualify(name, namespace, full))
        return bad(parser, "no name of a type", name);
    for (uint32_t i = 0; i < parser->named_count; i++) {
        if (strcmp(parser->named[i].name, full) == 0)
            return parser->named[i].type != NULL
                       ? parser->named[i].type
                       : bad(parser, "a recursive schema is not supported", full);
    }
    return bad(parser, "unknown type", full);
}

static const struct avro_type *parse(struct parser *parser, const json_t *json,
                                     const char *namespace);

/* Adds what `member` weighs to `type`; false when the whole gets too big. */
static bool weigh(struct parser *parser, struct avro_type *type, const struct avro_type *member,
                  bool required)
{
    if (type->type_count + member->type_count > AVRO_TYPES_MAX || member->depth >= AVRO_DEPTH_MAX) {
        bad(parser, "too large or too deep", type->name != NULL ? type->name : "");
        return false;
    }
    type->type_count += member->type_count;
    if (member->depth + 1 > type->depth)
        type->depth = member->depth + 1;
    if (required) {
        uint64_t sum = (uint64_t)type->bytes_min + member->bytes_min;
        type->bytes_min = sum < INT32_MAX ? (uint32_t)sum : INT32_MAX;
    }
    return true;
}

static const struct avro_type *parse_union(struct parser *parser, const json_t *json,
                                           const char *namespace)
{
    struct avro_type *type = ARENA_NEW(parser->arena, struct avro_type);
    uint32_t count = (uint32_t)json_array_size(json);
    *type = (struct avro_type){
        .kind = AVRO_KIND_UNION, .scale = -1, .bytes_min = 1, .type_count = 1, .depth = 1};
    type->members = ARENA_ARRAY(parser->arena, const struct avro_type *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct avro_type *member = parse(parser, json_array_get(json, i), namespace);
        if (member == NULL)
            return NULL;
        if (member->kind == AVRO_KIND_UNION)
            return bad(parser, "a union in a union", "");
        if (!weigh(parser, type, member, false))
            return NULL;
        type->members[type->count++] = member;
    }
    return count > 0 ? type : bad(parser, "an empty union", "");
}

static const struct avro_type *parse_items(struct parser *parser, enum avro_kind kind,
                                           const json_t *json, const char *namespace)
{
    const json_t *items = json_object_get(json, kind == AVRO_KIND_ARRAY ? "items" : "values");
    const struct avro_type *member = items != NULL ? parse(parser, items, namespace)
                                                   : bad(parser, "without items or values", "");
    if (member == NULL)
        return NULL;
    struct avro_type *type = ARENA_NEW(parser->arena, struct avro_type);
    *type = (struct avro_type){
        .kind = kind, .scale = -1, .bytes_min = 1, .type_count = 1, .depth = 1, .count = 1};
    type->members = ARENA_ARRAY(parser->arena, const struct avro_type *, 1);
    type->members[0] = member;
    return weigh(parser, type, member, false) ? type : NULL;
}

static const struct avro_type *parse_fields(struct parser *parser, struct avro_type *type,
                                            const json_t *json, const char *namespace)
{
    const json_t *fields = json_object_get(json, "fields");
    if (!json_is_array(fields))
        return bad(parser, "a record without fields", type->name);
    uint32_t count = (uint32_t)json_array_size(fields);
    if (count > AVRO_TYPES_MAX)
        return bad(parser, "too many fields", type->name);
    struct avro_field *list = ARENA_ARRAY(parser->arena, struct avro_field, count + 1);
    type->fields = list;
    for (uint32_t i = 0; i < count; i++) {
        const json_t *field = json_array_get(fields, i);
        const char *name = json_string_value(json_object_get(field, "name"));
        const json_t *of = json_object_get(field, "type");
        if (name == NULL || of == NULL || !name_valid(name, false))
            return bad(parser, "a field without a proper name or type", type->name);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(list[j].name, name) == 0)
                return bad(parser, "two fields of the same name", name);
        const struct avro_type *member = parse(parser, of, namespace);
        if (member == NULL || !weigh(parser, type, member, true))
            return NULL;
        list[i] = (struct avro_field){keep(parser, name), member};
        type->count++;
    }
    return type;
}

static const struct avro_type *parse_symbols(struct parser *parser, struct avro_type *type,
                                             const json_t *json)
{
    const json_t *symbols = json_object_get(json, "symbols");
    uint32_t count = (uint32_t)json_array_size(symbols);
    if (!json_is_array(symbols) || count == 0 || count > AVRO_TYPES_MAX)
        return bad(parser, "an enum without symbols", type->name);
    const char **list = ARENA_ARRAY(parser->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *symbol = json_string_value(json_array_get(symbols, i));
        if (symbol == NULL || !name_valid(symbol, false))
            return bad(parser, "a symbol that is not a name", type->name);
        list[i] = keep(parser, symbol);
    }
    type->symbols = list;
    type->count = count;
    type->bytes_min = 1;
    return type;
}

static const struct avro_type *parse_named(struct parser *parser, enum avro_kind kind,
                                           const json_t *json, const char *namespace)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const json_t *own = json_object_get(json, "namespace");
    if (json_is_string(own))
    namespace = json_string_value(own);
    char full[NAME_MAX_BYTES];
    if (name == NULL || (namespace[0] != '\0' && !name_valid(namespace, true)) ||
        !qualify(name, namespace, full))
        return bad(parser, "a type without a proper name", name != NULL ? name : "");
    for (uint32_t i = 0; i < parser->named_count; i++)
        if (strcmp(parser->named[i].name, full) == 0)
            return bad(parser, "defined twice", full);
    if (parser->named_count == NAMED_TYPES_MAX)
        return bad(parser, "too many named types", full);

    struct avro_type *type = ARENA_NEW(parser->arena, struct avro_type);
    *type = (struct avro_type){.kind = kind, .scale = -1, .type_count = 1, .depth = 1};
    type->name = keep(parser, full);
    struct named *entry = &parser->named[parser->named_count++];
    *entry = (struct named){NULL, type->name};
    /* Names inside inherit the namespace of the full name. */
    char inner[NAME_MAX_BYTES];
    snprintf(inner, sizeof(inner), "%s", full);
    char *dot = strrchr(inner, '.');
    *(dot != NULL ? dot : inner) = '\0';

    const struct avro_type *done = type;
    if (kind == AVRO_KIND_RECORD) {
        done = parse_fields(parser, type, json, inner);
    } else if (kind == AVRO_KIND_ENUM) {
        done = parse_symbols(parser, type, json);
    } else {
        json_int_t size = json_integer_value(json_object_get(json, "size"));
        if (!json_is_integer(json_object_get(json, "size")) || size < 0 || size > INT32_MAX)
            return bad(parser, "a fixed without a proper size", full);
        type->size = type->bytes_min = (uint32_t)size;
    }
    entry->type = done;
    return done;
}

/* {"type": "bytes", "logicalType": "decimal", ...}: only a decimal's scale says how to read the
 * bytes. */
static const struct avro_type *with_logical_type(struct parser *parser,
                                                 const struct avro_type *type, const json_t *json)
{
    const char *logical = json_string_value(json_object_get(json, "logicalType"));
    if (type == NULL || type->kind != AVRO_KIND_BYTES || logical == NULL ||
        strcmp(logical, "decimal") != 0)
        return type;
    json_int_t scale = json_integer_value(json_object_get(json, "scale"));
    struct avro_type *decimal = ARENA_NEW(parser->arena, struct avro_type);
    *decimal = *type;
    decimal->scale = scale >= 0 && scale <= INT32_MAX ? (int32_t)scale : INT32_MAX;
    return decimal;
}

static const struct avro_type *parse_object(struct parser *parser, const json_t *json,
                                            const char *namespace)
{
    const char *name = json_string_value(json_object_get(json, "type"));
    if (name == NULL)
        return bad(parser, "a type without the name of one", "");
    if (strcmp(name, "record") == 0)
        return parse_named(parser, AVRO_KIND_RECORD, json, namespace);
    if (strcmp(name, "enum") == 0)
        return parse_named(parser, AVRO_KIND_ENUM, json, namespace);
    if (strcmp(name, "fixed") == 0)
        return parse_named(parser, AVRO_KIND_FIXED, json, namespace);
    if (strcmp(name, "array") == 0)
        return parse_items(parser, AVRO_KIND_ARRAY, json, namespace);
    if (strcmp(name, "map") == 0)
        return parse_items(parser, AVRO_KIND_MAP, json, namespace);
    return with_logical_type(parser, refer(parser, name, namespace), json);
}

static const struct avro_type *parse(struct parser *parser, const json_t *json,
                                     const char *namespace)
{
    if (parser->depth == 2 * AVRO_DEPTH_MAX)
        return bad(parser, "too deep", "");
    parser->depth++;
    const struct avro_type *type = NULL;
    if (json_is_string(json))
        type = refer(parser, json_string_value(json), namespace);
    else if (json_is_array(json))
        type = parse_union(parser, json, namespace);
    else if (json_is_object(json))
        type = parse_object(parser, json, namespace);
    else
        type = bad(parser, "neither a name nor an object nor a list", "");
    parser->depth--;
    return type;
}

/* The opinion of avro-c. */
static bool avro_c_agrees(struct text avsc, struct error *ret_error)
{
    avro_schema_t schema = NULL;
    if (avro_schema_from_json_length(avsc.data, avsc.size, &schema) != 0) {
        error_set(ret_error, CODE_BAD_SCHEMA, "avro-c: %.200s", avro_strerror());
        return false;
    }
    avro_schema_decref(schema);
    return true;
}

enum error_class avro_schema_read(struct text avsc, struct arena *arena,
                                  const struct avro_type **ret_type, struct error *ret_error)
{
    if (avsc.size == 0 || avsc.size > AVRO_SCHEMA_BYTES_MAX)
        return error_set(ret_error, CODE_BAD_SCHEMA, "the schema is %u bytes; it must be 1 to %d",
                         avsc.size, AVRO_SCHEMA_BYTES_MAX);
    json_error_t json_error;
    json_t *json =
        json_loadb(avsc.data, avsc.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json_error);
    if (json == NULL)
        return error_set(ret_error, CODE_BAD_SCHEMA, "no JSON, line %d: %.100s", json_error.line,
                         json_error.text);
    struct parser *parser = ARENA_NEW(arena, struct parser);
    parser->arena = arena;
    parser->error = ret_error;
    const struct avro_type *type = parse(parser, json, "");
    json_decref(json);
    if (type == NULL)
        return ERROR_REJECT;
    *ret_type = type;
    return ERROR_OK;
}

enum error_class avro_schema_parse(struct text avsc, struct arena *arena,
                                   const struct avro_type **ret_type, struct error *ret_error)
{
    const struct avro_type *type = NULL;
    /* Ours goes first: it has bounded the schema before avro-c sees it. */
    if (avro_schema_read(avsc, arena, &type, ret_error) != ERROR_OK ||
        !avro_c_agrees(avsc, ret_error))
        return ERROR_REJECT;
    *ret_type = type;
    return ERROR_OK;
}
