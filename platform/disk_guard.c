/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/disk_guard.h"

#include "platform/files.h"
#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MARGIN_PART = 16, MARGIN_BYTES_MAX = 64 * 1024 * 1024 };

struct disk_guard {
    struct loop *loop;
    struct disk_guard_options options;
    struct loop_timer timer;
    struct metrics_gauge *free;
    struct metrics_gauge *low_gauge;
    int64_t free_bytes;
    bool low;
};

static long long megabytes(int64_t bytes)
{
    return (long long)(bytes >> 20);
}

bool disk_guard_trouble(const struct disk_guard *guard, char *ret_text, size_t size)
{
    if (!disk_guard_is_low(guard))
        return false;
    snprintf(ret_text, size,
             "%s has %lld MB of free space; disk.free.min.mb is %lld: the service pauses until "
             "there is more",
             guard->options.path, megabytes(guard->free_bytes),
             megabytes(guard->options.min_bytes));
    return true;
}

static void log_change(const struct disk_guard *guard)
{
    char text[ERROR_MESSAGE_SIZE];
    if (disk_guard_trouble(guard, text, sizeof(text)))
        log_warning("paused: too little free disk space",
                    LOG_TEXT("code", error_code_text(CODE_DISK_LOW)), LOG_STR("reason", text));
    else
        log_info("resumed: enough free disk space again", LOG_STR("data_dir", guard->options.path),
                 LOG_I64("free_mb", megabytes(guard->free_bytes)));
}

static void check(struct disk_guard *guard)
{
    struct error error;
    int64_t margin = guard->options.min_bytes / MARGIN_PART;
    if (guard->options.free_bytes(guard->options.path, &guard->free_bytes, &error) != ERROR_OK) {
        log_warning_limited("cannot read the free disk space", LOG_ERR(&error));
        return;
    }
    if (margin > MARGIN_BYTES_MAX)
        margin = MARGIN_BYTES_MAX;
    bool low = guard->free_bytes < guard->options.min_bytes + (guard->low ? margin : 0);
    metrics_set(guard->free, (double)guard->free_bytes);
    metrics_set(guard->low_gauge, low ? 1 : 0);
    if (low == guard->low)
        return;
    guard->low = low;
    log_change(guard);
}

static void on_timer(void *ctx)
{
    struct disk_guard *guard = ctx;
    loop_timer_after(guard->loop, &guard->timer, DISK_GUARD_CHECK_MS);
    check(guard);
}

struct disk_guard *disk_guard_new(struct loop *loop, struct metrics *metrics,
                                  const struct disk_guard_options *options)
{
    struct disk_guard *guard = calloc(1, sizeof(*guard));
    assert(guard != NULL && options->min_bytes >= 0);
    guard->loop = loop;
    guard->options = *options;
    guard->free_bytes = -1;
    if (guard->options.free_bytes == NULL)
        guard->options.free_bytes = files_free_bytes;
    guard->free = metrics_gauge(metrics, "reeve_disk_free_bytes",
                                "Free space on the disk of the data directory.", METRICS_NO_LABELS);
    guard->low_gauge =
        metrics_gauge(metrics, "reeve_disk_low",
                      "1 while free space is below disk.free.min.mb and the service is paused.",
                      METRICS_NO_LABELS);
    loop_timer_init(&guard->timer, on_timer, guard);
    loop_timer_after(loop, &guard->timer, DISK_GUARD_CHECK_MS);
    check(guard);
    return guard;
}

void disk_guard_free(struct disk_guard *guard)
{
    if (guard == NULL)
        return;
    loop_timer_cancel(guard->loop, &guard->timer);
    free(guard);
}

bool disk_guard_is_low(const struct disk_guard *guard)
{
    return guard != NULL && guard->low;
}

int64_t disk_guard_free_bytes(const struct disk_guard *guard)
{
    return guard != NULL ? guard->free_bytes : -1;
}
