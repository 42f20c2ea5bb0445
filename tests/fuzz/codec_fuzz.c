/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds untrusted bytes to the codec. The first byte chooses
 *   0 .. kinds - 1   a body of one of our schemas: a decoded record is encoded and decoded again
 *   254              a whole record with its frame
 *   255              the text of a schema and, after its first NUL, a body of that schema
 * The corpus has the records of tests/golden/. */
#include "base/heap_arena.h"
#include "schemas/avro/codec.h"
#include "schemas/avro/plan.h"
#include "schemas/avro/schema.h"
#include "tests/fuzz/input.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum error_class decode(struct codec *codec, const struct buffer *buffer,
                               struct heap_arena *memory, struct record *ret_record)
{
    struct error error;
    struct text bytes = {(const char *)buffer->data, (uint32_t)buffer->size};
    enum error_class class = codec_decode(codec, bytes, true, &memory->arena, ret_record, &error);
    /* A short record must not take much memory. */
    assert(memory->arena.used <= 256 * 1024 + 400 * buffer->size);
    return class;
}

static void fuzz_body(struct codec *codec, uint64_t fingerprint, struct text body)
{
    struct heap_arena memory;
    struct record record;
    struct buffer bytes = {0};
    heap_arena_init(&memory, 16 * 1024);
    fuzz_frame(&bytes, fingerprint);
    buffer_append(&bytes, body.data, body.size);
    if (decode(codec, &bytes, &memory, &record) == ERROR_OK) {
        struct buffer once = {0};
        struct buffer twice = {0};
        struct heap_arena other;
        heap_arena_init(&other, 16 * 1024);
        codec_encode(codec, record.kind, &record.command, &once);
        enum error_class class = decode(codec, &once, &other, &record);
        assert(class == ERROR_OK);
        codec_encode(codec, record.kind, &record.command, &twice);
        assert(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
        buffer_deinit(&once);
        buffer_deinit(&twice);
        heap_arena_deinit(&other);
    }
    buffer_deinit(&bytes);
    heap_arena_deinit(&memory);
}

/* As codec_learn() and codec_decode() do it, without the codec: a new one each time is slow. */
static void fuzz_schema(struct text input)
{
    const char *nul = input.size > 0 ? memchr(input.data, 0, input.size) : NULL;
    uint32_t size = nul != NULL ? (uint32_t)(nul - input.data) : input.size;
    struct heap_arena memory;
    struct error error;
    const struct avro_type *type = NULL;
    const struct plan *plan = NULL;
    heap_arena_init(&memory, 16 * 1024);
    if (avro_schema_parse((struct text){input.data, size}, &memory.arena, &type, &error) !=
        ERROR_OK)
        goto out;
    struct text canonical = avro_schema_canonical(type, &memory.arena);
    const struct avro_type *again = NULL;
    enum error_class class = avro_schema_parse(canonical, &memory.arena, &again, &error);
    assert(class == ERROR_OK || canonical.size > AVRO_SCHEMA_BYTES_MAX);
    enum record_kind kind = (enum record_kind)0;
    if (type->kind == AVRO_KIND_RECORD)
        kind = record_kind_of(avro_short_name(type->name));
    if (kind == 0 || nul == NULL ||
        avro_plan_compile(type, record_kind_info(kind)->binding,
                          record_kind_is_command(kind) ? offsetof(struct command, submit_order) : 0,
                          &memory.arena, &plan, &error) != ERROR_OK)
        goto out;
    struct record record;
    memset(&record, 0, sizeof(record));
    const uint8_t *at = (const uint8_t *)nul + 1;
    struct reader reader = {at, at + (input.size - size - 1), &memory.arena, &error};
    size_t before = memory.arena.used;
    avro_plan_decode(plan, &reader, (uint8_t *)&record.command);
    assert(memory.arena.used - before <= 256 * 1024 + 400 * (size_t)input.size);
out:
    heap_arena_deinit(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct codec *codec; /* never changes: other codecs learn the schemas */
    if (codec == NULL)
        codec = codec_new();
    if (size == 0 || size > 1 << 20)
        return 0;
    struct text rest = {(const char *)data + 1, (uint32_t)size - 1};
    if (data[0] == 255) {
        fuzz_schema(rest);
    } else if (data[0] == 254) {
        struct heap_arena memory;
        struct record record;
        struct error error;
        heap_arena_init(&memory, 16 * 1024);
        codec_decode(codec, rest, false, &memory.arena, &record, &error);
        heap_arena_deinit(&memory);
    } else {
        enum record_kind kind = (enum record_kind)(1 + data[0] % (RECORD_KIND_COUNT - 1));
        fuzz_body(codec, codec_fingerprint(codec, kind), rest);
    }
    return 0;
}
