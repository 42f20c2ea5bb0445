/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to structs. See json_codec.h.
 *
 * The walk follows the table, not the input: its depth and its number of elements are the table's.
 * Everything that comes from the input is checked before it is stored. */
#include "schemas/json/json_codec.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/numbers.h"
#include "base/rfc3339.h"
#include "base/suggest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { PATH_SIZE = 256, FIELDS_MAX = 32, LIST_SIZE = 256 };
/* Below this, 15 significant digits hold every decimal of our scale, and a double holds those. */
#define DECIMAL_NUMBER_MAX 1e11
/* Up to this, a double holds every integer. */
#define EXACT_REAL_MAX 9007199254740992.0

/* A value and its path: the input itself (no parent), a member of an object, or (no name) an
 * element of a list. */
struct json_place {
    const struct json_place *parent;
    const char *name;
    uint32_t index;
    const json_t *value; /* NULL: left out */
    unsigned flags;
    struct arena *arena;
    struct error *error;
};

static struct json_place member_of(const struct json_place *at, const char *name)
{
    const json_t *value = json_object_get(at->value, name);
    return (struct json_place){at, name, 0, value, at->flags, at->arena, at->error};
}

static struct json_place element_of(const struct json_place *at, uint32_t index)
{
    const json_t *value = json_array_get(at->value, index);
    return (struct json_place){at, NULL, index, value, at->flags, at->arena, at->error};
}

/* ---- errors ---- */

static size_t format_path(const struct json_place *at, char *ret_path, size_t size)
{
    int added = 0;
    size_t used = at->parent != NULL ? format_path(at->parent, ret_path, size) : 0;
    if (at->name != NULL)
        added = snprintf(ret_path + used, size - used, "%s%.60s", used > 0 ? "." : "", at->name);
    else if (at->parent != NULL)
        added = snprintf(ret_path + used, size - used, "[%u]", at->index);
    used += (size_t)added;
    return used < size ? used : size - 1;
}

static bool expected(const struct json_place *at, const char *what)
{
    char path[PATH_SIZE] = "";
    format_path(at, path, sizeof(path));
    error_set(at->error, CODE_BAD_FIELD, "%s%sexpected %s", path, at->parent != NULL ? ": " : "",
              what);
    return false;
}

static bool over_limit(const struct json_place *at, const char *verb, size_t size, const char *unit,
                       uint32_t limit)
{
    char path[PATH_SIZE] = "";
    format_path(at, path, sizeof(path));
    error_set(at->error, CODE_BAD_FIELD, "%s %s %zu %s; the limit is %u", path, verb, size, unit,
              limit);
    return false;
}

static bool unknown_field(const struct json_place *at, const char *const known[], uint32_t count)
{
    char path[PATH_SIZE] = "";
    const char *nearest = suggest_string(at->name, known, count);
    format_path(at, path, sizeof(path));
    if (nearest != NULL)
        error_set(at->error, CODE_UNKNOWN_FIELD, "unknown field \"%s\": did you mean \"%s\"?", path,
                  nearest);
    else
        error_set(at->error, CODE_UNKNOWN_FIELD, "unknown field \"%s\"", path);
    return false;
}

/* ---- single values ---- */

/* Empty when it is not a string. */
static struct text string_of(const struct json_place *at)
{
    return (struct text){json_string_value(at->value), (uint32_t)json_string_length(at->value)};
}

static bool decode_text(const struct json_place *at, uint32_t limit, struct text *ret_text)
{
    struct text text = string_of(at);
    if (!json_is_string(at->value))
        return expected(at, "a text");
    if (text.size > limit && (at->flags & JSON_CODEC_ANY_SIZE) == 0)
        return over_limit(at, "is", text.size, "bytes", limit);
    *ret_text = arena_text(at->arena, text);
    return true;
}

/* An integer, however it is written: 2, 2.0 and 2e0 are the same number, and some programs write
 * all their numbers with a point. */
static bool integer_of(const json_t *value, int64_t *ret_number)
{
    double real = json_real_value(value);
    if (json_is_real(value) && fabs(real) <= EXACT_REAL_MAX && (double)(int64_t)real == real) {
        *ret_number = (int64_t)real;
        return true;
    }
    *ret_number = json_integer_value(value);
    return json_is_integer(value);
}

