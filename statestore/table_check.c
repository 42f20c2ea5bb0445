/* SPDX-License-Identifier: Apache-2.0 */
/* See table_check.h. */
#include "statestore/table_check.h"

#include "base/bytes.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    FOOTER_BYTES = 53,
    HANDLES_BYTES = 40,
    TRAILER_BYTES = 5,
    FORMAT = 5, /* options.c sets it, and the checksum */
    CHECKSUM_XXH3 = 4,
    BLOCK_MAX = 16 * 1024 * 1024 /* of a larger one nothing is learned */
};
#define TABLE_MAGIC UINT64_C(0x88e241b785f4cff7)
/* By which RocksDB mixes the compression into the checksum. */
#define LAST_BYTE_PRIME 0x6b9083d9u
#define PROPERTIES "rocksdb.properties"

struct byte_range {
    const uint8_t *at;
    const uint8_t *end;
};

struct handle {
    uint64_t offset;
    uint64_t size;
};

static bool take_varint(struct byte_range *bytes, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool take_handle(struct byte_range *bytes, struct handle *ret_handle)
{
    struct handle handle;
    if (!take_varint(bytes, &handle.offset) || !take_varint(bytes, &handle.size))
        return false;
    *ret_handle = handle;
    return true;
}

/* ---- blocks ---- */

static bool read_at(int fd, uint64_t offset, uint8_t *ret_bytes, size_t size)
{
    return pread(fd, ret_bytes, size, (off_t)offset) == (ssize_t)size;
}

/* The block and its trailer, new; NULL: it is not within the file. */
static uint8_t *read_block(int fd, uint64_t file_size, const struct handle *handle)
{
    if (handle->size > BLOCK_MAX || handle->offset > file_size ||
        handle->size + TRAILER_BYTES > file_size - handle->offset)
        return NULL;
    uint8_t *block = malloc((size_t)handle->size + TRAILER_BYTES);
    assert(block != NULL);
    if (read_at(fd, handle->offset, block, (size_t)handle->size + TRAILER_BYTES))
        return block;
    free(block);
    return NULL;
}

static bool matches_checksum(const uint8_t *block, uint64_t size)
{
    uint32_t expected = (uint32_t)bytes_get_le(block + size + 1, 4);
    uint32_t checksum = (uint32_t)XXH3_64bits(block, (size_t)size);
    return (checksum ^ (uint32_t)block[size] * LAST_BYTE_PRIME) == expected;
}

/* ---- a table ---- */

/* The metaindex shares no bytes of its keys: each entry is a restart. */
static bool find_properties(const uint8_t *block, uint64_t size, struct handle *ret_handle)
{
    if (size < 4)
        return false;
    uint64_t restarts = bytes_get_le(block + size - 4, 4);
    if (restarts > (size - 4) / 4)
        return false;
    struct byte_range entries = {block, block + size - 4 - 4 * restarts};
    while (entries.at < entries.end) {
        uint64_t shared, key_size, value_size;
        if (!take_varint(&entries, &shared) || !take_varint(&entries, &key_size) ||
            !take_varint(&entries, &value_size) ||
            key_size > (uint64_t)(entries.end - entries.at) ||
            value_size > (uint64_t)(entries.end - entries.at) - key_size)
            return false;
        struct byte_range value = {entries.at + key_size, entries.at + key_size + value_size};
        if (shared == 0 && key_size == sizeof(PROPERTIES) - 1 &&
            memcmp(entries.at, PROPERTIES, sizeof(PROPERTIES) - 1) == 0)
            return take_handle(&value, ret_handle);
        entries.at = value.end;
    }
    return false;
}

static bool read_metaindex_handle(int fd, uint64_t file_size, struct handle *ret_handle)
{
    uint8_t footer[FOOTER_BYTES];
    if (file_size < FOOTER_BYTES || !read_at(fd, file_size - FOOTER_BYTES, footer, FOOTER_BYTES) ||
        bytes_get_le(footer + FOOTER_BYTES - 8, 8) != TABLE_MAGIC ||
        bytes_get_le(footer + FOOTER_BYTES - 12, 4) != FORMAT || footer[0] != CHECKSUM_XXH3)
        return false;
    return take_handle(&(struct byte_range){footer + 1, footer + 1 + HANDLES_BYTES}, ret_handle);
}

static bool is_sound(int fd)
{
    struct stat info;
    struct handle handle;
    if (fstat(fd, &info) != 0 || !read_metaindex_handle(fd, (uint64_t)info.st_size, &handle))
        return true;
    uint8_t *metaindex = read_block(fd, (uint64_t)info.st_size, &handle);
    if (metaindex == NULL)
        return true;
    bool found = matches_checksum(metaindex, handle.size) &&
                 find_properties(metaindex, handle.size, &handle);
    free(metaindex);
    uint8_t *properties = found ? read_block(fd, (uint64_t)info.st_size, &handle) : NULL;
    bool sound = properties == NULL || matches_checksum(properties, handle.size);
    free(properties);
    return sound;
}

static bool is_table(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".sst") == 0;
}

bool table_check_store(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool sound = true;
    while (dir != NULL && sound && (entry = readdir(dir)) != NULL) {
        int fd =
            is_table(entry->d_name) ? openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
            continue;
        sound = is_sound(fd);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
    return sound;
}
