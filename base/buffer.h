/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer, owned by its user; zero-initialized is empty. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_append(struct buffer *buffer, const void *data, size_t size);
/* A number of `size` bytes: base/bytes.h. */
void buffer_append_le(struct buffer *buffer, uint64_t value, size_t size);
void buffer_deinit(struct buffer *buffer);

#endif
