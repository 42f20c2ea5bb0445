/* SPDX-License-Identifier: Apache-2.0 */
/* See container.h. */
#include "cli/export/container.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>
#include <zlib.h>

enum {
    SYNC_BYTES = 16,
    BLOCK_BYTES = 256 * 1024, /* before compression; readers hold one block in memory */
    RAW_DEFLATE = -15         /* without zlib's header and checksum, as the specification has it */
};

static const char magic[4] = {'O', 'b', 'j', 1};

struct container {
    FILE *out;
    struct buffer block;
    struct buffer packed;
    int64_t count; /* records in the block */
    uint8_t sync[SYNC_BYTES];
    z_stream deflate;
};

void container_put_long(struct buffer *buffer, int64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    uint64_t rest = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    do {
        bytes[size++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
    } while (rest > 0);
    assert(size <= sizeof(bytes));
    buffer_append(buffer, bytes, size);
}

void container_put_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
    assert(size <= INT32_MAX);
    container_put_long(buffer, (int64_t)size);
    buffer_append(buffer, bytes, size);
}

static void put_entry(struct buffer *buffer, struct text name, struct text value)
{
    container_put_bytes(buffer, name.data, name.size);
    container_put_bytes(buffer, value.data, value.size);
}

struct container *container_new(FILE *out, struct text schema)
{
    struct container *container = calloc(1, sizeof(*container));
    struct buffer header = {0};
    assert(container != NULL);
    assert(schema.size > 0);
    container->out = out;
    ssize_t random = getrandom(container->sync, SYNC_BYTES, 0);
    assert(random == SYNC_BYTES); /* up to 256 bytes always come at once */
    int result = deflateInit2(&container->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_DEFLATE,
                              8, Z_DEFAULT_STRATEGY);
    assert(result == Z_OK);
    buffer_append(&header, magic, sizeof(magic));
    container_put_long(&header, 2);
    put_entry(&header, TEXT("avro.schema"), schema);
    put_entry(&header, TEXT("avro.codec"), TEXT("deflate"));
    container_put_long(&header, 0);
    buffer_append(&header, container->sync, SYNC_BYTES);
    fwrite(header.data, 1, header.size, out);
    buffer_deinit(&header);
    return container;
}

static void write_block(struct container *container)
{
    z_stream *deflater = &container->deflate;
    struct buffer head = {0};
    size_t bound = deflateBound(deflater, container->block.size);
    assert(container->count > 0);
    container->packed.size = 0;
    buffer_reserve(&container->packed, bound);
    deflater->next_in = container->block.data;
    deflater->avail_in = (uInt)container->block.size;
    deflater->next_out = container->packed.data;
    deflater->avail_out = (uInt)bound;
    int result = deflate(deflater, Z_FINISH);
    assert(result == Z_STREAM_END); /* deflateBound() is enough for all of it */
    container->packed.size = bound - deflater->avail_out;
    container_put_long(&head, container->count);
    container_put_long(&head, (int64_t)container->packed.size);
    fwrite(head.data, 1, head.size, container->out);
    fwrite(container->packed.data, 1, container->packed.size, container->out);
    fwrite(container->sync, 1, SYNC_BYTES, container->out);
    buffer_deinit(&head);
    deflateReset(deflater);
    container->block.size = 0;
    container->count = 0;
}

void container_append(struct container *container, const void *record, size_t size)
{
    assert(size > 0 && size <= INT32_MAX);
    buffer_append(&container->block, record, size);
    container->count++;
    if (container->block.size >= BLOCK_BYTES)
        write_block(container);
}

void container_finish(struct container *container)
{
    if (container->count > 0)
        write_block(container);
    assert(container->block.size == 0);
}

void container_free(struct container *container)
{
    if (container == NULL)
        return;
    deflateEnd(&container->deflate);
    buffer_deinit(&container->block);
    buffer_deinit(&container->packed);
    free(container);
}
