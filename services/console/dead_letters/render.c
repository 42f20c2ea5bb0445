/* SPDX-License-Identifier: Apache-2.0 */
/* See render.h. */
#include "services/console/dead_letters/render.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- resolutions ---- */

json_t *render_dead_letter_resolution(const struct dead_letter_resolution *resolution)
{
    if (resolution == NULL)
        return json_null();
    json_t *object = json_object();
    bool replayed = resolution->kind == DEAD_LETTER_REPLAYED;
    json_codec_put(object, "kind", json_string(replayed ? "replayed" : "discarded"));
    json_codec_put(object, "by", json_codec_text_or_null(resolution->by));
    json_codec_put(object, "reason", json_codec_text_or_null(resolution->reason));
    json_codec_put(object, "at", json_codec_time_or_null(resolution->resolved_at));
    if (!replayed)
        return object;
    json_codec_put(object, "corrected", json_boolean(resolution->corrected));
    json_codec_put(object, "topic", json_codec_text_or_null(resolution->topic));
    json_codec_put(object, "partition",
                   resolution->replayed_partition < 0
                       ? json_null()
                       : json_integer(resolution->replayed_partition));
    json_codec_put(object, "offset",
                   resolution->replayed_offset < 0 ? json_null()
                                                   : json_integer(resolution->replayed_offset));
    return object;
}

/* ---- entries ---- */

static void put_place(json_t *object, int32_t partition, int64_t offset, int64_t appended_at)
{
    char id[48];
    snprintf(id, sizeof(id), "%" PRId32 ":%" PRId64, partition, offset);
    json_codec_put(object, "id", json_string(id));
    json_codec_put(object, "partition", json_integer(partition));
    json_codec_put(object, "offset", json_integer(offset));
    json_codec_put(object, "at", json_codec_time_or_null(appended_at));
}

static void put_origin(json_t *object, struct text topic, int32_t partition, int64_t offset)
{
    json_t *from = json_object();
    json_codec_put(from, "topic", json_codec_text_or_null(topic));
    json_codec_put(from, "partition", partition < 0 ? json_null() : json_integer(partition));
    json_codec_put(from, "offset", offset < 0 ? json_null() : json_integer(offset));
    json_codec_put(object, "from", from);
}

json_t *render_dead_letter_entry(const struct dead_letter_entry *entry,
                                 enum dead_letter_state state)
{
    json_t *object = json_object();
    put_place(object, entry->partition, entry->offset, entry->appended_at);
    put_origin(object, entry->topic, entry->from_partition, entry->from_offset);
    json_codec_put(object, "code", json_codec_text_or_null(entry->code));
    json_codec_put(object, "message", json_codec_text_or_null(entry->message));
    json_codec_put(object, "order_id", json_codec_text_or_null(entry->order_id));
    json_codec_put(object, "value_bytes", json_integer((json_int_t)entry->value_bytes));
    json_codec_put(object, "cut", json_boolean(entry->is_cut));
    json_codec_put(object, "state", json_string(dead_letter_state_name(state)));
    json_codec_put(object, "resolution", render_dead_letter_resolution(entry->resolution));
    return object;
}

/* ---- the whole ---- */

static json_t *hex_of(struct text bytes, uint32_t max)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t size = bytes.size < max ? bytes.size : max;
    char *text = malloc(2 * (size_t)size + 1);
    assert(text != NULL);
    for (uint32_t i = 0; i < size; i++) {
        text[2 * i] = digits[(uint8_t)bytes.data[i] >> 4];
        text[2 * i + 1] = digits[(uint8_t)bytes.data[i] & 15];
    }
    text[2 * size] = '\0';
    json_t *json = json_string(text);
    free(text);
    return json;
}

/* {"text"} or, if it is not UTF-8, {"hex"}; null: there is none. */
static void put_bytes(json_t *object, struct text bytes)
{
    bool text = utf8_valid(bytes);
    json_codec_put(object, "text", text ? json_codec_text(bytes) : json_null());
    if (!text)
        json_codec_put(object, "hex", hex_of(bytes, DEAD_LETTER_HEX_BYTES));
}

static json_t *key_of(struct text key)
{
    if (key.data == NULL)
        return json_null();
    json_t *object = json_object();
    put_bytes(object, key);
    return object;
}

static json_t *headers_of(const struct dead_letter_reading *reading)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < reading->header_count; i++) {
        json_t *object = json_object();
        json_codec_put(object, "name", json_codec_text(reading->headers[i].name));
        put_bytes(object, reading->headers[i].value);
        json_array_append_new(list, object);
    }
    return list;
}

/* Where the struct of the record's kind begins. */
static const void *struct_of(const struct record *record)
{
    return record_kind_is_command(record->kind) ? (const void *)&record->command.submit_order
                                                : (const void *)&record->claim;
}

