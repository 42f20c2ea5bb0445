/* SPDX-License-Identifier: Apache-2.0 */
/* See partition_log.h. */
#include "kafka/embedded/partition_log.h"

#include "base/bytes.h"
#include "kafka/embedded/crc32c.h"
#include "kafka/embedded/producers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the fields of a batch's header are. */
enum {
    AT_OFFSET = 0,
    AT_LENGTH = 8, /* of what follows it */
    AT_MAGIC = 16,
    AT_CRC = 17, /* of what follows it */
    AT_ATTRIBUTES = 21,
    AT_LAST_DELTA = 23,
    AT_MAX_TIME = 35,
    AT_PRODUCER = 43,
    AT_EPOCH = 51,
    AT_SEQUENCE = 53,
    AT_COUNT = 57,
    LENGTH_END = 12,
    MAGIC = 2,
    APPEND_TIME = 1 << 3, /* these are attributes */
    TRANSACTIONAL = 1 << 4,
    CONTROL = 1 << 5,
};

struct log_batch {
    int64_t offset;
    uint64_t position;
    int64_t max_time_ms;
};

struct partition_log {
    char *path; /* NULL: none */
    int fd;
    struct log_batch *batches; /* [first, count) are in the log */
    size_t first;
    size_t count;
    size_t capacity;
    struct partition_log_start start;
    int64_t end;
    uint64_t end_position;
    uint64_t bytes_max;
    struct producers producers;
};

static uint64_t field(const void *batch, size_t at, size_t size)
{
    return bytes_get_be((const uint8_t *)batch + at, size);
}

static int64_t last_delta(const void *batch)
{
    return (int32_t)field(batch, AT_LAST_DELTA, 4);
}

static bool is_whole(const void *batch, size_t size)
{
    return size >= PARTITION_LOG_HEADER && field(batch, AT_LENGTH, 4) == size - LENGTH_END &&
           field(batch, AT_MAGIC, 1) == MAGIC && last_delta(batch) >= 0 &&
           field(batch, AT_CRC, 4) ==
               crc32c((const uint8_t *)batch + AT_ATTRIBUTES, size - AT_ATTRIBUTES);
}

static struct producer_batch sequence_of(const void *batch)
{
    return (struct producer_batch){.producer = (int64_t)field(batch, AT_PRODUCER, 8),
                                   .epoch = (int16_t)field(batch, AT_EPOCH, 2),
                                   .first = (int32_t)field(batch, AT_SEQUENCE, 4),
                                   .last_delta = (int32_t)last_delta(batch),
                                   .offset = (int64_t)field(batch, AT_OFFSET, 8)};
}

/* It is in the file. */
static void add(struct partition_log *log, const void *batch, size_t size)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity > 0 ? 2 * log->capacity : 64;
        log->batches = realloc(log->batches, log->capacity * sizeof(*log->batches));
        assert(log->batches != NULL);
    }
    log->batches[log->count++] =
        (struct log_batch){.offset = (int64_t)field(batch, AT_OFFSET, 8),
                           .position = log->end_position,
                           .max_time_ms = (int64_t)field(batch, AT_MAX_TIME, 8)};
    producers_add(&log->producers, sequence_of(batch));
    log->end = (int64_t)field(batch, AT_OFFSET, 8) + last_delta(batch) + 1;
    log->end_position += size;
}

/* ---- opening ---- */

static enum error_class failed(const struct partition_log *log, const char *what,
                               struct error *ret_error)
{
    return error_set_as(ret_error, ERROR_FATAL, CODE_EMBEDDED, "cannot %s %s: %s", what,
                        log->path != NULL ? log->path : "a partition in memory", strerror(errno));
}

static bool read_at(const struct partition_log *log, void *to, size_t size, uint64_t position)
{
    uint8_t *at = to;
    while (size > 0) {
        ssize_t got = pread(log->fd, at, size, (off_t)position);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        position += (size_t)got;
        size -= (size_t)got;
    }
    return true;
}