static bool decode_integer(const struct json_place *at, int64_t min, int64_t max, int64_t *ret)
{
    char what[80];
    int64_t number;
    if (integer_of(at->value, &number) && number >= min && number <= max) {
        *ret = number;
        return true;
    }
    snprintf(what, sizeof(what), "an integer from %lld to %lld", (long long)min, (long long)max);
    return expected(at, max < INT64_MAX ? what : min == 0 ? "an integer from 0" : "an integer");
}

static bool decode_time(const struct json_place *at, int64_t *ret_ms)
{
    if (json_is_string(at->value) && rfc3339_parse(string_of(at), ret_ms))
        return true;
    return expected(at, "a time, as \"2010-12-01T08:26:00Z\"");
}

static bool decode_u32(const struct json_place *at, uint32_t limit, uint32_t *ret_number)
{
    int64_t number;
    if (!decode_integer(at, 0, limit, &number))
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static bool decode_bool(const struct json_place *at, bool *ret_flag)
{
    if (!json_is_boolean(at->value))
        return expected(at, "true or false");
    *ret_flag = json_is_true(at->value);
    return true;
}

static bool decode_enum(const struct json_place *at, const struct enum_names *names,
                        uint32_t *ret_value)
{
    char list[LIST_SIZE];
    if (json_is_string(at->value) && enum_names_find(names, string_of(at), ret_value))
        return true;
    enum_names_list(names, list, sizeof(list));
    return expected(at, list);
}

static bool decode_decimal(const struct json_place *at, struct decimal *ret_decimal)
{
    char digits[40];
    struct text text = {digits, 0};
    int size = 0;
    if (json_is_integer(at->value))
        size = snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(at->value));
    else if (json_is_real(at->value) && fabs(json_real_value(at->value)) >= DECIMAL_NUMBER_MAX)
        return expected(at, "a text, as \"2.55\": this number is too large to be exact");
    else if (json_is_real(at->value))
        size = snprintf(digits, sizeof(digits), "%.15g", json_real_value(at->value));
    text.size = (uint32_t)size;
    if (decimal_parse(json_is_string(at->value) ? string_of(at) : text, ret_decimal))
        return true;
    return expected(at, "a decimal number of at most 4 decimals and 18 digits, as \"2.55\"");
}

static bool decode_bytes(const struct json_place *at, uint32_t limit, struct text *ret_bytes)
{
    uint32_t size = 0;
    struct text text = string_of(at);
    if (!json_is_string(at->value))
        return expected(at, "bytes as base64url without padding");
    if (text.size > BASE64_SIZE((size_t)limit))
        return over_limit(at, "is", text.size / 4 * 3, "bytes", limit);
    char *bytes = arena_bytes(at->arena, text.size + 1ull);
    if (!base64_decode(text, bytes, text.size, &size))
        return expected(at, "bytes as base64url without padding");
    *ret_bytes = (struct text){bytes, size};
    return true;
}

/* Two digits a byte. `dashed`: as a UUID is written. */
static bool decode_hex(const struct json_place *at, bool dashed, uint8_t ret_bytes[16])
{
    uint8_t bytes[16];
    struct text text = string_of(at);
    bool right = text.size == (dashed ? 36 : 32);
    for (uint32_t i = 0, byte = 0; right && byte < 16; byte++) {
        if (dashed && (byte == 4 || byte == 6 || byte == 8 || byte == 10))
            right = text.data[i++] == '-';
        int high = number_hex_digit(text.data[i]);
        int low = number_hex_digit(text.data[i + 1]);
        right = right && high >= 0 && low >= 0;
        bytes[byte] = (uint8_t)(right ? 16 * high + low : 0);
        i += 2;
    }
    if (!right)
        return expected(at, dashed ? "a UUID of 32 hexadecimal digits with dashes"
                                   : "32 hexadecimal digits");
    memcpy(ret_bytes, bytes, sizeof(bytes));
    return true;
}

/* ---- lists ---- */

static bool decode_fields(const struct json_place *at, const struct record_binding *binding,
                          const char *const only[], void *record);

