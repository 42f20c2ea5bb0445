/* SPDX-License-Identifier: Apache-2.0 */
/* Structs to JSON. See json_codec.h. */
#include "schemas/json/json_codec.h"

#include "base/base64.h"
#include "base/decimal.h"
#include "base/heap_arena.h"
#include "base/rfc3339.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void json_codec_put(json_t *object, const char *name, json_t *value)
{
    int failed = json_object_set_new(object, name, value);
    assert(failed == 0); /* a name that is not UTF-8, or a value that was not made */
    (void)failed;
}

/* In a text that is not UTF-8, the meaning of bytes beyond ASCII is unknown. */
static json_t *ascii_text(struct text text)
{
    char *bytes = malloc(text.size);
    assert(bytes != NULL);
    for (uint32_t i = 0; i < text.size; i++)
        bytes[i] = (char)((uint8_t)text.data[i] < 0x80 ? text.data[i] : '?');
    json_t *string = json_stringn(bytes, text.size);
    free(bytes);
    return string;
}

json_t *json_codec_text(struct text text)
{
    json_t *string = json_stringn(text.size > 0 ? text.data : "", text.size);
    return string != NULL ? string : ascii_text(text);
}

json_t *json_codec_text_or_null(struct text text)
{
    return text_empty(text) ? json_null() : json_codec_text(text);
}

static json_t *marked(struct text json)
{
    char *bytes = malloc(json.size + 1ull);
    assert(bytes != NULL);
    bytes[0] = JSON_MARK;
    memcpy(bytes + 1, json.data, json.size);
    json_t *string = json_stringn_nocheck(bytes, json.size + 1ull);
    assert(string != NULL);
    free(bytes);
    return string;
}

json_t *json_codec_json(struct text json)
{
    struct heap_arena heap;
    struct text canonical = {0};
    if (text_empty(json))
        return json_null();
    heap_arena_init(&heap, 4096); /* taken only if the text is not canonical already */
    bool valid = json_canonical(json, UINT32_MAX, &heap.arena, &canonical, NULL);
    json_t *string = valid ? marked(canonical) : json_codec_text(json);
    heap_arena_deinit(&heap);
    return string;
}

static json_t *encode_bytes(struct text bytes)
{
    char *text = malloc(BASE64_SIZE((size_t)bytes.size) + 1);
    assert(text != NULL);
    base64_encode(bytes, text);
    json_t *string = json_string(text);
    free(text);
    return string;
}

/* `dashed`: as a UUID is written. */
static json_t *encode_hex(const uint8_t bytes[16], bool dashed)
{
    char text[40];
    size_t size = 0;
    for (size_t i = 0; i < 16; i++) {
        bool dash = dashed && (i == 4 || i == 6 || i == 8 || i == 10);
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size, "%s%02x", dash ? "-" : "", bytes[i]);
    }
    return json_stringn(text, size);
}

json_t *json_codec_uuid(const struct uuid *uuid)
{
    return encode_hex(uuid->bytes, true);
}

json_t *json_codec_time(int64_t ms)
{
    char text[RFC3339_TEXT_SIZE];
    rfc3339_format(ms, text);
    return json_string(text);
}

json_t *json_codec_time_or_null(int64_t ms)
{
    return ms == 0 ? json_null() : json_codec_time(ms);
}

static json_t *encode_decimal(const struct decimal *decimal)
{
    char text[DECIMAL_TEXT_MAX];
    size_t size = decimal_format(*decimal, text);
    return json_stringn(text, size);
}

static json_t *encode_counters(const uint32_t *counters, uint32_t count)
{
    json_t *array = json_array();
    while (count > 0 && counters[count - 1] == 0)
        count--;
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(counters[i]));
    return array;
}

static json_t *encode_texts(const struct text_list *list)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_codec_text(list->items[i]));
    return array;
}

static json_t *encode_attributes(const struct attribute *attributes, uint32_t count)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < count; i++) {
        json_t *name = json_codec_text(attributes[i].name);
        json_codec_put(object, json_string_value(name), json_codec_text(attributes[i].value));
        json_decref(name);
    }
    return object;
}

static json_t *encode_events(const struct event *events, uint32_t count, unsigned flags)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct record_binding *binding = event_binding(events[i].kind);
        assert(binding != NULL);
        json_t *object = json_object();
        json_codec_put(object, "kind", json_string(event_kind_name(events[i].kind)));
        json_codec_put(object, "data",
                       json_codec_encode(binding, &events[i].order_accepted, flags));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *encode_array(const struct record_binding *binding, const uint8_t *elements,
                            uint32_t count, unsigned flags)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(
            array, json_codec_encode(binding, elements + (size_t)i * binding->size, flags));
    return array;
}

