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
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

enum { PATH_SIZE = 256, NAME_SHOWN_MAX = 60, FIELDS_MAX = 32, LIST_SIZE = 256 };
_Static_assert(FIELDS_MAX <= 64, "a set of fields fits a uint64_t");

/* A value and its path: the input itself (no parent), a member of an object, or (a name without
 * data) an element of a list. */
struct json_place {
    const struct json_place *parent;
    struct text name; /* escaped */
    uint32_t index;
    struct json_value value; /* none: left out */
    enum json_kind kind;
    unsigned flags;
    struct arena *arena;
    struct error *error;
};

static struct json_place place_within(const struct json_place *at, struct text name, uint32_t index,
                                      struct json_value value)
{
    return (struct json_place){.parent = at,
                               .name = name,
                               .index = index,
                               .value = value,
                               .kind = json_value_kind(value),
                               .flags = at->flags,
                               .arena = at->arena,
                               .error = at->error};
}

/* ---- errors ---- */

static size_t format_path(const struct json_place *at, char *ret_path, size_t size)
{
    int added = 0;
    size_t used = at->parent != NULL ? format_path(at->parent, ret_path, size) : 0;
    struct text name = utf8_cut(at->name, NAME_SHOWN_MAX);
    if (at->name.data != NULL)
        added =
            snprintf(ret_path + used, size - used, "%s%.*s", used > 0 ? "." : "", TEXT_ARG(name));
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

static bool unknown_field(const struct json_place *at, const struct text known[], uint32_t count)
{
    char path[PATH_SIZE] = "";
    const struct text *nearest = suggest_text(at->name, known, count);
    format_path(at, path, sizeof(path));
    if (nearest != NULL)
        error_set(at->error, CODE_UNKNOWN_FIELD, "unknown field \"%s\": did you mean \"%.*s\"?",
                  path, TEXT_ARG(*nearest));
    else
        error_set(at->error, CODE_UNKNOWN_FIELD, "unknown field \"%s\"", path);
    return false;
}

/* ---- single values ---- */

/* Of a text, unescaped; it may borrow the input. Has no data when it is not a text. */
static struct text string_of(const struct json_place *at)
{
    return json_unescape(json_value_escaped(at->value, NULL), at->arena);
}

/* Within its limit, unless the caller checks that. */
static bool check_size(const struct json_place *at, uint32_t size, uint32_t limit)
{
    if (size <= limit || (at->flags & JSON_CODEC_ANY_SIZE) != 0)
        return true;
    return over_limit(at, "is", size, "bytes", limit);
}

static bool decode_text(const struct json_place *at, uint32_t limit, struct text *ret_text)
{
    struct text text = string_of(at);
    if (at->kind != JSON_KIND_TEXT)
        return expected(at, "a text");
    if (!check_size(at, text.size, limit))
        return false;
    *ret_text = arena_text(at->arena, text);
    return true;
}

/* It may be as deep as all data may be, wherever it stands in the input. */
static bool decode_json(const struct json_place *at, uint32_t limit, struct text *ret_json)
{
    struct json_problem problem;
    char path[PATH_SIZE] = "";
    char line[JSON_PROBLEM_SIZE];
    struct text json = json_value_text(at->value, NULL);
    if (at->kind == JSON_KIND_NULL)
        return true;
    if (at->kind == JSON_KIND_NONE)
        return expected(at, "a JSON value");
    if (!check_size(at, json.size, limit))
        return false;
    if (json_canonical(json, UINT32_MAX, at->arena, &json, &problem)) {
        *ret_json = arena_text(at->arena, json);
        return true;
    }
    format_path(at, path, sizeof(path));
    json_problem_format(&problem, "", line);
    error_set(at->error, CODE_BAD_FIELD, "%s%s", path, line);
    return false;
}

static bool decode_integer(const struct json_place *at, int64_t min, int64_t max, int64_t *ret)
{
    char what[80];
    int64_t number;
    if (json_value_integer(at->value, &number) && number >= min && number <= max) {
        *ret = number;
        return true;
    }
    snprintf(what, sizeof(what), "an integer from %lld to %lld", (long long)min, (long long)max);
    return expected(at, max < INT64_MAX ? what : min == 0 ? "an integer from 0" : "an integer");
}

static bool decode_time(const struct json_place *at, int64_t *ret_ms)
{
    if (at->kind == JSON_KIND_TEXT && rfc3339_parse(string_of(at), ret_ms))
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
    if (at->kind != JSON_KIND_BOOLEAN)
        return expected(at, "true or false");
    *ret_flag = json_value_boolean(at->value);
    return true;
}

static bool decode_enum(const struct json_place *at, const struct enum_names *names,
                        uint32_t *ret_value)
{
    char list[LIST_SIZE];
    if (at->kind == JSON_KIND_TEXT && enum_names_find(names, string_of(at), ret_value))
        return true;
    enum_names_list(names, list, sizeof(list));
    return expected(at, list);
}

static bool decode_decimal(const struct json_place *at, struct decimal *ret_decimal)
{
    bool number = at->kind == JSON_KIND_NUMBER;
    if (decimal_parse(number ? json_value_text(at->value, NULL) : string_of(at), ret_decimal))
        return true;
    return expected(at, "a decimal number of at most 4 decimals and 18 digits, as \"2.55\"");
}

static bool decode_bytes(const struct json_place *at, uint32_t limit, struct text *ret_bytes)
{
    uint32_t size = 0;
    struct text text = string_of(at);
    if (at->kind != JSON_KIND_TEXT)
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
    uint64_t count = json_value_count(at->value, NULL);
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
    struct json_items items;
    uint32_t index = 0;
    if (at->kind != JSON_KIND_LIST)
        return expected(at, "a list: [...]");
    uint8_t *elements = new_list(at, field->limit, field->sub->size, ret_count);
    if (elements == NULL)
        return false;
    memcpy(ret_elements, &elements, sizeof(elements));
    json_items_begin(&items, at->value);
    for (; json_items_next(&items, NULL); index++, elements += field->sub->size) {
        struct json_place element = place_within(at, (struct text){0}, index, items.value);
        if (!decode_fields(&element, field->sub, NULL, elements))
            return false;
    }
    return true;
}

static bool decode_attributes(const struct json_place *at, uint32_t limit,
                              struct attribute **ret_attributes, uint32_t *ret_count)
{
    struct json_items items;
    if (at->kind != JSON_KIND_MAP)
        return expected(at, "an object of texts: {\"name\": \"value\"}");
    struct attribute *attribute = new_list(at, limit, sizeof(*attribute), ret_count);
    if (attribute == NULL)
        return false;
    *ret_attributes = attribute;
    json_items_begin(&items, at->value);
    for (; json_items_next(&items, NULL); attribute++) {
        struct json_place member = place_within(at, items.name, 0, items.value);
        attribute->name = arena_text(at->arena, json_unescape(items.name, at->arena));
        if (attribute->name.size > ATTRIBUTE_NAME_BYTES_MAX &&
            (at->flags & JSON_CODEC_ANY_SIZE) == 0)
            return over_limit(&member, "has a name of", attribute->name.size, "bytes",
                              ATTRIBUTE_NAME_BYTES_MAX);
        if (!decode_text(&member, ATTRIBUTE_VALUE_BYTES_MAX, &attribute->value))
            return false;
    }
    return true;
}

static bool decode_texts(const struct json_place *at, uint32_t limit, struct text_list *ret_list)
{
    struct json_items items;
    uint32_t count = 0;
    if (at->kind != JSON_KIND_LIST)
        return expected(at, "a list: [...]");
    struct text *texts = new_list(at, limit, sizeof(*texts), &count);
    if (texts == NULL)
        return false;
    json_items_begin(&items, at->value);
    for (uint32_t i = 0; json_items_next(&items, NULL); i++) {
        struct json_place element = place_within(at, (struct text){0}, i, items.value);
        if (!decode_text(&element, TEXT_ITEM_BYTES_MAX, &texts[i]))
            return false;
    }
    *ret_list = (struct text_list){texts, count};
    return true;
}

static bool decode_counters(const struct json_place *at, uint32_t limit, uint32_t *ret_counters)
{
    struct json_items items;
    uint64_t count = json_value_count(at->value, NULL);
    if (at->kind != JSON_KIND_LIST)
        return expected(at, "a list: [...]");
    if (count > limit)
        return over_limit(at, "has", count, "elements", limit);
    json_items_begin(&items, at->value);
    for (uint32_t i = 0; json_items_next(&items, NULL); i++) {
        struct json_place element = place_within(at, (struct text){0}, i, items.value);
        if (!decode_u32(&element, INT32_MAX, &ret_counters[i]))
            return false;
    }
    return true;
}

/* ---- records ---- */

static bool decode_optional(const struct json_place *at, const struct record_binding *binding,
                            void *ret_record, bool *ret_given)
{
    *ret_given = at->kind != JSON_KIND_NULL;
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
    case FIELD_JSON:
        return decode_json(at, field->limit, member);
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
        return at->kind == JSON_KIND_NULL || decode_hex(at, false, member);
    case FIELD_RECORD:
        return decode_fields(at, field->sub, NULL, member);
    case FIELD_POINTER:
        if (at->kind == JSON_KIND_NULL && !field->required)
            return true;
        return decode_fields(at, field->sub, NULL,
                             binding_part_made(record, field->offset, field->sub->size, at->arena));
    case FIELD_OPTIONAL:
        return decode_optional(at, field->sub, member, count);
    case FIELD_TEXTS:
        return decode_texts(at, field->limit, member);
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

/* Index of the field in the table, or -1: it has none, or it is not one of `only`. */
static int find_field(const struct record_binding *binding, const char *const only[],
                      struct text name)
{
    bool meant = only == NULL;
    for (uint32_t i = 0; only != NULL && only[i] != NULL && !meant; i++)
        meant = json_escaped_equal(name, text_of(only[i]));
    for (uint32_t i = 0; i < binding->count && meant; i++)
        if (json_escaped_equal(name, text_of(binding->fields[i].name)))
            return (int)i;
    return -1;
}

/* The member has no field: tells which it may stand for. */
static bool refuse_member(const struct json_place *member, const struct record_binding *binding,
                          const char *const only[])
{
    struct text known[FIELDS_MAX];
    uint32_t count = 0;
    for (; only != NULL ? only[count] != NULL : count < binding->count; count++)
        known[count] = text_of(only != NULL ? only[count] : binding->fields[count].name);
    assert(count <= binding->count);
    return unknown_field(member, known, count);
}

/* Of a field that is left out: its default, or it is missing. Of texts, the check of values tells
 * that. */
static bool leave_out(const struct json_place *at, const struct record_binding *binding,
                      uint32_t index, const char *const only[], void *record)
{
    const struct field_binding *field = &binding->fields[index];
    struct json_place member = place_within(at, text_of(field->name), 0, (struct json_value){0});
    bool needed =
        field->required && field->kind != FIELD_TEXT && find_field(binding, only, member.name) >= 0;
    if (needed)
        return decode_field(&member, field, record);
    set_default(field, record);
    return true;
}

static bool decode_fields(const struct json_place *at, const struct record_binding *binding,
                          const char *const only[], void *record)
{
    struct json_items items;
    uint64_t given = 0;
    assert(binding->count <= FIELDS_MAX);
    if (at->kind != JSON_KIND_MAP)
        return expected(at, "an object: {...}");
    json_items_begin(&items, at->value);
    while (json_items_next(&items, NULL)) {
        struct json_place member = place_within(at, items.name, 0, items.value);
        int index = find_field(binding, only, items.name);
        if (index < 0)
            return refuse_member(&member, binding, only);
        given |= UINT64_C(1) << index;
        if (!decode_field(&member, &binding->fields[index], record))
            return false;
    }
    for (uint32_t i = 0; i < binding->count; i++)
        if ((given >> i & 1) == 0 && !leave_out(at, binding, i, only, record))
            return false;
    return true;
}

enum error_class json_codec_decode(const struct record_binding *binding, const char *const only[],
                                   unsigned flags, struct json_value json, struct arena *arena,
                                   void *ret_record, struct error *ret_error)
{
    struct json_place top = {.value = json,
                             .kind = json_value_kind(json),
                             .flags = flags,
                             .arena = arena,
                             .error = ret_error};
    void *record = arena_calloc(arena, 1, binding->size);
    if (!decode_fields(&top, binding, only, record))
        return ERROR_REJECT;
    memcpy(ret_record, record, binding->size);
    return ERROR_OK;
}

enum error_class json_codec_parse(struct text json, const char *what, struct arena *arena,
                                  struct json_value *ret_object, struct error *ret_error)
{
    struct text text = {0};
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    if (!json_envelope(json, arena, &text, &problem)) {
        json_problem_format(&problem, what, line);
        return error_set(ret_error, CODE_BAD_JSON, "not JSON: %s", line);
    }
    if (json_value_kind(json_value_of(text)) != JSON_KIND_MAP)
        return error_set(ret_error, CODE_BAD_JSON, "expected a JSON object: {...}");
    *ret_object = json_value_of(text);
    return ERROR_OK;
}
