/* SPDX-License-Identifier: Apache-2.0 */
/* The ticks of a random cron in a random zone are those of a slow reference: someone who watches
 * the zone's clock, as libc shows it, minute by minute. Whenever the clock passes minutes for the
 * first time, whether it shows or skips them, an order is due if any of them is named. */
#include "base/heap_arena.h"
#include "schedule/ticks.h"
#include "schedule/zone_files.h"
#include "tests/lib/seed.h"
#include "tests/property/engine_random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CASES = 1000,
    FIELDS = 5,
    VALUES_MAX = 60,
    MINUTE_S = 60,
    WATCHED_S = 3 * 86400,
    BEFORE_S = 3 * 86400, /* so that the clock has passed what it may be set back to */
    TEXT_SIZE = 512
};

static const char *const zones[] = {"Europe/Berlin",
                                    "America/New_York",
                                    "Australia/Lord_Howe",
                                    "Pacific/Apia",
                                    "Africa/Casablanca",
                                    "America/St_Johns",
                                    "Asia/Kathmandu",
                                    "Europe/Dublin",
                                    "Pacific/Kwajalein",
                                    "Antarctica/Troll",
                                    "America/Nuuk",
                                    "Asia/Gaza",
                                    "America/Caracas",
                                    "Antarctica/Casey",
                                    "Pacific/Kiritimati",
                                    "Asia/Pyongyang",
                                    "America/Sao_Paulo",
                                    "Antarctica/Macquarie",
                                    "UTC"};
enum { ZONES = sizeof(zones) / sizeof(zones[0]) };

/* Moments near which clocks are set in some of these zones. */
static const int64_t special[] = {1774746000, 1792890000, 1772953200, 1793512800,
                                  1791041400, 1775314800, 1325239200, 745848000,
                                  1197183600, 1439564400, 1430562600, 788871600};

/* ---- a random cron, as text and as plain sets ---- */

struct slow_cron {
    bool has[FIELDS][VALUES_MAX];
    bool star[FIELDS];
    char text[TEXT_SIZE];
};

static const int least[FIELDS] = {0, 0, 1, 1, 0};
static const int most[FIELDS] = {59, 23, 31, 12, 7};

static void write(struct slow_cron *cron, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write(struct slow_cron *cron, const char *format, ...)
{
    size_t used = strlen(cron->text);
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(cron->text + used, TEXT_SIZE - used, format, arguments);
    va_end(arguments);
    cr_assert(size >= 0 && used + (size_t)size < TEXT_SIZE);
}

static void roll_item(struct dice *dice, struct slow_cron *cron, int field, bool all)
{
    int width = most[field] - least[field] + 1;
    int low = least[field] + (int)dice_roll(dice, (uint32_t)width);
    int high = low + (int)dice_roll(dice, (uint32_t)(most[field] - low + 1));
    int step = 1;
    if (all) {
        low = least[field];
        high = most[field];
        write(cron, "*");
    } else if (dice_percent(dice, 60)) {
        high = low;
        write(cron, "%d", low);
    } else {
        write(cron, "%d-%d", low, high);
    }
    if ((all || high > low) && dice_percent(dice, 40)) {
        step = 1 + (int)dice_roll(dice, (uint32_t)most[field]);
        write(cron, "/%d", step);
    }
    for (int value = low; value <= high; value += step)
        cron->has[field][field == 4 ? value % 7 : value] = true;
}

static void roll_cron(struct dice *dice, struct slow_cron *cron)
{
    *cron = (struct slow_cron){0};
    for (int field = 0; field < FIELDS; field++) {
        /* Hours and days are seldom named, or little would happen in three days. */
        cron->star[field] = dice_percent(dice, field < 2 ? 40 : 75);
        uint32_t items = cron->star[field] ? 1 : 1 + dice_roll(dice, 4);
        write(cron, "%s", field > 0 ? " " : "");
        for (uint32_t i = 0; i < items; i++) {
            if (i > 0)
                write(cron, ",");
            roll_item(dice, cron, field, cron->star[field] && i == 0);
        }
    }
}

/* `minute` of a clock, since 1970. */
static bool is_named(const struct slow_cron *cron, int64_t minute)
{
    time_t seconds = (time_t)(minute * MINUTE_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    bool day = cron->has[2][tm.tm_mday], weekday = cron->has[4][tm.tm_wday];
    bool days = cron->star[2] || cron->star[4] ? day && weekday : day || weekday;
    return days && cron->has[0][tm.tm_min] && cron->has[1][tm.tm_hour] &&
           cron->has[3][tm.tm_mon + 1];
}

/* ---- watching ---- */

static int64_t shown_at(int64_t moment)
{
    time_t seconds = (time_t)moment;
    struct tm tm;
    localtime_r(&seconds, &tm);
    return (moment + tm.tm_gmtoff) / MINUTE_S;
}

static void compare(const struct slow_cron *slow, const struct ticks *ticks, const char *zone,
                    int64_t from)
{
    int64_t passed = shown_at(from - BEFORE_S);
    int64_t next = ticks_next(ticks, from - 1);
    for (int64_t moment = from - BEFORE_S; moment < from + WATCHED_S; moment += MINUTE_S) {
        bool due = false;
        for (int64_t shown = shown_at(moment); passed < shown && shown - passed < 10000;)
            due = is_named(slow, ++passed) || due;
        if (moment < from)
            continue;
        cr_assert_eq(due, next == moment,
                     "%s in %s: at %" PRId64 " it %s due, the next is %" PRId64, slow->text, zone,
                     moment, due ? "is" : "is not", next);
        if (due)
            next = ticks_next(ticks, moment);
    }
}

static bool run_case(uint64_t seed, struct heap_arena *heap)
{
    struct dice dice = dice_of(seed);
    struct slow_cron slow;
    struct ticks ticks = {0};
    struct cron_problem problem = {0};
    const char *zone = zones[dice_roll(&dice, ZONES)];
    roll_cron(&dice, &slow);
    if (!cron_parse(text_of(slow.text), &ticks.cron, &problem)) {
        cr_assert_not_null(strstr(problem.text, "has the day"), "%s: %s", slow.text, problem.text);
        return false;
    }
    cr_assert_eq(zone_read(text_of(zone), &heap->arena, &ticks.zone, NULL), ERROR_OK);
    setenv("TZ", zone, 1);
    tzset();
    int64_t near = dice_percent(&dice, 60)
                       ? special[dice_roll(&dice, sizeof(special) / sizeof(special[0]))]
                       : 86400 * (1000 + (int64_t)dice_roll(&dice, 46000));
    int64_t from = near - 60 * (int64_t)dice_roll(&dice, 2 * 1440);
    compare(&slow, &ticks, zone, from - from % MINUTE_S);
    return true;
}

Test(schedule_property, ticks_are_what_a_watched_clock_passes, .timeout = 270)
{
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(CASES);
    uint64_t compared = 0;
    struct heap_arena heap;
    heap_arena_init(&heap, 64 * 1024);
    for (uint64_t i = 0; i < cases; i++) {
        seed_begin(first + i);
        heap_arena_reset(&heap);
        compared += run_case(first + i, &heap);
        seed_end();
    }
    cr_assert(cases < 100 || compared > cases / 2, "%" PRIu64, compared);
    heap_arena_deinit(&heap);
}
