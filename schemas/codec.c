/* SPDX-License-Identifier: Apache-2.0 */
/* Framing, and which plan belongs to which fingerprint. The interface is codec.h.
 *
 * How it works. When a codec is made, and when it learns a writer's schema, the schema is parsed
 * once (schema.c; avro-c has to accept it too), joined by field names with the tables that say
 * where each value lives in our structs (binding_*.c), and compiled to a plan, a flat list of
 * operations in the writer's order (plan.c). A record is decoded by one walk that executes the plan
 * over the bytes straight into the structs (decode.c), and encoded by the same walk the other way
 * round (encode.c).
 *
 * Why it is our own code, and what avro-c is used for: docs/design/decisions/0007-our-own-avro.md.
 *
 * What bounds a walk: no length is believed before it was held against the bytes that are left and
 * against the member's limit; elements without bytes cost nothing; plans are finite trees, because
 * recursive schemas are refused. */
#include "schemas/codec.h"

#include "base/heap_arena.h"
#include "schemas/avro/plan.h"
#include "schemas/schema_texts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { FRAME_BYTES = 10, SLOTS = 2048, LEARNED_MAX = SLOTS / 2 };

static const uint8_t marker[2] = {0xc3, 0x01};

/* One writer's schema. */
struct known {
    uint64_t fingerprint;
    enum record_kind kind;
    const struct plan *plan;
    const struct plan *sender; /* reads a struct submission_sender; NULL: it is not a submission */
    struct heap_arena memory;  /* the plans' */
};

/* What identifies a submission and its sender. */
struct submission_sender {
    struct text order_id;
    struct text reply_to;
};
static const struct field_binding sender_fields[] = {
    F_TEXT(OPTIONAL, struct submission_sender, order_id, ORDER_ID_BYTES),
    F_TEXT(OPTIONAL, struct submission_sender, reply_to, TOPIC_BYTES),
};
static const struct record_binding sender_binding =
    BINDING(struct submission_sender, sender_fields);

struct codec {
    struct known *slots[SLOTS]; /* open addressing by fingerprint, never removed from */
    uint32_t count;
    struct known *own[RECORD_KIND_COUNT];
};

static struct known **slot_of(const struct codec *codec, uint64_t fingerprint)
{
    uint32_t at = (uint32_t)(fingerprint % SLOTS);
    while (codec->slots[at] != NULL && codec->slots[at]->fingerprint != fingerprint)
        at = (at + 1) % SLOTS;
    return (struct known **)&codec->slots[at];
}

static void known_free(struct known *known)
{
    heap_arena_deinit(&known->memory);
    free(known);
}

/* Where the members of a command start: its union. */
static uint32_t base_of(enum record_kind kind)
{
    return record_kind_is_command(kind) ? (uint32_t)offsetof(struct command, submit_order) : 0;
}

/* New; NULL: REJECT. `own`: compiled in. */
static struct known *known_new(struct text avsc, bool own, struct error *ret_error)
{
    struct known *known = calloc(1, sizeof(*known));
    assert(known != NULL);
    heap_arena_init(&known->memory, 16 * 1024);
    const struct avro_type *type = NULL;
    enum error_class class = own ? avro_schema_read(avsc, &known->memory.arena, &type, ret_error)
                                 : avro_schema_parse(avsc, &known->memory.arena, &type, ret_error);
    if (class != ERROR_OK)
        goto refuse;
    const char *name = type->kind == AVRO_KIND_RECORD ? avro_short_name(type->name) : "";
    known->kind = record_kind_of(name);
    if (known->kind == 0) {
        error_set(ret_error, ERROR_REJECT, "UnknownRecord",
                  "'%.100s' is not a record of this build", name);
        goto refuse;
    }
    known->fingerprint = avro_schema_fingerprint(type, &known->memory.arena);
    if (avro_plan_compile(type, record_kind_info(known->kind)->binding, base_of(known->kind),
                          &known->memory.arena, &known->plan, ret_error) != ERROR_OK)
        goto refuse;
    struct error error;
    if (known->kind == RECORD_SUBMIT_ORDER || known->kind == RECORD_CANCEL_ORDER)
        avro_plan_compile(type, &sender_binding, 0, &known->memory.arena, &known->sender, &error);
    return known;
refuse:
    known_free(known);
    return NULL;
}

