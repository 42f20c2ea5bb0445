/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a plan the other way round: structs -> bytes. See plan.h.
 *
 * Values were checked before they got here; what would make a record that readers refuse is
 * asserted. The limits are those of reading: what a newer version wrote is passed on whole. The
 * bytes of equal structs are equal: arrays and maps are one block, numbers have their shortest
 * form. */
#include "base/bytes.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "schemas/avro/plan.h"

#include <assert.h>

enum { VARINT_MAX = 10 };

static inline void room(struct buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->size < more)
        buffer_reserve(buffer, more);
}

/* There is room for VARINT_MAX bytes. */
static inline void write_long(struct buffer *buffer, int64_t value)
{
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    if (bits < 0x80) { /* as most are */
        buffer->data[buffer->size++] = (uint8_t)bits;
        return;
    }
    uint8_t *at = buffer->data + buffer->size;
    while (bits >= 0x80) {
        *at++ = (uint8_t)(bits | 0x80);
        bits >>= 7;
    }
    *at++ = (uint8_t)bits;
    buffer->size = (size_t)(at - buffer->data);
}

static inline void write_sized(struct buffer *buffer, struct text text)
{
    room(buffer, VARINT_MAX + (size_t)text.size);
    write_long(buffer, text.size);
    if (text.size > 0)
        memcpy(buffer->data + buffer->size, text.data, text.size);
    buffer->size += text.size;
}

static inline void write_text(struct buffer *buffer, uint32_t limit, bool utf8, struct text text)
{
    if (text.size == 0) { /* so are most */
        room(buffer, 1);
        buffer->data[buffer->size++] = 0;
        return;
    }
    assert(text.size <= limit);
    assert(!utf8 || utf8_valid(text));
    write_sized(buffer, text);
}

static void write_decimal(struct buffer *buffer, int64_t unscaled)
{
    assert(unscaled >= -DECIMAL_UNSCALED_MAX && unscaled <= DECIMAL_UNSCALED_MAX);
    uint8_t bytes[8];
    bytes_put_be(bytes, (uint64_t)unscaled, 8);
    uint32_t first = 0; /* leading bytes that only repeat the sign are left out */
    uint8_t sign = unscaled < 0 ? 0xff : 0;
    while (first < 7 && bytes[first] == sign && (bytes[first + 1] >= 0x80) == (sign != 0))
        first++;
    write_sized(buffer, (struct text){(const char *)bytes + first, 8 - first});
}

static void write_element(const struct op *op, const uint8_t *element, struct buffer *buffer)
{
    if (op->code == OP_ATTRIBUTES) {
        const struct attribute *attribute = (const struct attribute *)element;
        write_text(buffer, ATTRIBUTE_NAME_BYTES_READ_MAX, true, attribute->name);
    }
    if (op->code != OP_EVENTS) {
        avro_plan_encode(op->sub, element, buffer);
        return;
    }
    enum event_kind kind = ((const struct event *)element)->kind;
    assert(kind > 0 && kind < EVENT_KIND_COUNT);
    uint8_t index = op->branches->index_of[kind];
    assert(index < op->branches->count);
    room(buffer, VARINT_MAX);
    write_long(buffer, index);
    avro_plan_encode(op->branches->list[index].plan, element, buffer);
}

static void write_array(const struct op *op, const uint8_t *base, struct buffer *buffer)
{
    const uint8_t *data;
    uint32_t count;
    memcpy(&data, base + op->offset, sizeof(data));
    memcpy(&count, base + op->count, sizeof(count));
    assert(count <= op->limit);
    assert(count == 0 || data != NULL);
    room(buffer, VARINT_MAX);
    write_long(buffer, count);
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        write_element(op, data + (size_t)i * op->size, buffer);
    room(buffer, VARINT_MAX);
    write_long(buffer, 0);
}

static void write_counters(const struct op *op, const uint32_t *counters, struct buffer *buffer)
{
    uint32_t count = op->limit;
    while (count > 0 && counters[count - 1] == 0)
        count--;
    room(buffer, ((size_t)count + 2) * VARINT_MAX);
    write_long(buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        assert(counters[i] <= INT32_MAX);
        write_long(buffer, counters[i]);
    }
    if (count > 0)
        write_long(buffer, 0);
}

static void write_optional(const struct op *op, const uint8_t *base, struct buffer *buffer)
{
    const struct branches *branches = op->branches;
    assert(branches->count == 2 && branches->list[0].plan->count == 0); /* null first: our schema */
    bool present = *(const bool *)(base + op->count);
    room(buffer, VARINT_MAX);
    write_long(buffer, present ? 1 : 0);
    if (present)
        avro_plan_encode(branches->list[1].plan, base, buffer);
}