/* What can be known of a value that cannot be decoded. */
static void put_undecodable(json_t *object, const struct error *error, struct text value,
                            struct schema_registry *registry, struct codec *codec,
                            struct arena *arena)
{
    uint64_t fingerprint;
    uint32_t id;
    char text[32];
    struct text order_id = {0};
    struct text reply_to = {0};
    json_t *why = json_object();
    json_codec_put(why, "code", json_string(error_name_of(error)));
    json_codec_put(why, "message", json_codec_text(text_of(error->message)));
    json_codec_put(object, "error", why);
    bool single_object = codec_peek(value, &fingerprint);
    if (!single_object && !registered_peek(value, &id))
        return;
    snprintf(text, sizeof(text), "%016" PRIx64, fingerprint);
    if (single_object)
        json_codec_put(object, "schema", json_string(text));
    schema_registry_read_sender(registry, codec, value, arena, &order_id, &reply_to);
    json_codec_put(object, "order_id", json_codec_text_or_null(order_id));
    json_codec_put(object, "reply_to", json_codec_text_or_null(reply_to));
}

static enum error_class decode(const struct dead_letter_whole *letter,
                               struct schema_registry *registry, struct codec *codec,
                               struct text value, struct arena *arena, struct record *ret_record,
                               struct error *ret_error)
{
    return letter->of_application
               ? schema_registry_decode(registry, codec, value, false, arena, ret_record, ret_error)
               : codec_decode(codec, value, false, arena, ret_record, ret_error);
}

static json_t *value_of(const struct dead_letter_whole *letter, struct schema_registry *registry,
                        struct codec *codec, struct arena *arena)
{
    uint32_t id;
    const struct dead_letter_reading *reading = letter->reading;
    struct text value = letter->record->value;
    struct record decoded;
    struct error error;
    json_t *object = json_object();
    uint64_t whole = reading->value_bytes > 0 ? reading->value_bytes : value.size;
    json_codec_put(object, "size", json_integer((json_int_t)whole));
    json_codec_put(object, "kept", json_integer(value.size));
    json_codec_put(object, "cut", json_boolean(reading->value_bytes > 0));
    json_codec_put(object, "xxh128", json_codec_text_or_null(reading->value_xxh128));
    if (letter->of_application && registered_peek(value, &id))
        json_codec_put(object, "schema_id", json_integer(id));
    if (value.size > 0 &&
        decode(letter, registry, codec, value, arena, &decoded, &error) == ERROR_OK) {
        const struct record_binding *binding = record_kind_info(decoded.kind)->binding;
        json_codec_put(object, "record", json_string(record_kind_name(decoded.kind)));
        json_codec_put(object, "json", json_codec_encode(binding, struct_of(&decoded), 0));
    } else if (value.size > 0) {
        put_undecodable(object, &error, value, letter->of_application ? registry : NULL, codec,
                        arena);
    }
    json_codec_put(object, "hex", hex_of(value, DEAD_LETTER_HEX_BYTES));
    if (letter->bytes) {
        char *text = malloc(BASE64_SIZE((size_t)value.size) + 1);
        assert(text != NULL);
        base64_encode(value, text);
        json_codec_put(object, "bytes", json_string(text));
        free(text);
    }
    return object;
}

json_t *render_dead_letter(const struct dead_letter_whole *letter, struct schema_registry *registry,
                           struct codec *codec, struct arena *arena)
{
    const struct broker_record *record = letter->record;
    const struct dead_letter_reading *reading = letter->reading;
    const struct dead_letter_resolution *resolution =
        letter->entry != NULL ? letter->entry->resolution : NULL;
    json_t *object = json_object();
    put_place(object, record->partition, record->offset, record->timestamp);
    put_origin(object, reading->topic, reading->partition, reading->offset);
    json_codec_put(object, "code", json_codec_text_or_null(reading->code));
    json_codec_put(object, "message", json_codec_text_or_null(reading->message));
    json_codec_put(object, "key", key_of(record->key));
    json_codec_put(object, "headers", headers_of(reading));
    json_codec_put(object, "headers_cut_bytes",
                   reading->meta_bytes > 0 ? json_integer((json_int_t)reading->meta_bytes)
                                           : json_null());
    json_codec_put(object, "value", value_of(letter, registry, codec, arena));
    json_codec_put(object, "state", json_string(dead_letter_state_name(letter->state)));
    json_codec_put(object, "resolution", render_dead_letter_resolution(resolution));
    json_codec_put(object, "not_replayable",
                   letter->refusal != NULL ? json_codec_text(text_of(letter->refusal))
                                           : json_null());
    return object;
}
