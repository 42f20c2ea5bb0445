/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 256 };

void buffer_reserve(struct buffer *buffer, size_t more)
{
    assert(more <= SIZE_MAX / 4 - buffer->size);
    size_t need = buffer->size + more;
    if (need <= buffer->capacity)
        return;
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity * 2;
    if (capacity < need)
        capacity = need;
    buffer->data = realloc(buffer->data, capacity);
    assert(buffer->data != NULL);
    buffer->capacity = capacity;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    if (size == 0)
        return;
    buffer_reserve(buffer, size);
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void buffer_append_le(struct buffer *buffer, uint64_t value, size_t size)
{
    buffer_reserve(buffer, size);
    bytes_put_le(buffer->data + buffer->size, value, size);
    buffer->size += size;
}

void buffer_deinit(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}