struct codec *codec_new(void)
{
    struct codec *codec = calloc(1, sizeof(*codec));
    assert(codec != NULL);
    for (uint32_t i = 0; i < schema_text_count; i++) {
        struct error error;
        struct known *known = known_new(schema_texts[i].text, true, &error);
        assert(known != NULL);
        assert(strcmp(record_kind_name(known->kind), schema_texts[i].name) == 0);
        *slot_of(codec, known->fingerprint) = known;
        codec->own[known->kind] = known;
        codec->count++;
    }
    assert(codec->count == RECORD_KIND_COUNT - 1);
    return codec;
}

void codec_free(struct codec *codec)
{
    if (codec == NULL)
        return;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (codec->slots[i] != NULL)
            known_free(codec->slots[i]);
    free(codec);
}

/* Each process reads the schemas topic at its start, which holds mostly what is compiled in. */
static bool is_own(struct text avsc)
{
    for (uint32_t i = 0; i < schema_text_count; i++)
        if (text_equal(schema_texts[i].text, avsc))
            return true;
    return false;
}

enum error_class codec_learn(struct codec *codec, struct text avsc, struct error *ret_error)
{
    if (is_own(avsc))
        return ERROR_OK;
    struct known *known = known_new(avsc, false, ret_error);
    if (known == NULL)
        return ERROR_REJECT;
    struct known **slot = slot_of(codec, known->fingerprint);
    if (*slot != NULL) {
        known_free(known);
        return ERROR_OK;
    }
    if (codec->count == LEARNED_MAX) {
        known_free(known);
        return error_set(ret_error, ERROR_REJECT, "TooManySchemas", "%d schemas are known already",
                         LEARNED_MAX);
    }
    *slot = known;
    codec->count++;
    return ERROR_OK;
}

bool codec_knows(const struct codec *codec, uint64_t fingerprint)
{
    return *slot_of(codec, fingerprint) != NULL;
}

bool codec_is_newer(const struct codec *codec, struct text bytes)
{
    uint64_t fingerprint;
    if (!codec_peek(bytes, &fingerprint))
        return false;
    const struct known *known = *slot_of(codec, fingerprint);
    return known == NULL || known != codec->own[known->kind];
}

bool codec_peek(struct text bytes, uint64_t *ret_fingerprint)
{
    if (bytes.size < FRAME_BYTES || memcmp(bytes.data, marker, sizeof(marker)) != 0)
        return false;
    uint64_t fingerprint = 0;
    for (int i = 7; i >= 0; i--)
        fingerprint = fingerprint << 8 | (uint8_t)bytes.data[2 + i];
    *ret_fingerprint = fingerprint;
    return true;
}

uint64_t codec_fingerprint(const struct codec *codec, enum record_kind kind)
{
    assert(record_kind_info(kind) != NULL);
    return codec->own[kind]->fingerprint;
}

struct text codec_schema(enum record_kind kind)
{
    assert(record_kind_info(kind) != NULL);
    for (uint32_t i = 0; i < schema_text_count; i++)
        if (strcmp(schema_texts[i].name, record_kind_name(kind)) == 0)
            return schema_texts[i].text;
    assert(0 && "a record without a schema");
    return (struct text){0};
}

void codec_encode(struct codec *codec, enum record_kind kind, const void *record,
                  struct buffer *buffer)
{
    assert(record_kind_info(kind) != NULL);
    assert(!record_kind_is_command(kind) ||
           (int)((const struct command *)record)->kind == (int)kind);
    const struct known *known = codec->own[kind];
    buffer_reserve(buffer, 512);
    size_t start = buffer->size;
    uint8_t *frame = buffer->data + start;
    memcpy(frame, marker, sizeof(marker));
    for (int i = 0; i < 8; i++)
        frame[2 + i] = (uint8_t)(known->fingerprint >> (8 * i));
    buffer->size += FRAME_BYTES;
    avro_plan_encode(known->plan, record, buffer);
    assert(buffer->size - start <= RECORD_BYTES_MAX);
}