static json_t *encode_number(const struct field_binding *field, const void *member, unsigned flags)
{
    int64_t wide = 0;
    uint32_t narrow = 0;
    if (field->size == sizeof(wide)) {
        memcpy(&wide, member, sizeof(wide));
    } else {
        assert(field->size == sizeof(narrow));
        memcpy(&narrow, member, sizeof(narrow));
        wide = field->kind == FIELD_I32 ? (int64_t)(int32_t)narrow : (int64_t)narrow;
    }
    assert(field->kind != FIELD_U64 || wide >= 0);
    if (!field->is_time)
        return json_integer(wide);
    return (flags & JSON_CODEC_NULLS) != 0 ? json_codec_time_or_null(wide) : json_codec_time(wide);
}

static json_t *encode_enum(const struct field_binding *field, const void *member)
{
    uint32_t value;
    assert(field->size == sizeof(value));
    memcpy(&value, member, sizeof(value));
    return json_string(enum_name(field->symbols, value));
}

static json_t *encode_field(const struct field_binding *field, const uint8_t *record,
                            unsigned flags)
{
    if (field->part != NULL)
        record = binding_part(record, field->part->offset, field->part->size);
    const void *member = record + field->offset;
    const void *pointed = NULL; /* what a member that is a pointer points to */
    uint32_t count = 0;
    if (field->kind == FIELD_POINTER || field->kind == FIELD_ARRAY ||
        field->kind == FIELD_ATTRIBUTES || field->kind == FIELD_EVENTS)
        memcpy(&pointed, member, sizeof(pointed));
    if (field->kind == FIELD_ARRAY || field->kind == FIELD_ATTRIBUTES ||
        field->kind == FIELD_EVENTS)
        memcpy(&count, record + field->count, sizeof(count));
    switch (field->kind) {
    case FIELD_TEXT:
        if (text_empty(*(const struct text *)member) && (flags & JSON_CODEC_NULLS) != 0)
            return json_null();
        return json_codec_text(*(const struct text *)member);
    case FIELD_JSON:
        return json_codec_json(*(const struct text *)member);
    case FIELD_BYTES:
        return encode_bytes(*(const struct text *)member);
    case FIELD_BOOL:
        return json_boolean(*(const bool *)member);
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_I64:
    case FIELD_U64:
        return encode_number(field, member, flags);
    case FIELD_ENUM:
        return encode_enum(field, member);
    case FIELD_UUID:
        return json_codec_uuid(member);
    case FIELD_HASH:
        return encode_hex(member, false);
    case FIELD_DECIMAL:
        return encode_decimal(member);
    case FIELD_RECORD:
        return json_codec_encode(field->sub, member, flags);
    case FIELD_POINTER:
        return pointed != NULL ? json_codec_encode(field->sub, pointed, flags) : json_null();
    case FIELD_OPTIONAL:
        return *(const bool *)(record + field->count) ? json_codec_encode(field->sub, member, flags)
                                                      : json_null();
    case FIELD_ARRAY:
        return encode_array(field->sub, pointed, count, flags);
    case FIELD_TEXTS:
        return encode_texts(member);
    case FIELD_COUNTERS:
        return encode_counters(member, field->limit);
    case FIELD_ATTRIBUTES:
        return encode_attributes(pointed, count);
    case FIELD_EVENTS:
        return encode_events(pointed, count, flags);
    case FIELD_KIND_COUNT:
        break;
    }
    assert(false);
    return NULL;
}

static const struct field_binding *find_field(const struct record_binding *binding,
                                              const char *name)
{
    uint32_t i = 0;
    while (i < binding->count && strcmp(binding->fields[i].name, name) != 0)
        i++;
    assert(i < binding->count);
    return &binding->fields[i];
}

void json_codec_add(json_t *object, const struct record_binding *binding, const void *record,
                    const char *const only[], unsigned flags)
{
    for (uint32_t i = 0; only != NULL ? only[i] != NULL : i < binding->count; i++) {
        const struct field_binding *field =
            only != NULL ? find_field(binding, only[i]) : &binding->fields[i];
        json_codec_put(object, field->name, encode_field(field, record, flags));
    }
}

json_t *json_codec_encode(const struct record_binding *binding, const void *record, unsigned flags)
{
    json_t *object = json_object();
    json_codec_add(object, binding, record, NULL, flags);
    return object;
}
