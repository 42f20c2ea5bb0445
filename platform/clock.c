/* SPDX-License-Identifier: Apache-2.0 */
/* The real clock and the one that tests set. See clock.h. */
#include "platform/clock.h"

#include "base/numbers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    int rc = clock_gettime(id, &now);
    assert(rc == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#ifdef REEVE_FAILPOINTS
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OFFSET_FILE_BYTES = 24 };

static int64_t wall_offset_ms;
static const char *wall_offset_text; /* a file that may change; NULL: none */

static void read_wall_offset(void)
{
    const char *path = getenv("REEVE_CLOCK_OFFSET_FILE");
    const char *text = getenv("REEVE_CLOCK_OFFSET_MS");
    number_parse(text_of(text), INT64_MIN, INT64_MAX, &wall_offset_ms);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, OFFSET_FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        wall_offset_text = mapped;
}

static int64_t wall_offset(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_wall_offset);
    if (wall_offset_text == NULL)
        return wall_offset_ms;
    size_t size = strspn(wall_offset_text, "-0123456789");
    int64_t offset_ms = 0;
    number_parse((struct text){wall_offset_text, (uint32_t)size}, INT64_MIN, INT64_MAX, &offset_ms);
    return offset_ms;
}
#else
static int64_t wall_offset(void)
{
    return 0;
}
#endif

static int64_t real_wall_ms(void *ctx)
{
    (void)ctx;
    return read_us(CLOCK_REALTIME) / 1000 + wall_offset();
}

static int64_t real_mono_ms(void *ctx)
{
    (void)ctx;
    return read_us(CLOCK_BOOTTIME) / 1000;
}

static int64_t real_mono_us(void *ctx)
{
    (void)ctx;
    return read_us(CLOCK_BOOTTIME);
}

struct timespec clock_monotonic_after(int64_t ms)
{
    int64_t until_us = read_us(CLOCK_MONOTONIC) + ms * 1000;
    assert(ms >= 0 && ms <= CLOCK_AFTER_MS_MAX);
    return (struct timespec){.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
}

const struct clock *clock_real(void)
{
    static const struct clock real = {real_wall_ms, real_mono_ms, real_mono_us, NULL};
    return &real;
}

static int64_t manual_wall_ms(void *ctx)
{
    return ((struct clock_manual *)ctx)->now_wall_ms;
}

static int64_t manual_mono_ms(void *ctx)
{
    return ((struct clock_manual *)ctx)->now_mono_us / 1000;
}

static int64_t manual_mono_us(void *ctx)
{
    return ((struct clock_manual *)ctx)->now_mono_us;
}

void clock_manual_init(struct clock_manual *manual, int64_t wall_ms)
{
    *manual = (struct clock_manual){
        .clock = {manual_wall_ms, manual_mono_ms, manual_mono_us, manual},
        .now_wall_ms = wall_ms,
        .now_mono_us = 1000000,
    };
}

void clock_manual_advance(struct clock_manual *manual, int64_t ms)
{
    assert(ms >= 0);
    manual->now_wall_ms += ms;
    manual->now_mono_us += ms * 1000;
}