static void write_optional_pointer(const struct op *op, const uint8_t *base, struct buffer *buffer)
{
    const struct branches *branches = op->branches;
    const uint8_t *target;
    assert(branches->count == 2 && branches->list[0].plan->count == 0); /* null first: our schema */
    memcpy(&target, base + op->offset, sizeof(target));
    room(buffer, VARINT_MAX);
    write_long(buffer, target != NULL ? 1 : 0);
    if (target != NULL)
        avro_plan_encode(branches->list[1].plan, base, buffer);
}

static void write_optional_fixed(const struct op *op, const uint8_t *member, struct buffer *buffer)
{
    static const struct content_hash none;
    const struct branches *branches = op->branches;
    assert(op->size == sizeof(none));
    assert(branches->count == 2 && branches->list[0].plan->count == 0); /* null first: our schema */
    bool present = memcmp(member, &none, sizeof(none)) != 0;
    room(buffer, VARINT_MAX + sizeof(none));
    write_long(buffer, present ? 1 : 0);
    if (present)
        buffer_append(buffer, member, sizeof(none));
}

static void write_integer(const struct op *op, const uint8_t *member, struct buffer *buffer)
{
    int64_t value;
    if (op->code == OP_I64 || op->code == OP_U64) {
        memcpy(&value, member, sizeof(value));
        assert(op->code == OP_I64 || value >= 0);
    } else if (op->code == OP_I32) {
        value = *(const int32_t *)member;
    } else {
        value = *(const uint32_t *)member;
        assert(value <= op->limit);
    }
    room(buffer, VARINT_MAX);
    write_long(buffer, value);
}

/* The plan is made of our own schema, so the writer's index of a symbol is its value. */
static void write_enum(const struct op *op, const int32_t *value, struct buffer *buffer)
{
    assert(*value >= 0 && (uint32_t)*value <= op->limit && op->values[*value] == *value);
    room(buffer, VARINT_MAX);
    write_long(buffer, *value);
}

static void write_pointer(const struct op *op, const uint8_t *base, struct buffer *buffer)
{
    const uint8_t *target;
    memcpy(&target, base + op->offset, sizeof(target));
    assert(target != NULL);
    avro_plan_encode(op->sub, target, buffer);
}

static inline void execute(const struct op *op, const uint8_t *base, struct buffer *buffer)
{
    const uint8_t *member = base + op->offset;
    switch (op->code) {
    case OP_TEXT:
        write_text(buffer, op->limit, op->utf8, *(const struct text *)member);
        return;
    case OP_BOOL:
        room(buffer, 1);
        buffer->data[buffer->size++] = *(const bool *)member ? 1 : 0;
        return;
    case OP_I32:
    case OP_U32:
    case OP_I64:
    case OP_U64:
        write_integer(op, member, buffer);
        return;
    case OP_ENUM:
        write_enum(op, (const int32_t *)member, buffer);
        return;
    case OP_FIXED:
        buffer_append(buffer, member, op->size);
        return;
    case OP_DECIMAL:
        write_decimal(buffer, *(const int64_t *)member);
        return;
    case OP_POINTER:
        write_pointer(op, base, buffer);
        return;
    case OP_PART:
        avro_plan_encode(op->sub, binding_part(base, op->offset, op->size), buffer);
        return;
    case OP_ARRAY:
    case OP_ATTRIBUTES:
    case OP_EVENTS:
        write_array(op, base, buffer);
        return;
    case OP_COUNTERS:
        write_counters(op, (const uint32_t *)member, buffer);
        return;
    case OP_OPTIONAL:
        write_optional(op, base, buffer);
        return;
    case OP_OPTIONAL_FIXED:
        write_optional_fixed(op, member, buffer);
        return;
    case OP_OPTIONAL_POINTER:
        write_optional_pointer(op, base, buffer);
        return;
    case OP_SET_TRUE:
        return; /* the branch was chosen by the flag */
    case OP_UNION:
    case OP_SET32:
    case OP_SET64:
    case OP_SKIP_VARINT:
    case OP_SKIP_INDEX:
    case OP_SKIP_SIZED:
    case OP_SKIP_FIXED:
    case OP_SKIP_ARRAY:
    case OP_SKIP_MAP:
    case OP_SKIP_UNION:
    case OP_SKIP_RECORD:
    case OP_REFUSE:
    case OP_CODE_COUNT:
        break;
    }
    assert(0 && "our own schema and its binding differ");
}

void avro_plan_encode(const struct plan *plan, const uint8_t *base, struct buffer *buffer)
{
    const struct op *op = plan->ops;
    for (uint32_t count = plan->count; count > 0; count--)
        execute(op++, base, buffer);
}
