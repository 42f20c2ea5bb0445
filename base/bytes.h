/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 1 to 8 bytes, and texts, in keys, rows and frames. Keys are big-endian, so that they
 * have the order of the numbers; rows and frames are little-endian. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include "base/text.h"

#include <assert.h>
#include <stddef.h>

/* Writes `value`, which fits into `size` bytes; returns where they end. */
static inline void *bytes_put_be(void *at, uint64_t value, size_t size)
{
    uint8_t *bytes = at;
    assert(size >= 1 && size <= 8);
    assert(size == 8 || value >> (8 * size) == 0);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    return bytes + size;
}

static inline uint64_t bytes_get_be(const void *at, size_t size)
{
    const uint8_t *bytes = at;
    uint64_t value = 0;
    assert(size >= 1 && size <= 8);
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

static inline void *bytes_put_le(void *at, uint64_t value, size_t size)
{
    uint8_t *bytes = at;
    assert(size >= 1 && size <= 8);
    assert(size == 8 || value >> (8 * size) == 0);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    return bytes + size;
}

static inline uint64_t bytes_get_le(const void *at, size_t size)
{
    const uint8_t *bytes = at;
    uint64_t value = 0;
    assert(size >= 1 && size <= 8);
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* Without its size. */
static inline void *bytes_put_text(void *at, struct text text)
{
    assert(text.size == 0 || text.data != NULL);
    if (text.size > 0)
        memcpy(at, text.data, text.size);
    return (uint8_t *)at + text.size;
}

/* Takes a number off the front; false when it is not all there. */
static inline bool bytes_take_le(struct text *rest, size_t size, uint64_t *ret_value)
{
    if (rest->size < size)
        return false;
    *ret_value = bytes_get_le(rest->data, size);
    *rest = text_from(*rest, (uint32_t)size);
    return true;
}

/* In keys: 8 bytes whose order is that of the signed numbers. */
static inline void *bytes_put_rising(void *at, int64_t value)
{
    return bytes_put_be(at, (uint64_t)value ^ UINT64_C(1) << 63, 8);
}

static inline int64_t bytes_get_rising(const void *at)
{
    return (int64_t)(bytes_get_be(at, 8) ^ UINT64_C(1) << 63);
}

#endif
