/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/disk_guard.h"

#include "platform/logger.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MB (INT64_C(1) << 20)

static struct clock_manual manual;
static struct loop *loop;
static struct metrics *metrics;
static struct disk_guard *guard;
static int64_t free_now; /* -1: unknown */
static int ends[2];
static char got[16 * 1024];

static enum error_class free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error)
{
    cr_assert_str_eq(path, "/var/lib/reeve");
    if (free_now < 0)
        return error_set(ret_error, CODE_IO, "no answer");
    *ret_bytes = free_now;
    return ERROR_OK;
}

static void open_all(void)
{
    clock_manual_init(&manual, 0);
    cr_assert(loop_new(&manual.clock, &loop, NULL) == ERROR_OK);
    metrics = metrics_new();
    cr_assert(pipe2(ends, O_NONBLOCK) == 0);
    log_set_fd(ends[1]);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
}

static void close_all(void)
{
    disk_guard_free(guard);
    metrics_free(metrics);
    loop_free(loop);
    log_set_fd(-1);
    close(ends[0]);
    close(ends[1]);
}

TestSuite(disk_guard, .init = open_all, .fini = close_all);

static void begin(int64_t min_bytes)
{
    struct disk_guard_options options = {
        .path = "/var/lib/reeve", .min_bytes = min_bytes, .free_bytes = free_bytes};
    guard = disk_guard_new(loop, metrics, &options);
}

/* Advances the clock until the guard has checked again. */
static bool is_low_with(int64_t bytes)
{
    free_now = bytes;
    clock_manual_advance(&manual, DISK_GUARD_CHECK_MS);
    loop_once(loop, 0);
    return disk_guard_is_low(guard);
}

static const char *written(void)
{
    ssize_t size = read(ends[0], got, sizeof(got) - 1);
    got[size > 0 ? size : 0] = '\0';
    return got;
}

static bool shows(const char *line)
{
    size_t size = 0;
    char *text = metrics_render(metrics, &size);
    bool found = strstr(text, line) != NULL;
    free(text);
    return found;
}

Test(disk_guard, is_low_below_the_watermark_and_logs_each_change_once)
{
    char text[256] = "";
    free_now = 100 * MB;
    begin(100 * MB);
    cr_assert_not(disk_guard_is_low(guard));
    cr_assert_not(disk_guard_trouble(guard, text, sizeof(text)));
    cr_assert(shows("\nreeve_disk_low 0\n") && shows("\nreeve_disk_free_bytes 104857600\n"));
    cr_assert_eq(disk_guard_free_bytes(guard), 104857600);
    cr_assert_eq(disk_guard_free_bytes(NULL), -1);
    cr_assert_str_eq(written(), "");

    cr_assert(is_low_with(100 * MB - 1));
    cr_assert(is_low_with(40 * MB));
    cr_assert(disk_guard_trouble(guard, text, sizeof(text)));
    cr_assert_str_eq(text, "/var/lib/reeve has 40 MB of free space; disk.free.min.mb is "
                           "100: the service pauses until there is more");
    cr_assert(shows("\nreeve_disk_low 1\n"));
    const char *line = written();
    cr_assert(strstr(line, "level=warning") != NULL && strstr(line, "code=DiskLow") != NULL);
    cr_assert(strchr(line, '\n') == line + strlen(line) - 1, "more than one line: %s", line);

    cr_assert_not(is_low_with(200 * MB));
    cr_assert_not(is_low_with(201 * MB));
    cr_assert(shows("\nreeve_disk_low 0\n"));
    line = written();
    cr_assert(strstr(line, "resumed") != NULL && strstr(line, "free_mb=200") != NULL, "%s", line);
    cr_assert(strchr(line, '\n') == line + strlen(line) - 1, "more than one line: %s", line);
}

Test(disk_guard, does_not_flap_at_the_watermark)
{
    free_now = 99 * MB;
    begin(100 * MB);
    cr_assert(disk_guard_is_low(guard), "it has looked at its beginning");
    cr_assert(is_low_with(100 * MB));
    cr_assert(is_low_with(106 * MB));
    cr_assert_not(is_low_with(107 * MB));
    cr_assert_not(is_low_with(100 * MB));
    /* however large the watermark, the margin is 64 MB at most */
    disk_guard_free(guard);
    free_now = 0;
    begin(1000000 * MB);
    cr_assert(is_low_with(1000063 * MB));
    cr_assert_not(is_low_with(1000064 * MB));
}

Test(disk_guard, keeps_the_last_result_when_a_check_fails)
{
    free_now = 0;
    begin(MB);
    cr_assert(is_low_with(-1));
    cr_assert_not(is_low_with(2 * MB));
    cr_assert_not(is_low_with(-1));
}

Test(disk_guard, is_never_low_without_a_watermark_or_a_guard)
{
    free_now = 0;
    begin(0);
    cr_assert_not(disk_guard_is_low(guard));
    cr_assert_not(disk_guard_is_low(NULL));
    disk_guard_free(NULL);
}
