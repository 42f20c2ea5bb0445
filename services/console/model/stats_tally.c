/* SPDX-License-Identifier: Apache-2.0 */
/* The tally in the store, numbers little-endian:
 *
 *     format u8
 *     count of buckets u32, each: number i64, a count u32 per rate
 *     count of steps u32, each: size of key u16, key, orders i64; orders of others i64
 *     count of causes u32, each: size of key u16, key, orders i64, latest i64, size of message u16,
 *         message; orders of others i64
 *     count of windows u32, each: size of key u16, key, number i64,
 *         count of classes u8, each: class u8, count u32
 *
 * A value that a window or bucket does not count is left out. */
#include "base/bytes.h"
#include "services/console/model/stats_internal.h"

#include <assert.h>

enum { FORMAT = 3 };

/* ---- writing ---- */

static void put_key(struct buffer *buffer, const char *key, uint32_t size)
{
    assert(size > 0 && size <= STATS_KEY_MAX);
    buffer_append_le(buffer, size, 2);
    buffer_append(buffer, key, size);
}

/* Writes `count` where `buffer_append_le(buffer, 0, 4)` made room for it. */
static void set_count(struct buffer *buffer, size_t place, uint32_t count)
{
    bytes_put_le((uint8_t *)buffer->data + place, count, 4);
}

static void put_rates(struct buffer *buffer, const struct stats *stats)
{
    uint32_t count = 0;
    size_t place = buffer->size;
    buffer_append_le(buffer, 0, 4);
    for (int i = 0; i < STATS_BUCKETS; i++) {
        if (stats->rates[i].number == 0)
            continue;
        count++;
        buffer_append_le(buffer, (uint64_t)stats->rates[i].number, 8);
        for (int rate = 0; rate < STATS_RATE_COUNT; rate++)
            buffer_append_le(buffer, stats->rates[i].counts[rate], 4);
    }
    set_count(buffer, place, count);
}

static void put_window(struct buffer *buffer, const struct stats_durations *row, int window)
{
    uint8_t classes = 0;
    const uint32_t *counts = row->windows[window].counts;
    for (uint32_t class = 0; class < STATS_DURATIONS; class ++)
        classes = (uint8_t)(classes + (counts[class] > 0));
    put_key(buffer, row->key, row->key_size);
    buffer_append_le(buffer, (uint64_t)row->windows[window].number, 8);
    buffer_append_le(buffer, classes, 1);
    for (uint32_t class = 0; class < STATS_DURATIONS; class ++) {
        if (counts[class] == 0)
            continue;
        buffer_append_le(buffer, class, 1);
        buffer_append_le(buffer, counts[class], 4);
    }
}

void stats_encode(const void *ctx, struct buffer *buffer)
{
    const struct stats *stats = ctx;
    uint32_t windows = 0;
    buffer_append_le(buffer, FORMAT, 1);
    put_rates(buffer, stats);
    buffer_append_le(buffer, HASH_COUNT(stats->steps), 4);
    for (const struct stats_group *row = stats->steps; row != NULL; row = row->hh.next) {
        put_key(buffer, row->key, row->key_size);
        buffer_append_le(buffer, (uint64_t)row->orders, 8);
    }
    buffer_append_le(buffer, (uint64_t)stats->other_steps, 8);
    buffer_append_le(buffer, HASH_COUNT(stats->causes), 4);
    for (const struct stats_group *row = stats->causes; row != NULL; row = row->hh.next) {
        put_key(buffer, row->key, row->key_size);
        buffer_append_le(buffer, (uint64_t)row->orders, 8);
        buffer_append_le(buffer, (uint64_t)row->latest_at, 8);
        buffer_append_le(buffer, row->message_size, 2);
        buffer_append(buffer, row->message, row->message_size);
    }
    buffer_append_le(buffer, (uint64_t)stats->other_causes, 8);
    size_t place = buffer->size;
    buffer_append_le(buffer, 0, 4);
    for (const struct stats_durations *row = stats->durations; row != NULL; row = row->hh.next) {
        for (int i = 0; i < STATS_WINDOWS; i++) {
            if (row->windows[i].number == 0)
                continue;
            put_window(buffer, row, i);
            windows++;
        }
    }
    set_count(buffer, place, windows);
}

/* ---- reading: the store may be damaged ---- */