/* New in the arena, zeros; NULL: over the limit. */
static void *new_list(const struct json_place *at, uint32_t limit, size_t element_size,
                      uint32_t *ret_count)
{
    bool is_object = json_is_object(at->value);
    size_t count = is_object ? json_object_size(at->value) : json_array_size(at->value);
    if (count > limit) {
        over_limit(at, "has", count, "elements", limit);
        return NULL;
    }
    *ret_count = (uint32_t)count;
    return arena_calloc(at->arena, count + 1, element_size);
}

static bool decode_array(const struct json_place *at, const struct field_binding *field,
                         void *ret_elements, uint32_t *ret_count)
{
    if (!json_is_array(at->value))
        return expected(at, "a list: [...]");
    uint8_t *elements = new_list(at, field->limit, field->sub->size, ret_count);
    if (elements == NULL)
        return false;
    memcpy(ret_elements, &elements, sizeof(elements));
    for (uint32_t i = 0; i < *ret_count; i++, elements += field->sub->size) {
        struct json_place element = element_of(at, i);
        if (!decode_fields(&element, field->sub, NULL, elements))
            return false;
    }
    return true;
}

static bool decode_attributes(const struct json_place *at, uint32_t limit,
                              struct attribute **ret_attributes, uint32_t *ret_count)
{
    const char *name;
    json_t *value;
    if (!json_is_object(at->value))
        return expected(at, "an object of texts: {\"name\": \"value\"}");
    struct attribute *attribute = new_list(at, limit, sizeof(*attribute), ret_count);
    if (attribute == NULL)
        return false;
    *ret_attributes = attribute;
    json_object_foreach((json_t *)at->value, name, value) {
        struct json_place member = member_of(at, name);
        attribute->name = arena_text(at->arena, text_of(name));
        if (attribute->name.size > ATTRIBUTE_NAME_BYTES_MAX &&
            (at->flags & JSON_CODEC_ANY_SIZE) == 0)
            return over_limit(&member, "has a name of", attribute->name.size, "bytes",
                              ATTRIBUTE_NAME_BYTES_MAX);
        if (!decode_text(&member, ATTRIBUTE_VALUE_BYTES_MAX, &attribute->value))
            return false;
        attribute++;
    }
    return true;
}

static bool decode_counters(const struct json_place *at, uint32_t limit, uint32_t *ret_counters)
{
    size_t count = json_array_size(at->value);
    if (!json_is_array(at->value))
        return expected(at, "a list: [...]");
    if (count > limit)
        return over_limit(at, "has", count, "elements", limit);
    for (uint32_t i = 0; i < count; i++) {
        struct json_place element = element_of(at, i);
        if (!decode_u32(&element, INT32_MAX, &ret_counters[i]))
            return false;
    }
    return true;
}

/* ---- records ---- */

static bool decode_optional(const struct json_place *at, const struct record_binding *binding,
                            void *ret_record, bool *ret_given)
{
    *ret_given = !json_is_null(at->value);
    return !*ret_given || decode_fields(at, binding, NULL, ret_record);
}

static bool decode_i32(const struct json_place *at, int32_t *ret_number)
{
    int64_t number;
    if (!decode_integer(at, INT32_MIN, INT32_MAX, &number))
        return false;
    *ret_number = (int32_t)number;
    return true;
}

