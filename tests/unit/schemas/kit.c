/* SPDX-License-Identifier: Apache-2.0 */
/* See kit.h. */
#include "tests/unit/schemas/kit.h"

#include "base/bytes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

void kit_init(struct kit *kit)
{
    memset(kit, 0, sizeof(*kit));
    kit->codec = codec_new();
    heap_arena_init(&kit->memory, 16 * 1024);
}

void kit_deinit(struct kit *kit)
{
    codec_free(kit->codec);
    heap_arena_deinit(&kit->memory);
}

struct text text_of_buffer(const struct buffer *buffer)
{
    return (struct text){(const char *)buffer->data, (uint32_t)buffer->size};
}

struct buffer kit_encode(struct kit *kit, const struct record *record)
{
    struct buffer buffer = {0};
    codec_encode(kit->codec, record->kind, &record->command, &buffer);
    return buffer;
}

enum error_class kit_decode(struct kit *kit, struct text bytes)
{
    char *copy = malloc(bytes.size + 1u);
    cr_assert_not_null(copy);
    copy = realloc(copy, bytes.size > 0 ? bytes.size : 1);
    cr_assert_not_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    enum error_class class = codec_decode(kit->codec, (struct text){copy, bytes.size}, false,
                                          &kit->memory.arena, &kit->record, &kit->error);
    free(copy);
    return class;
}

void kit_refuses(struct kit *kit, struct text bytes, enum error_class class, enum error_code code)
{
    enum error_class got = kit_decode(kit, bytes);
    cr_assert_eq(got, class, "%s instead of %s", error_class_name(got), error_code_name(code));
    cr_assert_eq(kit->error.code, code, "%s", kit->error.message);
    cr_assert_eq(kit->error.class, class);
    cr_assert_gt(strlen(kit->error.message), 0);
}

struct text kit_golden(struct kit *kit, const char *name)
{
    const char *root = getenv("REEVE_SOURCE_DIR");
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/golden/%s.bin", root != NULL ? root : ".", name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *bytes = arena_bytes(&kit->memory.arena, 1 << 16);
    size_t size = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    cr_assert(size > 0 && size < 1 << 16);
    return (struct text){bytes, (uint32_t)size};
}

struct text kit_schema(struct kit *kit, enum record_kind kind, const char *from, const char *to)
{
    struct text schema = codec_schema(kind);
    size_t from_size = strlen(from);
    size_t to_size = strlen(to);
    const char *found = memmem(schema.data, schema.size, from, from_size);
    cr_assert_not_null(found, "%s", from);
    size_t before = (size_t)(found - schema.data);
    size_t after = schema.size - before - from_size;
    char *text = arena_bytes(&kit->memory.arena, before + to_size + after);
    memcpy(text, schema.data, before);
    memcpy(text + before, to, to_size);
    memcpy(text + before + to_size, found + from_size, after);
    return (struct text){text, (uint32_t)(before + to_size + after)};
}

void put_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
    buffer_append(buffer, bytes, size);
}

void put_marker(struct buffer *buffer, uint64_t fingerprint)
{
    put_bytes(buffer, "\xc3\x01", 2);
    uint8_t bytes[8];
    bytes_put_le(bytes, fingerprint, 8);
    put_bytes(buffer, bytes, sizeof(bytes));
}

void put_long(struct buffer *buffer, int64_t value)
{
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    for (; bits >= 0x80; bits >>= 7)
        put_bytes(buffer, &(uint8_t){(uint8_t)(bits | 0x80)}, 1);
    put_bytes(buffer, &(uint8_t){(uint8_t)bits}, 1);
}

void put_string(struct buffer *buffer, const char *string)
{
    put_long(buffer, (int64_t)strlen(string));
    put_bytes(buffer, string, strlen(string));
}
