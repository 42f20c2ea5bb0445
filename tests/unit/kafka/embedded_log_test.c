/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one partition of the embedded broker: offsets, what survives, what is refused. */
#include "base/bytes.h"
#include "kafka/embedded/crc32c.h"
#include "kafka/embedded/partition_log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 3 /* of each batch */, BODY = 30, BATCH_SIZE = PARTITION_LOG_HEADER + BODY };
#define BYTES_MAX (UINT64_C(1) << 20)

static char folder[PATH_MAX];
static char path[PATH_MAX];
static struct partition_log *partition;

static void reopen_at(struct partition_log_start start, uint64_t bytes_max)
{
    struct error error = {0};
    partition_log_close(partition);
    partition = NULL;
    cr_assert_eq(partition_log_open(path, start, bytes_max, &partition, &error), ERROR_OK, "%s",
                 error.message);
}

static void reopen(void)
{
    reopen_at((struct partition_log_start){0}, BYTES_MAX);
}

static void set_up(void)
{
    snprintf(folder, sizeof(folder), "/tmp/embedded-log-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%.200s/t-0.log", folder);
    reopen();
}

static void tear_down(void)
{
    partition_log_close(partition);
    unlink(path);
    rmdir(folder);
}

TestSuite(embedded_log, .init = set_up, .fini = tear_down);

/* As a client sends it; `producer` -1: not an idempotent one. Freed by append(). */
static struct buffer batch_of(int64_t producer, int16_t epoch, int32_t sequence, int64_t time_ms)
{
    struct buffer batch = {0};
    buffer_reserve(&batch, BATCH_SIZE);
    batch.size = BATCH_SIZE;
    memset(batch.data, 'x', BATCH_SIZE);
    bytes_put_be(batch.data, 0, 8);
    bytes_put_be(batch.data + 8, BATCH_SIZE - 12, 4);
    bytes_put_be(batch.data + 12, UINT32_MAX, 4);
    batch.data[16] = 2;
    bytes_put_be(batch.data + 21, 0, 2);
    bytes_put_be(batch.data + 23, RECORDS - 1, 4);
    bytes_put_be(batch.data + 27, (uint64_t)time_ms, 8);
    bytes_put_be(batch.data + 35, (uint64_t)time_ms, 8);
    bytes_put_be(batch.data + 43, (uint64_t)producer, 8);
    bytes_put_be(batch.data + 51, (uint16_t)epoch, 2);
    bytes_put_be(batch.data + 53, (uint32_t)sequence, 4);
    bytes_put_be(batch.data + 57, RECORDS, 4);
    bytes_put_be(batch.data + 17, crc32c(batch.data + 21, BATCH_SIZE - 21), 4);
    return batch;
}

static rd_kafka_resp_err_t append_batch(struct buffer batch, int64_t *ret_offset)
{
    rd_kafka_resp_err_t code = partition_log_append(partition, &batch, 0, ret_offset);
    buffer_deinit(&batch);
    return code;
}