static enum error_class read_batch(struct partition_log *log, uint64_t left, struct buffer *buffer,
                                   size_t *ret_size, struct error *ret_error)
{
    uint8_t header[LENGTH_END];
    *ret_size = 0;
    if (left < sizeof(header))
        return ERROR_OK;
    if (!read_at(log, header, sizeof(header), log->end_position))
        return failed(log, "read", ret_error);
    size_t size = LENGTH_END + (size_t)field(header, AT_LENGTH, 4);
    if (size > PARTITION_LOG_BATCH_MAX || size < PARTITION_LOG_HEADER)
        goto damaged;
    if (size > left)
        return ERROR_OK;
    buffer->size = 0;
    buffer_reserve(buffer, size);
    if (!read_at(log, buffer->data, size, log->end_position))
        return failed(log, "read", ret_error);
    buffer->size = size;
    *ret_size = size;
    if (is_whole(buffer->data, size) &&
        (log->count == 0 ? (int64_t)field(buffer->data, AT_OFFSET, 8) <= log->start.offset
                         : (int64_t)field(buffer->data, AT_OFFSET, 8) == log->end))
        return ERROR_OK;
damaged:
    return error_set_as(ret_error, ERROR_FATAL, CODE_EMBEDDED,
                        "%s is damaged at byte %" PRIu64 ": restore it, or delete the state",
                        log->path, log->end_position);
}

static enum error_class read_batches(struct partition_log *log, struct error *ret_error)
{
    struct stat status;
    struct buffer buffer = {0};
    enum error_class class = ERROR_OK;
    size_t size = 1;
    if (fstat(log->fd, &status) != 0)
        return failed(log, "read", ret_error);
    while (class == ERROR_OK && size > 0) {
        uint64_t left = (uint64_t)status.st_size - (log->end_position < (uint64_t)status.st_size
                                                        ? log->end_position
                                                        : (uint64_t)status.st_size);
        class = read_batch(log, left, &buffer, &size, ret_error);
        if (class == ERROR_OK && size > 0)
            add(log, buffer.data, size);
    }
    buffer_deinit(&buffer);
    if (class == ERROR_OK && (uint64_t)status.st_size > log->end_position &&
        ftruncate(log->fd, (off_t)log->end_position) != 0)
        class = failed(log, "write", ret_error);
    return class;
}

enum error_class partition_log_open(const char *path, struct partition_log_start start,
                                    uint64_t bytes_max, struct partition_log **ret_log,
                                    struct error *ret_error)
{
    struct partition_log *log = calloc(1, sizeof(*log));
    assert(log != NULL);
    log->path = path != NULL ? strdup(path) : NULL;
    log->start = start;
    log->end = start.offset;
    log->end_position = start.position;
    log->bytes_max = bytes_max;
    log->fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640)
                           : memfd_create("partition", MFD_CLOEXEC);
    enum error_class class =
        log->fd >= 0 ? read_batches(log, ret_error) : failed(log, "open", ret_error);
    if (class != ERROR_OK) {
        partition_log_close(log);
        return class;
    }
    *ret_log = log;
    return ERROR_OK;
}

void partition_log_close(struct partition_log *log)
{
    if (log == NULL)
        return;
    if (log->fd >= 0)
        close(log->fd);
    producers_deinit(&log->producers);
    free(log->batches);
    free(log->path);
    free(log);
}

/* ---- appending ---- */

static bool write_at_end(struct partition_log *log, const struct buffer *batch)
{
    size_t written = 0;
    while (written < batch->size) {
        ssize_t size = pwrite(log->fd, batch->data + written, batch->size - written,
                              (off_t)(log->end_position + written));
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        written += (size_t)size;
    }
    if (written == batch->size)
        return true;
    int result = ftruncate(log->fd, (off_t)log->end_position);
    (void)result; /* the next append writes over what is left */
    return false;
}

