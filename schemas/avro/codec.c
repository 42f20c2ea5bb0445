/* SPDX-License-Identifier: Apache-2.0 */
/* Framing, and which plan belongs to which fingerprint. The interface is codec.h.
 *
 * How it works. When a codec is made, and when it first decodes with a schema that it has learned
 * (learned.c), the schema is parsed (schema.c; avro-c has to accept it too), joined by field names
 * with the tables that say where each value lives in our structs (binding_*.c), and compiled to a
 * plan, a flat list of operations in the writer's order (plan.c). A record is decoded by one walk
 * that executes the plan over the bytes straight into the structs (decode.c), and encoded by the
 * same walk the other way round (encode.c).
 *
 * Why it is our own code, and what avro-c is used for: docs/design/decisions/0007-our-own-avro.md.
 *
 * What bounds a walk: no length is believed before it was held against the bytes that are left and
 * against the member's limit; elements without bytes cost nothing; plans are finite trees, because
 * recursive schemas are refused. */
#include "schemas/avro/codec.h"

#include "base/bytes.h"
#include "schemas/avro/learned.h"
#include "schemas/avro/schema_texts.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum { FRAME_BYTES = 10, OWN_SLOTS = 128 };
_Static_assert(2 * RECORD_KIND_COUNT < OWN_SLOTS, "own schemas are found at once");

static const uint8_t marker[2] = {0xc3, 0x01};

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

/* What is compiled in. Reading it takes milliseconds, and it is the same for all codecs of a
 * process: the first codec reads it, and it stays, read-only, until the process ends. */
static struct own_schemas {
    const struct known_schema *of_kind[RECORD_KIND_COUNT];
    const struct known_schema *slots[OWN_SLOTS]; /* the same, open addressing by fingerprint */
} own_schemas;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

struct codec {
    const struct own_schemas *own;
    struct learned learned;
    struct heap_arena scratch; /* of a schema that is being learned */
};

static uint32_t slot_of(const struct own_schemas *own, uint64_t fingerprint)
{
    uint32_t at = (uint32_t)(fingerprint % OWN_SLOTS);
    while (own->slots[at] != NULL && own->slots[at]->fingerprint != fingerprint)
        at = (at + 1) % OWN_SLOTS;
    return at;
}

static const struct known_schema *own_of(const struct codec *codec, uint64_t fingerprint)
{
    return codec->own->slots[slot_of(codec->own, fingerprint)];
}

/* Where the members of a command start: its union. */
static uint32_t base_of(enum record_kind kind)
{
    return record_kind_is_command(kind) ? (uint32_t)offsetof(struct command, submit_order) : 0;
}

/* The schema's tree, kind and fingerprint. `own`: compiled in. */
static enum error_class read_schema(struct text avsc, bool own, struct arena *arena,
                                    const struct avro_type **ret_type, enum record_kind *ret_kind,
                                    struct error *ret_error)
{
    enum error_class class = own ? avro_schema_read(avsc, arena, ret_type, ret_error)
                                 : avro_schema_parse(avsc, arena, ret_type, ret_error);
    if (class != ERROR_OK)
        return class;
    const char *name =
        (*ret_type)->kind == AVRO_KIND_RECORD ? avro_short_name((*ret_type)->name) : "";
    *ret_kind = record_kind_of(name);
    return *ret_kind != 0 ? ERROR_OK
                          : error_set(ret_error, CODE_UNKNOWN_RECORD,
                                      "'%.100s' is not a record of this build", name);
}

static enum error_class compile(const struct avro_type *type, enum record_kind kind,
                                struct arena *arena, const struct plan **ret_plan,
                                const struct plan **ret_sender, struct error *ret_error)
{
    struct error error;
    enum error_class class = avro_plan_compile(type, record_kind_info(kind)->binding, base_of(kind),
                                               arena, ret_plan, ret_error);
    if (class == ERROR_OK && record_kind_is_submission(kind))
        avro_plan_compile(type, &sender_binding, 0, arena, ret_sender, &error);
    return class;
}

static const struct known_schema *own_new(struct text avsc)
{
    struct known_schema *known = calloc(1, sizeof(*known));
    const struct avro_type *type = NULL;
    struct error error;
    assert(known != NULL);
    heap_arena_init(&known->memory, 16 * 1024);
    struct arena *arena = &known->memory.arena;
    enum error_class class = read_schema(avsc, true, arena, &type, &known->kind, &error);
    assert(class == ERROR_OK);
    known->fingerprint = avro_schema_fingerprint(type, arena);
    class = compile(type, known->kind, arena, &known->plan, &known->sender, &error);
    assert(class == ERROR_OK);
    return known;
}

