/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one partition: record batches (magic 2, as KIP-98 and Kafka's "Record Batch" describe
 * them) one after the other in one file, with an index of them in memory. What is deleted at its
 * beginning becomes a hole in the file, so that positions never change.
 *
 * A batch is in the file before its append returns. Codes are Kafka's (rd_kafka_resp_err_t). */
#ifndef KAFKA_EMBEDDED_PARTITION_LOG_H
#define KAFKA_EMBEDDED_PARTITION_LOG_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct partition_log;

/* Where a log begins: what is before was deleted. */
struct partition_log_start {
    int64_t offset;
    uint64_t position; /* of the batch that holds it */
};

enum { PARTITION_LOG_BATCH_MAX = 16 << 20, PARTITION_LOG_HEADER = 61 };

/* New. Makes the file if there is none; `path` NULL: the log ends with the process. A batch at the
 * end that is not all there was never acknowledged, and is cut off. FATAL: the file cannot be read
 * or written, or is damaged. */
enum error_class partition_log_open(const char *path, struct partition_log_start start,
                                    uint64_t bytes_max, struct partition_log **ret_log,
                                    struct error *ret_error);
/* NULL does nothing. */
void partition_log_close(struct partition_log *log);

/* `batch` gets its offset, and, if `append_time_ms` is not 0, that time. A batch that its producer
 * sends again is not appended again: *ret_offset is where it is. KAFKA_STORAGE_ERROR: the log or
 * the disk is full. */
rd_kafka_resp_err_t partition_log_append(struct partition_log *log, struct buffer *batch,
                                         int64_t append_time_ms, int64_t *ret_offset);

int64_t partition_log_end(const struct partition_log *log); /* of the next record */
struct partition_log_start partition_log_start(const struct partition_log *log);
uint64_t partition_log_bytes(const struct partition_log *log);

/* How many bytes partition_log_read gives: whole batches up to `max`, at least one if there is one;
 * 0 outside the log. */
size_t partition_log_readable(const struct partition_log *log, int64_t offset, size_t max);
/* Appends as many to `buffer`; the first batch is that of `offset`. False: the disk failed. */
bool partition_log_read(const struct partition_log *log, int64_t offset, size_t size,
                        struct buffer *buffer);

/* The first batch with a timestamp of at least `time_ms`: its first offset, and its latest
 * timestamp; -1, -1: there is none. */
int64_t partition_log_at_time(const struct partition_log *log, int64_t time_ms,
                              int64_t *ret_time_ms);
/* Deletes the records before `offset`, which is not after the end. */
void partition_log_delete(struct partition_log *log, int64_t offset);
/* Up to where all batches are older than `time_ms`. */
int64_t partition_log_older(const struct partition_log *log, int64_t time_ms);

#endif
