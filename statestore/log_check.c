/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of RocksDB's logs. See log_check.h. */
#include "statestore/log_check.h"

#include "base/numbers.h"
#include "statestore/manifest_edit.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EDIT_BYTES_MAX = 64 * 1024 * 1024, /* of a larger one nothing is learned */
    BLOCK_BYTES = 32 * 1024,
    HEADER_BYTES = 4 + 2 + 1,
    BATCH_HEADER_BYTES = 8 + 4,
    CRC_SLICES = 8,
};
enum fragment { FRAGMENT_FULL = 1, FRAGMENT_FIRST = 2, FRAGMENT_MIDDLE = 3, FRAGMENT_LAST = 4 };

#define CRC32C_REVERSED 0x82f63b78u
#define CRC_MASK_DELTA 0xa282ead8u

struct log_reader {
    uint32_t crc_table[CRC_SLICES][256];
    uint8_t block[BLOCK_BYTES];
    uint8_t batch_header[BATCH_HEADER_BYTES]; /* of the record being read */
    size_t record_size;                       /* of its fragments so far */
    bool within_record;
    uint64_t *next_sequence; /* of a write-ahead log; 0 = unknown yet */
    uint64_t *oldest_log;    /* of a MANIFEST */
    uint8_t *edit;           /* the MANIFEST's record so far */
    size_t edit_bytes;       /* allocated */
    const char *what;
};

static uint64_t little_endian(const uint8_t *bytes, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* ---- CRC-32C, eight bytes at a time ---- */

static void crc_init(struct log_reader *reader)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? CRC32C_REVERSED : 0);
        reader->crc_table[0][byte] = crc;
    }
    for (int slice = 1; slice < CRC_SLICES; slice++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = reader->crc_table[slice - 1][byte];
            reader->crc_table[slice][byte] = (crc >> 8) ^ reader->crc_table[0][crc & 255];
        }
    }
}

static uint32_t crc_of(const struct log_reader *reader, const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word = little_endian(data, 8) ^ crc;
        crc = 0;
        for (int i = 0; i < 8; i++)
            crc ^= reader->crc_table[7 - i][(word >> (8 * i)) & 255];
    }
    for (; size > 0; data++, size--)
        crc = (crc >> 8) ^ reader->crc_table[0][(crc ^ *data) & 255];
    return ~crc;
}

static uint32_t unmask(uint32_t masked)
{
    uint32_t rotated = masked - CRC_MASK_DELTA;
    return (rotated >> 17) | (rotated << 15);
}

/* ---- records ---- */

static enum log_state flaw(struct log_reader *reader, enum log_state state, const char *what)
{
    reader->what = what;
    return state;
}

static void keep_of_edit(struct log_reader *reader, const uint8_t *payload, size_t size)
{
    size_t used = reader->record_size;
    if (used + size > EDIT_BYTES_MAX)
        return;
    if (used + size > reader->edit_bytes) {
        reader->edit_bytes = 2 * (used + size);
        reader->edit = realloc(reader->edit, reader->edit_bytes);
        assert(reader->edit != NULL);
    }
    memcpy(reader->edit + used, payload, size);
}

static enum log_state end_record(struct log_reader *reader)
{
    reader->within_record = false;
    if (reader->oldest_log != NULL) {
        if (reader->record_size <= EDIT_BYTES_MAX)
            manifest_edit_oldest_log(reader->edit, reader->record_size, reader->oldest_log);
        return LOG_WHOLE;
    }
    if (reader->record_size < BATCH_HEADER_BYTES)
        return flaw(reader, LOG_DAMAGED, "a record that is not a batch");
    uint64_t sequence = little_endian(reader->batch_header, 8);
    uint64_t count = little_endian(reader->batch_header + 8, 4);
    if (*reader->next_sequence != 0 && sequence != *reader->next_sequence)
        return flaw(reader, LOG_DAMAGED, "a gap between two records");
    *reader->next_sequence = sequence + count;
    return LOG_WHOLE;
}

static enum log_state take_fragment(struct log_reader *reader, enum fragment type,
                                    const uint8_t *payload, size_t size)
{
    bool begins = type == FRAGMENT_FULL || type == FRAGMENT_FIRST;
    if (begins == reader->within_record)
        return flaw(reader, LOG_DAMAGED, "fragments out of order");
    if (begins)
        reader->record_size = 0;
    if (reader->record_size < BATCH_HEADER_BYTES) {
        size_t missing = BATCH_HEADER_BYTES - reader->record_size;
        memcpy(reader->batch_header + reader->record_size, payload,
               size < missing ? size : missing);
    }
    if (reader->oldest_log != NULL && size > 0)
        keep_of_edit(reader, payload, size);
    reader->record_size += size;
    reader->within_record = true;
    if (type == FRAGMENT_FULL || type == FRAGMENT_LAST)
        return end_record(reader);
    return LOG_WHOLE;
}

static bool all_zero(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0)
            return false;
    }
    return true;
}

