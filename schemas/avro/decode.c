/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a plan over bytes: the one strict, bounded walk. See plan.h and the top of codec.c.
 *
 * Every length is checked against the bytes that are left and the member's limit before memory is
 * taken. The loop is the hot path of folding: what fails is out of line. */
#include "base/decimal.h"
#include "base/utf8.h"
#include "schemas/avro/plan.h"

#include <assert.h>

/* Out of line, so that the walk stays small. What they fill is returned as `false` by their
 * callers, which the compiler can then see. */
#define COLD __attribute__((noinline, cold))

static COLD void say(struct reader *reader, enum error_code code, const char *name,
                     const char *what)
{
    error_set(reader->error, code, "%s: %s", name, what);
}

static COLD void say_limit(struct reader *reader, enum error_code code, const char *name,
                           uint32_t limit, const char *unit)
{
    error_set(reader->error, code, "%s: more than %u %s", name, limit, unit);
}

static COLD void say_unknown_event(struct reader *reader, const char *event)
{
    error_set(reader->error, CODE_UNKNOWN_EVENT,
              "a newer writer's event %s: this build does not know it, upgrade", event);
}

static inline bool fail(struct reader *reader, enum error_code code, const char *name,
                        const char *what)
{
    say(reader, code, name, what);
    return false;
}

static inline bool truncated(struct reader *reader, const char *name)
{
    return fail(reader, CODE_TRUNCATED, name, "the bytes end in the middle of the record");
}

static inline bool out_of_range(struct reader *reader, const char *name)
{
    return fail(reader, CODE_BAD_VALUE, name, "out of range");
}

static inline bool too_many(struct reader *reader, const char *name, uint32_t limit)
{
    say_limit(reader, CODE_TOO_MANY, name, limit, "elements");
    return false;
}

static inline bool too_long(struct reader *reader, const char *name, uint32_t limit)
{
    say_limit(reader, CODE_TOO_LONG, name, limit, "bytes");
    return false;
}

static inline bool unknown_event(struct reader *reader, const char *event)
{
    say_unknown_event(reader, event);
    return false;
}

static size_t left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static COLD bool read_long_slow(struct reader *reader, const char *name, int64_t *ret_value)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (reader->at == reader->end)
            return truncated(reader, name);
        uint8_t byte = *reader->at++;
        if (shift == 63 && byte > 1)
            return fail(reader, CODE_BAD_VALUE, name, "a number of more than 64 bits");
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return true;
        }
    }
    return fail(reader, CODE_BAD_VALUE, name, "a number of more than 10 bytes");
}

static inline bool read_long(struct reader *reader, const char *name, int64_t *ret_value)
{
    const uint8_t *at = reader->at;
    if (at < reader->end && at[0] < 0x80) {
        *ret_value = (int64_t)(at[0] >> 1) ^ -(int64_t)(at[0] & 1);
        reader->at = at + 1;
        return true;
    }
    if (left(reader) >= 10) {
        uint64_t bits = 0;
        for (unsigned shift = 0; shift < 63; shift += 7) {
            uint8_t byte = *at++;
            bits |= (uint64_t)(byte & 0x7f) << shift;
            if (byte < 0x80) {
                *ret_value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
                reader->at = at;
                return true;
            }
        }
    }
    return read_long_slow(reader, name, ret_value);
}

/* A length-prefixed run of bytes; *ret_text points into them. */
static inline bool read_sized(struct reader *reader, const char *name, uint32_t limit,
                              struct text *ret_text)
{
    int64_t size;
    if (!read_long(reader, name, &size))
        return false;
    if (size < 0)
        return out_of_range(reader, name);
    if ((uint64_t)size > left(reader))
        return truncated(reader, name);
    if ((uint64_t)size > limit)
        return too_long(reader, name, limit);
    ret_text->data = size > 0 ? (const char *)reader->at : NULL;
    ret_text->size = (uint32_t)size;
    reader->at += size;
    return true;
}

static inline bool read_text(struct reader *reader, const char *name, uint32_t limit, bool utf8,
                             struct text *ret_text)
{
    if (!read_sized(reader, name, limit, ret_text))
        return false;
    return !utf8 || utf8_valid(*ret_text) || fail(reader, CODE_BAD_VALUE, name, "not UTF-8");
}