/* Takes a number off the front; false when it is not all there, or not from `min` to `max`. */
static bool take(struct text *rest, size_t size, int64_t min, int64_t max, int64_t *ret_value)
{
    uint64_t value = 0;
    if (!bytes_take_le(rest, size, &value))
        return false;
    *ret_value = (int64_t)value;
    return *ret_value >= min && *ret_value <= max;
}

/* A key has `parts` texts, each ends with a zero. */
static bool take_key(struct text *rest, uint32_t parts, struct text *ret_key)
{
    int64_t size = 0;
    uint32_t zeros = 0;
    if (!take(rest, 2, 1, STATS_KEY_MAX, &size) || rest->size < (uint32_t)size)
        return false;
    *ret_key = (struct text){rest->data, (uint32_t)size};
    for (uint32_t i = 0; i < ret_key->size; i++)
        zeros += ret_key->data[i] == '\0';
    *rest = text_from(*rest, (uint32_t)size);
    return zeros == parts && ret_key->data[ret_key->size - 1] == '\0';
}

static bool take_rates(struct stats *stats, struct text *rest)
{
    int64_t buckets = 0, number = 0, count = 0;
    if (!take(rest, 4, 0, STATS_BUCKETS, &buckets))
        return false;
    for (int64_t i = 0; i < buckets; i++) {
        if (!take(rest, 8, 1, INT64_MAX, &number))
            return false;
        for (int rate = 0; rate < STATS_RATE_COUNT; rate++) {
            if (!take(rest, 4, 0, UINT32_MAX, &count))
                return false;
            stats_add_rate(stats, number, (enum stats_rate)rate, (uint32_t)count);
        }
    }
    return true;
}

static bool take_steps(struct stats *stats, struct text *rest)
{
    struct text key;
    int64_t rows = 0, orders = 0;
    if (!take(rest, 4, 0, STATS_STEPS_MAX, &rows))
        return false;
    for (int64_t i = 0; i < rows; i++) {
        if (!take_key(rest, 2, &key) || !take(rest, 8, 1, INT64_MAX / 4, &orders))
            return false;
        stats_add_steps(stats, key.data, key.size, orders);
    }
    return take(rest, 8, 0, INT64_MAX / 4, &stats->other_steps);
}

static bool take_causes(struct stats *stats, struct text *rest)
{
    struct text key;
    int64_t rows = 0, orders = 0, at = 0, size = 0;
    if (!take(rest, 4, 0, STATS_ERRORS_MAX, &rows))
        return false;
    for (int64_t i = 0; i < rows; i++) {
        if (!take_key(rest, 4, &key) || !take(rest, 8, 1, INT64_MAX / 4, &orders) ||
            !take(rest, 8, INT64_MIN, INT64_MAX, &at) ||
            !take(rest, 2, 0, STATS_MESSAGE_MAX, &size) || rest->size < (uint32_t)size)
            return false;
        struct text message = {rest->data, (uint32_t)size};
        *rest = text_from(*rest, (uint32_t)size);
        stats_add_cause(stats, key.data, key.size, message, orders, at);
    }
    return take(rest, 8, 0, INT64_MAX / 4, &stats->other_causes);
}

static bool take_window(struct stats *stats, struct text *rest)
{
    struct text key;
    int64_t number = 0, classes = 0, class = 0, count = 0;
    if (!take_key(rest, 2, &key) || !take(rest, 8, 1, INT64_MAX, &number) ||
        !take(rest, 1, 0, STATS_DURATIONS, &classes))
        return false;
    struct stats_durations *row = stats_durations_of(stats, key.data, key.size, 0);
    for (int64_t i = 0; i < classes; i++) {
        if (!take(rest, 1, 0, STATS_DURATIONS - 1, &class) || !take(rest, 4, 1, UINT32_MAX, &count))
            return false;
        if (row != NULL)
            stats_add_duration(row, number, (uint32_t) class, (uint32_t)count);
    }
    return row != NULL;
}

bool stats_decode(void *ctx, struct text tally)
{
    struct stats *stats = ctx;
    int64_t format = 0, windows = 0;
    if (!take(&tally, 1, FORMAT, FORMAT, &format) || !take_rates(stats, &tally) ||
        !take_steps(stats, &tally) || !take_causes(stats, &tally) ||
        !take(&tally, 4, 0, STATS_STEPS_MAX * STATS_WINDOWS, &windows))
        return false;
    for (int64_t i = 0; i < windows; i++)
        if (!take_window(stats, &tally))
            return false;
    return tally.size == 0;
}