/* A block of `size` bytes; fewer than BLOCK_BYTES only at the end of the file. */
static enum log_state check_block(struct log_reader *reader, size_t size)
{
    const uint8_t *at = reader->block;
    const uint8_t *end = reader->block + size;
    while (end - at >= HEADER_BYTES) {
        size_t payload_size = (size_t)little_endian(at + 4, 2);
        if (payload_size > (size_t)(end - at) - HEADER_BYTES) {
            if (size < BLOCK_BYTES)
                return flaw(reader, LOG_TORN, "a record that is cut off");
            return flaw(reader, LOG_DAMAGED, "a record that is longer than its block");
        }
        uint32_t crc = (uint32_t)little_endian(at, 4);
        if (crc_of(reader, at + 6, 1 + payload_size) != unmask(crc))
            return flaw(reader, LOG_DAMAGED, "a record that does not match its checksum");
        if (at[6] < FRAGMENT_FULL || at[6] > FRAGMENT_LAST)
            return flaw(reader, LOG_DAMAGED, "a record of an unknown type");
        enum log_state state =
            take_fragment(reader, (enum fragment)at[6], at + HEADER_BYTES, payload_size);
        if (state != LOG_WHOLE)
            return state;
        at += HEADER_BYTES + payload_size;
    }
    if (size < BLOCK_BYTES && at < end)
        return flaw(reader, LOG_TORN, "a record that is cut off");
    if (!all_zero(at, (size_t)(end - at)))
        return flaw(reader, LOG_DAMAGED, "bytes behind the last record of a block");
    return LOG_WHOLE;
}

/* Bytes read, fewer than BLOCK_BYTES only at the end of the file; -1 on errors. */
static ssize_t read_block(int fd, uint8_t *block)
{
    size_t size = 0;
    while (size < BLOCK_BYTES) {
        ssize_t got = read(fd, block + size, BLOCK_BYTES - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static enum log_state check_blocks(struct log_reader *reader, int fd)
{
    for (;;) {
        ssize_t size = read_block(fd, reader->block);
        if (size < 0)
            return flaw(reader, LOG_DAMAGED, "a log that cannot be read");
        enum log_state state = check_block(reader, (size_t)size);
        if (state != LOG_WHOLE)
            return state;
        if (size < BLOCK_BYTES)
            break;
    }
    if (reader->within_record)
        return flaw(reader, LOG_TORN, "a record that is cut off");
    return LOG_WHOLE;
}

/* One of the two is not NULL: what kind of log it is. The first record of a write-ahead log must go
 * on with *next_sequence, unless that is 0; both are updated. */
static enum log_state check_file(const char *path, uint64_t *next_sequence, uint64_t *oldest_log,
                                 const char **ret_what)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *ret_what = "a log that cannot be opened";
        return LOG_DAMAGED;
    }
    struct log_reader *reader = calloc(1, sizeof(*reader));
    assert(reader != NULL);
    crc_init(reader);
    reader->next_sequence = next_sequence;
    reader->oldest_log = oldest_log;
    enum log_state state = check_blocks(reader, fd);
    if (state != LOG_WHOLE)
        *ret_what = reader->what;
    free(reader->edit);
    free(reader);
    close(fd);
    return state;
}

/* ---- the files of a store ---- */

/* The MANIFEST that CURRENT names; false when there is no store. A CURRENT that makes no sense
 * is left for RocksDB to refuse. */
static bool manifest_path(const char *path, char ret_path[PATH_MAX])
{
    char name[64] = {0};
    int size = snprintf(ret_path, PATH_MAX, "%s/CURRENT", path);
    int fd = size < PATH_MAX ? open(ret_path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    ssize_t got = read(fd, name, sizeof(name) - 1);
    close(fd);
    if (got <= 0)
        return false;
    name[strcspn(name, "\n")] = '\0';
    if (strncmp(name, "MANIFEST-", 9) != 0 || strchr(name, '/') != NULL)
        return false;
    size = snprintf(ret_path, PATH_MAX, "%s/%s", path, name);
    return size < PATH_MAX;
}

static int is_write_ahead_log(const struct dirent *entry)
{
    size_t digits = strspn(entry->d_name, "0123456789");
    return digits > 0 && strcmp(entry->d_name + digits, ".log") == 0;
}

static uint64_t number_of(const struct dirent *entry)
{
    struct text name = text_of(entry->d_name);
    uint64_t number = 0;
    number_take(&name, UINT64_MAX, &number);
    return number;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    uint64_t first = number_of(*a), second = number_of(*b);
    return (first > second) - (first < second);
}

/* RocksDB removes logs that it does not need any more, the newest of them first: a crash meanwhile
 * leaves a gap that means nothing. */
static enum log_state check_write_ahead_logs(const char *path, struct dirent **logs, int count,
                                             uint64_t oldest_log, const char **ret_what)
{
    enum log_state state = LOG_WHOLE;
    uint64_t next_sequence = 0;
    for (int i = 0; i < count && state == LOG_WHOLE; i++) {
        char log_path[PATH_MAX];
        if (number_of(logs[i]) < oldest_log)
            continue;
        if (snprintf(log_path, sizeof(log_path), "%s/%s", path, logs[i]->d_name) >= PATH_MAX) {
            *ret_what = "too long a path";
            return LOG_DAMAGED;
        }
        state = check_file(log_path, &next_sequence, NULL, ret_what);
        /* Only the newest one was being written. */
        if (state == LOG_TORN && i + 1 < count)
            state = LOG_DAMAGED;
    }
    return state;
}

enum log_state log_check_store(const char *path, const char **ret_what)
{
    char manifest[PATH_MAX];
    uint64_t oldest_log = 0;
    if (!manifest_path(path, manifest))
        return LOG_WHOLE;
    /* RocksDB syncs each record of it, so an end that is cut off is not normal. */
    if (check_file(manifest, NULL, &oldest_log, ret_what) != LOG_WHOLE)
        return LOG_DAMAGED;

    struct dirent **logs = NULL;
    int count = scandir(path, &logs, is_write_ahead_log, by_number);
    if (count < 0) {
        *ret_what = "a directory that cannot be read";
        return LOG_DAMAGED;
    }
    enum log_state state = check_write_ahead_logs(path, logs, count, oldest_log, ret_what);
    for (int i = 0; i < count; i++)
        free(logs[i]);
    free(logs);
    return state;
}