static bool read_number(struct reader *reader, const struct op *op, int64_t min, int64_t max,
                        int64_t *ret_value)
{
    if (!read_long(reader, op->name, ret_value))
        return false;
    return (*ret_value >= min && *ret_value <= max) || out_of_range(reader, op->name);
}

static bool read_enum(struct reader *reader, const struct op *op, int32_t *ret_value)
{
    int64_t index;
    if (!read_number(reader, op, 0, op->limit, &index))
        return false;
    *ret_value = op->values[index];
    return *ret_value != ENUM_UNKNOWN ||
           fail(reader, CODE_BAD_VALUE, op->name, "an unknown symbol");
}

static bool read_fixed(struct reader *reader, const struct op *op, uint8_t *ret_bytes)
{
    if (left(reader) < op->size)
        return truncated(reader, op->name);
    memcpy(ret_bytes, reader->at, op->size);
    reader->at += op->size;
    return true;
}

static bool read_bool(struct reader *reader, const struct op *op, bool *ret_value)
{
    if (reader->at == reader->end)
        return truncated(reader, op->name);
    if (*reader->at > 1)
        return out_of_range(reader, op->name);
    *ret_value = *reader->at++ == 1;
    return true;
}

/* Two's complement, big-endian; longer than needed is allowed as long as the value fits. */
static bool read_decimal(struct reader *reader, const struct op *op, int64_t *ret_unscaled)
{
    struct text bytes = {0};
    if (!read_sized(reader, op->name, 16, &bytes))
        return false;
    if (bytes.size == 0)
        return fail(reader, CODE_BAD_VALUE, op->name, "a decimal without bytes");
    const uint8_t *at = (const uint8_t *)bytes.data;
    uint8_t sign = at[0] >= 0x80 ? 0xff : 0;
    uint64_t bits = sign == 0 ? 0 : UINT64_MAX;
    for (uint32_t i = 0; i < bytes.size; i++) {
        bool beyond = i + 8 < bytes.size; /* not among the last eight: only the sign again */
        if (beyond && at[i] != sign)
            return out_of_range(reader, op->name);
        bits = bits << 8 | at[i];
    }
    int64_t value = (int64_t)bits;
    if ((value < 0) != (sign != 0) || value > DECIMAL_UNSCALED_MAX || value < -DECIMAL_UNSCALED_MAX)
        return out_of_range(reader, op->name);
    *ret_unscaled = value;
    return true;
}

/* ---- what repeats ---- */

struct block {
    uint64_t count;
    const uint8_t *end; /* where it must end, or NULL: the writer did not say */
};

/* The head of a block of an array or map; count 0 is the end of all. `bytes_min`: of an element. */
static bool read_block(struct reader *reader, const struct op *op, uint32_t bytes_min,
                       struct block *ret_block)
{
    int64_t count;
    if (!read_long(reader, op->name, &count))
        return false;
    const uint8_t *end = NULL;
    size_t bytes = left(reader);
    if (count < 0) {
        int64_t size;
        if (count == INT64_MIN)
            return out_of_range(reader, op->name);
        count = -count;
        if (!read_number(reader, op, 0, INT64_MAX, &size))
            return false;
        if ((uint64_t)size > left(reader))
            return truncated(reader, op->name);
        end = reader->at + size;
        bytes = (size_t)size;
    }
    if (bytes_min > 0 && (uint64_t)count > bytes / bytes_min)
        return truncated(reader, op->name);
    *ret_block = (struct block){(uint64_t)count, end};
    return true;
}

static bool block_ends(struct reader *reader, const struct op *op, const struct block *block)
{
    return block->end == NULL || block->end == reader->at ||
           fail(reader, CODE_BAD_VALUE, op->name, "a block of another size than it says");
}

/* Elements in an arena: the count is known only when the last block was read. */
struct elements {
    uint8_t *data;
    uint32_t count;
    uint32_t capacity;
};

