/* SPDX-License-Identifier: Apache-2.0 */
/* See log_check.h. */
#include "statestore/log_check.h"

#include "base/bytes.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 32 * 1024,
    HEADER_BYTES = 4 + 2 + 1,
    RECYCLABLE_FIRST = 5, /* as 1 to 4: full, first, middle, last */
    RECYCLABLE_LAST = 8,
    RECYCLABLE_TIMESTAMP_SIZE = 11
};
#define MANIFEST_PREFIX "MANIFEST-"

static bool is_recyclable(uint8_t type)
{
    return (type >= RECYCLABLE_FIRST && type <= RECYCLABLE_LAST) ||
           type == RECYCLABLE_TIMESTAMP_SIZE;
}

static bool is_sound_block(const uint8_t *block, size_t size)
{
    size_t at = 0;
    while (at + HEADER_BYTES <= size) {
        const uint8_t *header = block + at;
        if (is_recyclable(header[6]))
            return false;
        at += HEADER_BYTES + bytes_get_le(header + 4, 2);
    }
    return true;
}

/* Bytes read; fewer than BLOCK_BYTES at the end of the file, and where it cannot be read. */
static size_t read_block(int fd, uint8_t *block)
{
    size_t size = 0;
    while (size < BLOCK_BYTES) {
        ssize_t got = read(fd, block + size, BLOCK_BYTES - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    return size;
}

static bool is_sound(int fd, uint8_t *block)
{
    size_t size = BLOCK_BYTES;
    bool sound = true;
    while (sound && size == BLOCK_BYTES) {
        size = read_block(fd, block);
        sound = is_sound_block(block, size);
    }
    return sound;
}

static bool is_log(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strncmp(name, MANIFEST_PREFIX, sizeof(MANIFEST_PREFIX) - 1) == 0 ||
           (dot != NULL && strcmp(dot, ".log") == 0);
}

bool log_check_store(const char *path)
{
    DIR *dir = opendir(path);
    uint8_t *block = malloc(BLOCK_BYTES);
    struct dirent *entry;
    bool sound = true;
    assert(block != NULL);
    while (dir != NULL && sound && (entry = readdir(dir)) != NULL) {
        int fd =
            is_log(entry->d_name) ? openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
            continue;
        sound = is_sound(fd, block);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
    free(block);
    return sound;
}