/* What the structs demand besides each single value. `size`: of the whole. */
static enum error_class finish(struct record *record, enum record_kind kind, uint32_t size,
                               struct error *ret_error)
{
    record->kind = kind;
    bool holds_order =
        kind == RECORD_DECISION || kind == RECORD_STATEMENT || kind == RECORD_ORDER_ROW;
    if (holds_order && size > ORDER_RECORD_BYTES_READ_MAX)
        return error_set(ret_error, ERROR_REJECT, "TooLong",
                         "the record is %u bytes; the limit is %d", size,
                         ORDER_RECORD_BYTES_READ_MAX);
    if (record_kind_is_command(kind)) {
        const uint8_t *member = (const uint8_t *)&record->command + base_of(kind);
        record->command.kind = (enum command_kind)kind;
        memcpy(&record->command.order_id, member + record_kind_info(kind)->order_id,
               sizeof(struct text));
    }
    if (kind == RECORD_DECISION && record->decision.event_count == 0)
        return error_set(ret_error, ERROR_REJECT, "BadValue", "events: a Decision without events");
    return ERROR_OK;
}

enum error_class codec_decode(struct codec *codec, struct text bytes, bool borrow,
                              struct arena *arena, struct record *ret_record,
                              struct error *ret_error)
{
    uint64_t fingerprint;
    if (bytes.size > RECORD_BYTES_MAX)
        return error_set(ret_error, ERROR_REJECT, "TooLong",
                         "the record is %u bytes; the limit is %d", bytes.size, RECORD_BYTES_MAX);
    if (!codec_peek(bytes, &fingerprint))
        return error_set(ret_error, ERROR_REJECT, "NotAvro",
                         "no Avro single-object encoding: it starts with C3 01 and a fingerprint");
    const struct known *known = *slot_of(codec, fingerprint);
    if (known == NULL)
        return error_set(ret_error, ERROR_REJECT, "UnknownSchema",
                         "no schema with the fingerprint %016" PRIx64 " is known", fingerprint);
    struct text body = {bytes.data + FRAME_BYTES, bytes.size - FRAME_BYTES};
    if (!borrow && body.size > 0)
        body = arena_text(arena, body); /* one copy for all texts */
    const uint8_t *at = (const uint8_t *)body.data;
    struct error error;
    struct reader reader = {at, at + body.size, arena, ret_error != NULL ? ret_error : &error};
    struct record record;
    memset(&record, 0, sizeof(record));
    if (!avro_plan_decode(known->plan, &reader, (uint8_t *)&record.command))
        return reader.error->class;
    if (reader.at != reader.end)
        return error_set(ret_error, ERROR_REJECT, "TrailingBytes", "%zu bytes after the record",
                         (size_t)(reader.end - reader.at));
    if (finish(&record, known->kind, bytes.size, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_record = record;
    return ERROR_OK;
}

void codec_read_sender(const struct codec *codec, struct text bytes, struct arena *arena,
                       struct text *ret_order_id, struct text *ret_reply_to)
{
    uint64_t fingerprint;
    struct submission_sender sender = {0};
    struct error error;
    const struct known *known =
        codec_peek(bytes, &fingerprint) ? *slot_of(codec, fingerprint) : NULL;
    if (known != NULL && known->sender != NULL) {
        const uint8_t *at = (const uint8_t *)bytes.data;
        struct reader reader = {at + FRAME_BYTES, at + bytes.size, arena, &error};
        avro_plan_decode(known->sender, &reader, (uint8_t *)&sender);
    }
    *ret_order_id = sender.order_id;
    *ret_reply_to = sender.reply_to;
}