/* Room for `more`, zeroed. */
static bool elements_grow(struct reader *reader, const struct op *op, uint64_t more,
                          struct elements *elements)
{
    if (more > op->limit - elements->count)
        return too_many(reader, op->name, op->limit);
    uint32_t need = elements->count + (uint32_t)more;
    if (need <= elements->capacity)
        return true;
    /* The first block is nearly always the only one. */
    uint32_t capacity = elements->capacity == 0 ? need : elements->capacity * 2;
    capacity = capacity < need ? need : capacity > op->limit ? op->limit : capacity;
    uint8_t *data = arena_calloc(reader->arena, capacity, op->size);
    if (elements->count > 0)
        memcpy(data, elements->data, (size_t)elements->count * op->size);
    elements->data = data;
    elements->capacity = capacity;
    return true;
}

static inline bool read_index(struct reader *reader, const struct op *op,
                              const struct branch **ret_branch)
{
    int64_t index;
    if (!read_number(reader, op, 0, (int64_t)op->branches->count - 1, &index))
        return false;
    *ret_branch = &op->branches->list[index];
    return true;
}

static bool read_element(struct reader *reader, const struct op *op, uint8_t *element)
{
    if (op->code == OP_ARRAY)
        return avro_plan_decode(op->sub, reader, element);
    if (op->code == OP_ATTRIBUTES) {
        struct attribute *attribute = (struct attribute *)element;
        return read_text(reader, op->name, ATTRIBUTE_NAME_BYTES_READ_MAX, true, &attribute->name) &&
               avro_plan_decode(op->sub, reader, element);
    }
    assert(op->code == OP_EVENTS);
    const struct branch *branch;
    if (!read_index(reader, op, &branch))
        return false;
    if (branch->event == 0)
        return unknown_event(reader, branch->name);
    ((struct event *)element)->kind = branch->event;
    return avro_plan_decode(branch->plan, reader, element);
}

static bool read_array(struct reader *reader, const struct op *op, uint8_t *base)
{
    struct elements elements = {0};
    for (;;) {
        struct block block;
        if (!read_block(reader, op, op->bytes_min, &block))
            return false;
        if (block.count == 0)
            break;
        if (!elements_grow(reader, op, block.count, &elements))
            return false;
        for (uint64_t i = 0; i < block.count; i++, elements.count++)
            if (!read_element(reader, op, elements.data + (size_t)elements.count * op->size))
                return false;
        if (!block_ends(reader, op, &block))
            return false;
    }
    memcpy(base + op->offset, &elements.data, sizeof(elements.data));
    memcpy(base + op->count, &elements.count, sizeof(elements.count));
    return true;
}

static bool read_counters(struct reader *reader, const struct op *op, uint32_t *ret_counters)
{
    uint32_t count = 0;
    for (;;) {
        struct block block;
        if (!read_block(reader, op, op->bytes_min, &block))
            return false;
        if (block.count == 0)
            return true;
        if (block.count > op->limit - count)
            return too_many(reader, op->name, op->limit);
        for (uint64_t i = 0; i < block.count; i++) {
            int64_t value;
            if (!read_number(reader, op, 0, INT32_MAX, &value))
                return false;
            ret_counters[count++] = (uint32_t)value;
        }
        if (!block_ends(reader, op, &block))
            return false;
    }
}

static bool read_union(struct reader *reader, const struct op *op, uint8_t *base)
{
    const struct branch *branch;
    return read_index(reader, op, &branch) && avro_plan_decode(branch->plan, reader, base);
}

/* ---- what is skipped ---- */

static bool skip_elements(struct reader *reader, const struct op *op, uint8_t *base)
{
    for (;;) {
        struct block block;
        struct text key;
        if (!read_block(reader, op, op->bytes_min, &block))
            return false;
        if (block.count == 0)
            return true;
        /* Elements without bytes may be as many as they like: nothing is done for them. */
        for (uint64_t i = 0; op->bytes_min > 0 && i < block.count; i++) {
            if (op->code == OP_SKIP_MAP && !read_sized(reader, op->name, UINT32_MAX, &key))
                return false;
            if (!avro_plan_decode(op->sub, reader, base))
                return false;
        }
        if (!block_ends(reader, op, &block))
            return false;
    }
}