/* At that offset. */
static void append(int64_t expected, int64_t time_ms)
{
    int64_t offset = -1;
    cr_assert_eq(append_batch(batch_of(-1, -1, -1, time_ms), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(offset, expected);
}

static int64_t first_offset_read(int64_t offset)
{
    struct buffer buffer = {0};
    size_t size = partition_log_readable(partition, offset, 1);
    cr_assert_eq(size, BATCH_SIZE);
    cr_assert(partition_log_read(partition, offset, size, &buffer));
    int64_t first = (int64_t)bytes_get_be(buffer.data, 8);
    cr_assert_eq(bytes_get_be(buffer.data + 17, 4), crc32c(buffer.data + 21, BATCH_SIZE - 21));
    buffer_deinit(&buffer);
    return first;
}

Test(embedded_log, knows_the_checksum_of_rfc_3720)
{
    cr_assert_eq(crc32c("123456789", 9), 0xe3069283);
    cr_assert_eq(crc32c("", 0), 0);
}

Test(embedded_log, keeps_records_at_their_offsets)
{
    append(0, 10);
    append(3, 11);
    reopen();
    append(6, 12);
    cr_assert_eq(partition_log_end(partition), 9);
    cr_assert_eq(first_offset_read(0), 0);
    cr_assert_eq(first_offset_read(4), 3);
    cr_assert_eq(first_offset_read(8), 6);
    cr_assert_eq(partition_log_readable(partition, 9, 1000), 0);
}

Test(embedded_log, reads_whole_batches_up_to_a_size)
{
    for (int i = 0; i < 4; i++)
        append(3 * i, 10);
    cr_assert_eq(partition_log_readable(partition, 1, 2 * BATCH_SIZE), 2 * BATCH_SIZE);
    cr_assert_eq(partition_log_readable(partition, 1, 3 * BATCH_SIZE - 1), 2 * BATCH_SIZE);
    cr_assert_eq(partition_log_readable(partition, 1, 100 * BATCH_SIZE), 4 * BATCH_SIZE);
}

Test(embedded_log, sets_append_times)
{
    int64_t offset;
    int64_t time_ms;
    struct buffer batch = batch_of(-1, -1, -1, 10);
    cr_assert_eq(partition_log_append(partition, &batch, 5000, &offset),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    buffer_deinit(&batch);
    cr_assert_eq(first_offset_read(0), 0);
    cr_assert_eq(partition_log_at_time(partition, 5000, &time_ms), 0);
    cr_assert_eq(time_ms, 5000);
}

/* A kill in the middle of a write. */
Test(embedded_log, cuts_off_what_was_not_written_to_its_end)
{
    append(0, 10);
    append(3, 10);
    cr_assert_eq(truncate(path, 2 * BATCH_SIZE - 7), 0);
    reopen();
    cr_assert_eq(partition_log_end(partition), 3);
    append(3, 10);
    cr_assert_eq(truncate(path, 2 * BATCH_SIZE + 5), 0);
    reopen();
    cr_assert_eq(partition_log_end(partition), 6);
}

Test(embedded_log, reports_damage)
{
    struct error error = {0};
    append(0, 10);
    append(3, 10);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_eq(pwrite(fd, "y", 1, PARTITION_LOG_HEADER + 1), 1);
    close(fd);
    partition_log_close(partition);
    partition = NULL;
    cr_assert_eq(
        partition_log_open(path, (struct partition_log_start){0}, BYTES_MAX, &partition, &error),
        ERROR_FATAL);
    cr_assert_not_null(strstr(error.message, "is damaged at byte 0"), "%s", error.message);
}

Test(embedded_log, refuses_what_is_not_a_batch)
{
    int64_t offset;
    struct buffer batch = batch_of(-1, -1, -1, 10);
    batch.data[BATCH_SIZE - 1] ^= 1;
    cr_assert_eq(append_batch(batch, &offset), RD_KAFKA_RESP_ERR_INVALID_MSG);
    batch = batch_of(-1, -1, -1, 10);
    batch.data[16] = 1;
    cr_assert_eq(append_batch(batch, &offset), RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
    batch = batch_of(-1, -1, -1, 10);
    batch.size = 20;
    cr_assert_eq(append_batch(batch, &offset), RD_KAFKA_RESP_ERR_INVALID_MSG);
    cr_assert_eq(append_batch((struct buffer){0}, &offset), RD_KAFKA_RESP_ERR_INVALID_MSG);
    cr_assert_eq(partition_log_end(partition), 0);
}

Test(embedded_log, knows_a_batch_that_is_sent_again)
{
    int64_t offset = -1;
    cr_assert_eq(append_batch(batch_of(7, 0, 0, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    append(3, 10);
    cr_assert_eq(append_batch(batch_of(7, 0, 3, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(offset, 6);
    reopen();
    cr_assert_eq(append_batch(batch_of(7, 0, 0, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(offset, 0);
    cr_assert_eq(append_batch(batch_of(7, 0, 3, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(offset, 6);
    cr_assert_eq(partition_log_end(partition), 9);
}

Test(embedded_log, refuses_batches_that_overtake)
{
    int64_t offset;
    cr_assert_eq(append_batch(batch_of(7, 1, 0, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(append_batch(batch_of(7, 1, 6, 10), &offset),
                 RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    cr_assert_eq(append_batch(batch_of(7, 0, 3, 10), &offset),
                 RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
    cr_assert_eq(append_batch(batch_of(7, 2, 3, 10), &offset),
                 RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    cr_assert_eq(append_batch(batch_of(7, 2, 0, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(embedded_log, counts_sequences_beyond_their_last_number)
{
    int64_t offset;
    cr_assert_eq(append_batch(batch_of(7, 0, INT32_MAX - 1, 10), &offset),
                 RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(append_batch(batch_of(7, 0, 1, 10), &offset), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(embedded_log, refuses_more_than_it_may_hold_and_loses_nothing)
{
    int64_t offset = -1;
    reopen_at((struct partition_log_start){0}, 2 * BATCH_SIZE);
    append(0, 10);
    append(3, 10);
    cr_assert_eq(append_batch(batch_of(-1, -1, -1, 10), &offset),
                 RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR);
    cr_assert_eq(first_offset_read(0), 0);
    partition_log_delete(partition, 3);
    append(6, 10);
}

Test(embedded_log, begins_where_it_was_deleted)
{
    for (int i = 0; i < 20; i++)
        append(3 * i, 10);
    partition_log_delete(partition, 40);
    struct partition_log_start start = partition_log_start(partition);
    cr_assert_eq(start.offset, 40);
    cr_assert_eq(partition_log_readable(partition, 39, 1000), 0);
    cr_assert_eq(first_offset_read(40), 39);
    reopen_at(start, BYTES_MAX);
    cr_assert_eq(first_offset_read(41), 39);
    append(60, 10);
    partition_log_delete(partition, 63);
    start = partition_log_start(partition);
    reopen_at(start, BYTES_MAX);
    cr_assert_eq(partition_log_end(partition), 63);
    append(63, 10);
}

Test(embedded_log, finds_the_records_of_a_time)
{
    int64_t time_ms;
    append(0, 10);
    append(3, 20);
    append(6, 30);
    cr_assert_eq(partition_log_at_time(partition, 15, &time_ms), 3);
    cr_assert_eq(time_ms, 20);
    cr_assert_eq(partition_log_at_time(partition, 31, &time_ms), -1);
    cr_assert_eq(partition_log_older(partition, 10), 0);
    cr_assert_eq(partition_log_older(partition, 21), 6);
    cr_assert_eq(partition_log_older(partition, 100), 9);
}
