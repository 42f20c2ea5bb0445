/* SPDX-License-Identifier: Apache-2.0 */
/* See wire.h. */
#include "kafka/embedded/wire.h"

#include "base/bytes.h"

#include <assert.h>

static uint64_t take(struct wire *wire, uint32_t size)
{
    if (wire->bad || wire->rest.size < size) {
        wire->bad = true;
        return 0;
    }
    uint64_t value = bytes_get_be(wire->rest.data, size);
    wire->rest = text_from(wire->rest, size);
    return value;
}

int8_t wire_i8(struct wire *wire)
{
    return (int8_t)take(wire, 1);
}

int16_t wire_i16(struct wire *wire)
{
    return (int16_t)take(wire, 2);
}

int32_t wire_i32(struct wire *wire)
{
    return (int32_t)take(wire, 4);
}

int64_t wire_i64(struct wire *wire)
{
    return (int64_t)take(wire, 8);
}

static struct text take_text(struct wire *wire, int32_t size)
{
    if (size < 0)
        return (struct text){0};
    if (wire->bad || wire->rest.size < (uint32_t)size) {
        wire->bad = true;
        return (struct text){0};
    }
    struct text text = {wire->rest.data, (uint32_t)size};
    wire->rest = text_from(wire->rest, (uint32_t)size);
    return text;
}

struct text wire_string(struct wire *wire)
{
    return take_text(wire, wire_i16(wire));
}

struct text wire_bytes(struct wire *wire)
{
    return take_text(wire, wire_i32(wire));
}

int32_t wire_count(struct wire *wire, size_t size)
{
    int32_t count = wire_i32(wire);
    assert(size > 0);
    if (count < 0)
        return -1;
    if (wire->bad || (size_t)count > wire->rest.size / size) {
        wire->bad = true;
        return 0;
    }
    return count;
}

static void put(struct buffer *buffer, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    bytes_put_be(bytes, size == 8 ? value : value & ((UINT64_C(1) << (8 * size)) - 1), size);
    buffer_append(buffer, bytes, size);
}

void wire_put_i8(struct buffer *buffer, int8_t value)
{
    put(buffer, (uint64_t)value, 1);
}

void wire_put_i16(struct buffer *buffer, int16_t value)
{
    put(buffer, (uint64_t)value, 2);
}

void wire_put_i32(struct buffer *buffer, int32_t value)
{
    put(buffer, (uint64_t)value, 4);
}

void wire_put_i64(struct buffer *buffer, int64_t value)
{
    put(buffer, (uint64_t)value, 8);
}

void wire_put_string(struct buffer *buffer, struct text text)
{
    assert(text.size <= INT16_MAX);
    wire_put_i16(buffer, text.data == NULL ? -1 : (int16_t)text.size);
    buffer_append(buffer, text.data, text.size);
}

void wire_put_bytes(struct buffer *buffer, struct text bytes)
{
    assert(bytes.size <= INT32_MAX);
    wire_put_i32(buffer, bytes.data == NULL ? -1 : (int32_t)bytes.size);
    buffer_append(buffer, bytes.data, bytes.size);
}

void wire_set_i32(struct buffer *buffer, size_t at, int32_t value)
{
    assert(at + 4 <= buffer->size);
    bytes_put_be(buffer->data + at, (uint32_t)value, 4);
}