static bool decode_field(const struct json_place *at, const struct field_binding *field,
                         uint8_t *record)
{
    if (field->part != NULL)
        record = binding_part_made(record, field->part->offset, field->part->size, at->arena);
    void *member = record + field->offset;
    void *count = record + field->count;
    switch (field->kind) {
    case FIELD_TEXT:
        return decode_text(at, field->limit, member);
    case FIELD_BOOL:
        return decode_bool(at, member);
    case FIELD_U32:
        return decode_u32(at, field->limit, member);
    case FIELD_I64:
        return field->is_time ? decode_time(at, member)
                              : decode_integer(at, INT64_MIN, INT64_MAX, member);
    case FIELD_ENUM:
        return decode_enum(at, field->symbols, member);
    case FIELD_DECIMAL:
        return decode_decimal(at, member);
    case FIELD_ARRAY:
        return decode_array(at, field, member, count);
    case FIELD_ATTRIBUTES:
        return decode_attributes(at, field->limit, member, count);
    case FIELD_BYTES:
        return decode_bytes(at, field->limit, member);
    case FIELD_I32:
        return decode_i32(at, member);
    case FIELD_U64: /* a long of Avro */
        return decode_integer(at, 0, INT64_MAX, member);
    case FIELD_UUID:
        return decode_hex(at, true, member);
    case FIELD_HASH:
        return decode_hex(at, false, member);
    case FIELD_RECORD:
        return decode_fields(at, field->sub, NULL, member);
    case FIELD_POINTER:
        return decode_fields(at, field->sub, NULL,
                             binding_part_made(record, field->offset, field->sub->size, at->arena));
    case FIELD_OPTIONAL:
        return decode_optional(at, field->sub, member, count);
    case FIELD_COUNTERS:
        return decode_counters(at, field->limit, member);
    case FIELD_EVENTS: /* only owners write them */
    case FIELD_KIND_COUNT:
        break;
    }
    assert(false);
    return false;
}

static void set_default(const struct field_binding *field, uint8_t *record)
{
    int64_t wide = field->fallback;
    if (field->part != NULL)
        return; /* zeros, as long as it is not made */
    if (field->kind == FIELD_I64)
        memcpy(record + field->offset, &wide, sizeof(wide));
    else if (field->kind == FIELD_ENUM)
        memcpy(record + field->offset, &field->fallback, sizeof(field->fallback));
}

/* All fields of the table, or those of `only`. Returns their number. */
static uint32_t known_fields(const struct record_binding *binding, const char *const only[],
                             const char *ret_names[FIELDS_MAX])
{
    uint32_t count = 0;
    assert(binding->count <= FIELDS_MAX);
    for (; only != NULL ? only[count] != NULL : count < binding->count; count++)
        ret_names[count] = only != NULL ? only[count] : binding->fields[count].name;
    assert(count <= binding->count);
    return count;
}

static bool is_known(const char *name, const char *const known[], uint32_t count)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++)
        found = strcmp(name, known[i]) == 0;
    return found;
}

static bool decode_fields(const struct json_place *at, const struct record_binding *binding,
                          const char *const only[], void *record)
{
    const char *name;
    json_t *value;
    const char *known[FIELDS_MAX];
    uint32_t count = known_fields(binding, only, known);
    if (!json_is_object(at->value))
        return expected(at, "an object: {...}");
    json_object_foreach((json_t *)at->value, name, value) {
        struct json_place member = member_of(at, name);
        if (!is_known(name, known, count))
            return unknown_field(&member, known, count);
    }
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct field_binding *field = &binding->fields[i];
        struct json_place member = member_of(at, field->name);
        bool needed =
            field->required && field->kind != FIELD_TEXT && is_known(field->name, known, count);
        if (member.value == NULL && !needed)
            set_default(field, record);
        else if (!decode_field(&member, field, record))
            return false;
    }
    return true;
}

enum error_class json_codec_decode(const struct record_binding *binding, const char *const only[],
                                   unsigned flags, const json_t *json, struct arena *arena,
                                   void *ret_record, struct error *ret_error)
{
    struct json_place top = {.value = json, .flags = flags, .arena = arena, .error = ret_error};
    void *record = arena_calloc(arena, 1, binding->size);
    if (!decode_fields(&top, binding, only, record))
        return ERROR_REJECT;
    memcpy(ret_record, record, binding->size);
    return ERROR_OK;
}

enum error_class json_codec_parse(struct text json, json_t **ret_object, struct error *ret_error)
{
    json_error_t at;
    json_t *object =
        json_loadb(json.data != NULL ? json.data : "", json.size, JSON_REJECT_DUPLICATES, &at);
    if (object == NULL)
        return error_set(ret_error, CODE_BAD_JSON, "not JSON: %.150s at line %d", at.text, at.line);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(ret_error, CODE_BAD_JSON, "expected a JSON object: {...}");
    }
    *ret_object = object;
    return ERROR_OK;
}