static void own_read(void)
{
    for (uint32_t i = 0; i < schema_text_count; i++) {
        const struct known_schema *known = own_new(schema_texts[i].text);
        assert(strcmp(record_kind_name(known->kind), schema_texts[i].name) == 0);
        assert(own_schemas.of_kind[known->kind] == NULL);
        own_schemas.of_kind[known->kind] = known;
        own_schemas.slots[slot_of(&own_schemas, known->fingerprint)] = known;
    }
    assert(schema_text_count == RECORD_KIND_COUNT - 1);
}

struct codec *codec_new(void)
{
    struct codec *codec = calloc(1, sizeof(*codec));
    assert(codec != NULL);
    int failed = pthread_once(&own_once, own_read);
    assert(failed == 0);
    codec->own = &own_schemas;
    heap_arena_init(&codec->scratch, 64 * 1024);
    return codec;
}

void codec_free(struct codec *codec)
{
    if (codec == NULL)
        return;
    learned_deinit(&codec->learned);
    heap_arena_deinit(&codec->scratch);
    free(codec);
}

/* Each process reads the schemas topic at its start, which holds mostly what is compiled in. NULL:
 * the text is not. */
static const struct known_schema *own_with_text(const struct codec *codec, struct text avsc)
{
    for (uint32_t i = 0; i < schema_text_count; i++)
        if (text_equal(schema_texts[i].text, avsc))
            return codec->own->of_kind[record_kind_of(schema_texts[i].name)];
    return NULL;
}