static rd_kafka_resp_err_t check(const struct partition_log *log, const struct buffer *batch)
{
    if (batch->size > PARTITION_LOG_BATCH_MAX)
        return RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    if (batch->size >= PARTITION_LOG_HEADER && field(batch->data, AT_MAGIC, 1) < MAGIC)
        return RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT;
    if (!is_whole(batch->data, batch->size))
        return RD_KAFKA_RESP_ERR_INVALID_MSG;
    if ((field(batch->data, AT_ATTRIBUTES, 2) & (TRANSACTIONAL | CONTROL)) != 0 ||
        (int32_t)field(batch->data, AT_COUNT, 4) != last_delta(batch->data) + 1)
        return RD_KAFKA_RESP_ERR_INVALID_RECORD;
    if (partition_log_bytes(log) + batch->size > log->bytes_max)
        return RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void set_fields(const struct partition_log *log, struct buffer *batch,
                       int64_t append_time_ms)
{
    uint64_t attributes = field(batch->data, AT_ATTRIBUTES, 2) & ~(uint64_t)APPEND_TIME;
    bytes_put_be(batch->data + AT_OFFSET, (uint64_t)log->end, 8);
    bytes_put_be(batch->data + LENGTH_END, 0, 4); /* the leader's epoch */
    if (append_time_ms != 0) {
        attributes |= APPEND_TIME;
        bytes_put_be(batch->data + AT_MAX_TIME, (uint64_t)append_time_ms, 8);
    }
    bytes_put_be(batch->data + AT_ATTRIBUTES, attributes, 2);
    bytes_put_be(batch->data + AT_CRC,
                 crc32c(batch->data + AT_ATTRIBUTES, batch->size - AT_ATTRIBUTES), 4);
}

rd_kafka_resp_err_t partition_log_append(struct partition_log *log, struct buffer *batch,
                                         int64_t append_time_ms, int64_t *ret_offset)
{
    rd_kafka_resp_err_t code = check(log, batch);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    code = producers_check(&log->producers, sequence_of(batch->data), ret_offset);
    if (code == RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    set_fields(log, batch, append_time_ms);
    if (!write_at_end(log, batch))
        return RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
    *ret_offset = log->end;
    add(log, batch->data, batch->size);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- reading ---- */

int64_t partition_log_end(const struct partition_log *log)
{
    return log->end;
}

struct partition_log_start partition_log_start(const struct partition_log *log)
{
    return log->start;
}

uint64_t partition_log_bytes(const struct partition_log *log)
{
    return log->end_position - log->start.position;
}

/* The batch that holds `offset`, which is in the log. */
static size_t find(const struct partition_log *log, int64_t offset)
{
    size_t low = log->first;
    size_t high = log->count;
    assert(offset >= log->start.offset && offset < log->end);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (log->batches[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t end_of(const struct partition_log *log, size_t batch)
{
    return batch + 1 < log->count ? log->batches[batch + 1].position : log->end_position;
}

size_t partition_log_readable(const struct partition_log *log, int64_t offset, size_t max)
{
    if (offset < log->start.offset || offset >= log->end)
        return 0;
    size_t batch = find(log, offset);
    uint64_t from = log->batches[batch].position;
    size_t low = batch; /* the last batch that is read */
    size_t high = log->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (end_of(log, middle) - from <= max)
            low = middle;
        else
            high = middle;
    }
    return (size_t)(end_of(log, low) - from);
}

bool partition_log_read(const struct partition_log *log, int64_t offset, size_t size,
                        struct buffer *buffer)
{
    if (size == 0)
        return true;
    buffer_reserve(buffer, size);
    if (!read_at(log, buffer->data + buffer->size, size, log->batches[find(log, offset)].position))
        return false;
    buffer->size += size;
    return true;
}

int64_t partition_log_at_time(const struct partition_log *log, int64_t time_ms,
                              int64_t *ret_time_ms)
{
    for (size_t i = log->first; i < log->count; i++) {
        const struct log_batch *batch = &log->batches[i];
        if (batch->max_time_ms < time_ms)
            continue;
        *ret_time_ms = batch->max_time_ms;
        return batch->offset > log->start.offset ? batch->offset : log->start.offset;
    }
    *ret_time_ms = -1;
    return -1;
}

/* ---- deleting ---- */

void partition_log_delete(struct partition_log *log, int64_t offset)
{
    assert(offset <= log->end);
    if (offset <= log->start.offset)
        return;
    log->first = offset < log->end ? find(log, offset) : log->count;
    log->start.offset = offset;
    log->start.position =
        log->first < log->count ? log->batches[log->first].position : log->end_position;
    /* Elsewhere than on Linux's usual file systems the space stays in use. */
    fallocate(log->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)log->start.position);
    if (log->first < log->count / 2) /* the index forgets them, too, once that is cheap */
        return;
    memmove(log->batches, log->batches + log->first,
            (log->count - log->first) * sizeof(*log->batches));
    log->count -= log->first;
    log->first = 0;
}

int64_t partition_log_older(const struct partition_log *log, int64_t time_ms)
{
    size_t i = log->first;
    while (i < log->count && log->batches[i].max_time_ms < time_ms)
        i++;
    return i < log->count ? log->batches[i].offset : log->end;
}