static bool skip(struct reader *reader, const struct op *op, uint8_t *base)
{
    int64_t number;
    struct text text;
    if (op->code == OP_SKIP_VARINT)
        return read_long(reader, op->name, &number);
    if (op->code == OP_SKIP_INDEX)
        return read_number(reader, op, 0, op->limit, &number);
    if (op->code == OP_SKIP_SIZED)
        return read_sized(reader, op->name, UINT32_MAX, &text);
    if (op->code == OP_SKIP_UNION)
        return read_union(reader, op, base);
    if (op->code == OP_SKIP_ARRAY || op->code == OP_SKIP_MAP)
        return skip_elements(reader, op, base);
    if (op->code == OP_SKIP_RECORD)
        return avro_plan_decode(op->sub, reader, base);
    assert(op->code == OP_SKIP_FIXED);
    if (left(reader) < op->size)
        return truncated(reader, op->name);
    reader->at += op->size;
    return true;
}

/* ---- the walk ---- */

static bool read_integer(struct reader *reader, const struct op *op, uint8_t *member)
{
    int64_t value;
    if (op->code == OP_I64) {
        if (!read_long(reader, op->name, &value))
            return false;
        memcpy(member, &value, sizeof(value));
        return true;
    }
    if (op->code == OP_U64) {
        if (!read_number(reader, op, 0, INT64_MAX, &value))
            return false;
        memcpy(member, &value, sizeof(value));
        return true;
    }
    int64_t min = op->code == OP_I32 ? INT32_MIN : 0;
    int64_t max = op->code == OP_I32 ? INT32_MAX : op->limit;
    if (!read_number(reader, op, min, max, &value))
        return false;
    int32_t narrow = (int32_t)value;
    memcpy(member, &narrow, sizeof(narrow));
    return true;
}

static void set_default(const struct op *op, uint8_t *member)
{
    int64_t wide = op->value;
    if (op->code == OP_SET64)
        memcpy(member, &wide, sizeof(wide));
    else if (op->code == OP_SET32)
        memcpy(member, &op->value, sizeof(op->value));
    else
        *(bool *)member = true;
}

static inline bool execute(const struct op *op, struct reader *reader, uint8_t *base)
{
    uint8_t *member = base + op->offset;
    switch (op->code) {
    case OP_TEXT:
        return read_text(reader, op->name, op->limit, op->utf8, (struct text *)member);
    case OP_BOOL:
        return read_bool(reader, op, (bool *)member);
    case OP_I32:
    case OP_U32:
    case OP_I64:
    case OP_U64:
        return read_integer(reader, op, member);
    case OP_ENUM:
        return read_enum(reader, op, (int32_t *)member);
    case OP_FIXED:
        return read_fixed(reader, op, member);
    case OP_DECIMAL:
        return read_decimal(reader, op, (int64_t *)member);
    case OP_POINTER:
    case OP_PART:
        return avro_plan_decode(op->sub, reader,
                                binding_part_made(base, op->offset, op->size, reader->arena));
    case OP_ARRAY:
    case OP_ATTRIBUTES:
    case OP_EVENTS:
        return read_array(reader, op, base);
    case OP_COUNTERS:
        return read_counters(reader, op, (uint32_t *)member);
    case OP_UNION:
    case OP_OPTIONAL:
    case OP_OPTIONAL_FIXED:
    case OP_OPTIONAL_POINTER:
        return read_union(reader, op, base);
    case OP_SET32:
    case OP_SET64:
    case OP_SET_TRUE:
        set_default(op, member);
        return true;
    case OP_SKIP_VARINT:
    case OP_SKIP_INDEX:
    case OP_SKIP_SIZED:
    case OP_SKIP_FIXED:
    case OP_SKIP_ARRAY:
    case OP_SKIP_MAP:
    case OP_SKIP_UNION:
    case OP_SKIP_RECORD:
        return skip(reader, op, base);
    case OP_REFUSE:
        return fail(reader, CODE_BAD_VALUE, op->name, "null");
    case OP_CODE_COUNT:
        break;
    }
    assert(0 && "an op without a meaning");
    return false;
}

bool avro_plan_decode(const struct plan *plan, struct reader *reader, uint8_t *base)
{
    const struct op *op = plan->ops;
    for (uint32_t count = plan->count; count > 0; count--)
        if (!execute(op++, reader, base))
            return false;
    return true;
}