enum error_class codec_learn(struct codec *codec, struct text avsc, uint64_t *ret_fingerprint,
                             struct error *ret_error)
{
    const struct known_schema *known = own_with_text(codec, avsc);
    if (known != NULL && ret_fingerprint != NULL)
        *ret_fingerprint = known->fingerprint;
    if (known != NULL)
        return ERROR_OK;
    const struct avro_type *type = NULL;
    const struct plan *plan = NULL;
    const struct plan *sender = NULL;
    enum record_kind kind;
    struct arena *arena = &codec->scratch.arena;
    heap_arena_reset(&codec->scratch);
    if (read_schema(avsc, false, arena, &type, &kind, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    /* Only what can be used is kept; the plan is made again when it is. */
    if (compile(type, kind, arena, &plan, &sender, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    uint64_t fingerprint = avro_schema_fingerprint(type, arena);
    if (own_of(codec, fingerprint) == NULL && learned_wants(&codec->learned, fingerprint))
        learned_add(&codec->learned, fingerprint, kind, avsc);
    if (ret_fingerprint != NULL)
        *ret_fingerprint = fingerprint;
    return ERROR_OK;
}

/* A schema that is used now; NULL: it is not known. */
static const struct known_schema *use(struct codec *codec, uint64_t fingerprint)
{
    const struct known_schema *compiled_in = own_of(codec, fingerprint);
    if (compiled_in != NULL)
        return compiled_in;
    struct known_schema *known = learned_use(&codec->learned, fingerprint);
    if (known == NULL || known->plan != NULL)
        return known;
    const struct avro_type *type = NULL;
    struct error error;
    enum record_kind kind;
    heap_arena_reset(&codec->scratch);
    enum error_class class =
        read_schema(known->text, false, &codec->scratch.arena, &type, &kind, &error);
    assert(class == ERROR_OK && kind == known->kind); /* as when it was learned */
    class = compile(type, kind, &known->memory.arena, &known->plan, &known->sender, &error);
    assert(class == ERROR_OK);
    learned_compiled(&codec->learned, known);
    return known;
}

bool codec_knows(const struct codec *codec, uint64_t fingerprint)
{
    return own_of(codec, fingerprint) != NULL || learned_knows(&codec->learned, fingerprint);
}

bool codec_misses(struct codec *codec)
{
    bool missed = codec->learned.missed;
    codec->learned.missed = false;
    return missed;
}

bool codec_is_newer(const struct codec *codec, struct text bytes)
{
    uint64_t fingerprint;
    if (!codec_peek(bytes, &fingerprint))
        return false;
    return own_of(codec, fingerprint) == NULL;
}

bool codec_peek(struct text bytes, uint64_t *ret_fingerprint)
{
    if (bytes.size < FRAME_BYTES || memcmp(bytes.data, marker, sizeof(marker)) != 0)
        return false;
    *ret_fingerprint = bytes_get_le(bytes.data + sizeof(marker), 8);
    return true;
}

uint64_t codec_fingerprint(const struct codec *codec, enum record_kind kind)
{
    assert(record_kind_info(kind) != NULL);
    return codec->own->of_kind[kind]->fingerprint;
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
    const struct known_schema *known = codec->own->of_kind[kind];
    buffer_reserve(buffer, 512);
    size_t start = buffer->size;
    uint8_t *frame = buffer->data + start;
    memcpy(frame, marker, sizeof(marker));
    bytes_put_le(frame + sizeof(marker), known->fingerprint, 8);
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
        return error_set(ret_error, CODE_TOO_LONG, "the record is %u bytes; the limit is %d", size,
                         ORDER_RECORD_BYTES_READ_MAX);
    if (record_kind_is_command(kind)) {
        const uint8_t *member = (const uint8_t *)&record->command + base_of(kind);
        record->command.kind = (enum command_kind)kind;
        memcpy(&record->command.order_id, member + record_kind_info(kind)->order_id,
               sizeof(struct text));
    }
    if (kind == RECORD_DECISION && record->decision.event_count == 0)
        return error_set(ret_error, CODE_BAD_VALUE, "events: a Decision without events");
    return ERROR_OK;
}

enum error_class codec_decode_body(struct codec *codec, const struct codec_body *framed,
                                   bool borrow, struct arena *arena, struct record *ret_record,
                                   struct error *ret_error)
{
    const struct known_schema *known = use(codec, framed->fingerprint);
    if (known == NULL)
        return error_set(ret_error, CODE_UNKNOWN_SCHEMA,
                         "no schema with the fingerprint %016" PRIx64 " is known",
                         framed->fingerprint);
    struct text body = framed->bytes;
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
        return error_set(ret_error, CODE_TRAILING_BYTES, "%zu bytes after the record",
                         (size_t)(reader.end - reader.at));
    if (finish(&record, known->kind, FRAME_BYTES + body.size, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_record = record;
    return ERROR_OK;
}

static bool open_frame(struct text bytes, struct codec_body *ret_body)
{
    if (!codec_peek(bytes, &ret_body->fingerprint))
        return false;
    ret_body->bytes = text_from(bytes, FRAME_BYTES);
    return true;
}

enum error_class codec_decode(struct codec *codec, struct text bytes, bool borrow,
                              struct arena *arena, struct record *ret_record,
                              struct error *ret_error)
{
    struct codec_body body;
    if (bytes.size > RECORD_BYTES_MAX)
        return error_set(ret_error, CODE_TOO_LONG, "the record is %u bytes; the limit is %d",
                         bytes.size, RECORD_BYTES_MAX);
    if (!open_frame(bytes, &body))
        return error_set(ret_error, CODE_NOT_AVRO,
                         "no Avro single-object encoding: it starts with C3 01 and a fingerprint");
    return codec_decode_body(codec, &body, borrow, arena, ret_record, ret_error);
}

void codec_read_sender_of_body(struct codec *codec, const struct codec_body *body,
                               struct arena *arena, struct text *ret_order_id,
                               struct text *ret_reply_to)
{
    struct submission_sender sender = {0};
    struct error error;
    const struct known_schema *known = use(codec, body->fingerprint);
    if (known != NULL && known->sender != NULL) {
        const uint8_t *at = (const uint8_t *)body->bytes.data;
        struct reader reader = {at, at + body->bytes.size, arena, &error};
        avro_plan_decode(known->sender, &reader, (uint8_t *)&sender);
    }
    *ret_order_id = sender.order_id;
    *ret_reply_to = sender.reply_to;
}

void codec_read_sender(struct codec *codec, struct text bytes, struct arena *arena,
                       struct text *ret_order_id, struct text *ret_reply_to)
{
    struct codec_body body;
    *ret_order_id = *ret_reply_to = (struct text){0};
    if (open_frame(bytes, &body))
        codec_read_sender_of_body(codec, &body, arena, ret_order_id, ret_reply_to);
}
