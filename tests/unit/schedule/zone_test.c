/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones against the C library's, which needs TZ; each test has a process of its own. */
#include "base/heap_arena.h"
#include "schedule/zone_files.h"
#include "schedule/zone_rule.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct heap_arena heap;

static void set_up(void)
{
    heap_arena_init(&heap, 64 * 1024);
}

static void tear_down(void)
{
    heap_arena_deinit(&heap);
}

TestSuite(zone, .init = set_up, .fini = tear_down);

static struct zone zone_of(const char *name)
{
    struct zone zone;
    struct error error;
    cr_assert_eq(zone_read(text_of(name), &heap.arena, &zone, &error), ERROR_OK, "%s",
                 error.message);
    return zone;
}

static void expect_offsets_of_libc(const char *name)
{
    struct zone zone = zone_of(name);
    setenv("TZ", name, 1);
    tzset();
    /* From 1901 to 2149, every 5 hours and 7 seconds: before, between and after all changes. */
    for (int64_t at = INT64_C(-2177452800); at < INT64_C(5648486400); at += 18007) {
        time_t seconds = (time_t)at;
        struct tm tm;
        localtime_r(&seconds, &tm);
        struct zone_span span = zone_span_at(&zone, at);
        cr_assert_eq(span.offset_s, tm.tm_gmtoff, "%s at %" PRId64 ": %d, not %ld", name, at,
                     span.offset_s, tm.tm_gmtoff);
        cr_assert(span.begin <= at && at < span.end);
    }
}

Test(zone, has_the_offsets_of_libc)
{
    static const char *const names[] = {"Europe/Berlin",
                                        "America/New_York",
                                        "Australia/Lord_Howe",
                                        "Pacific/Apia",
                                        "Africa/Casablanca",
                                        "America/St_Johns",
                                        "Asia/Kathmandu",
                                        "Europe/Dublin",
                                        "Pacific/Chatham",
                                        "Antarctica/Troll",
                                        "America/Nuuk",
                                        "Asia/Gaza",
                                        "UTC",
                                        "Etc/GMT-14"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        expect_offsets_of_libc(names[i]);
}

/* Debian 13 has this file, which has no changes but a rule, in a package of its own. */
Test(zone, has_the_offsets_of_an_older_name_or_asks_for_its_file)
{
    struct zone zone;
    struct error error;
    if (access(ZONE_FILES "/EST5EDT", R_OK) == 0) {
        expect_offsets_of_libc("EST5EDT");
        return;
    }
    cr_assert_eq(zone_read(TEXT("EST5EDT"), &heap.arena, &zone, &error), ERROR_REJECT);
    cr_expect(strstr(error.message, "install the package tzdata-legacy") != NULL, "%s",
              error.message);
}

static void expect_moment(const char *name, int64_t local, int64_t expected)
{
    struct zone zone = zone_of(name);
    int64_t found = zone_moment_of(&zone, local);
    cr_expect_eq(found, expected, "%s, %" PRId64 ": %" PRId64 ", not %" PRId64, name, local, found,
                 expected);
}

Test(zone, finds_the_first_moment_of_a_local_time)
{
    /* 2026-03-29: from 01:00 UTC on, Berlin's clocks show 03:00. */
    expect_moment("Europe/Berlin", 1774749540, 1774745940); /* 01:59 */
    expect_moment("Europe/Berlin", 1774751400, 1774746000); /* 02:30, skipped */
    expect_moment("Europe/Berlin", 1774753200, 1774746000); /* 03:00 */
    /* 2026-10-25: at 01:00 UTC they are set back to 02:00. */
    expect_moment("Europe/Berlin", 1792895400, 1792888200); /* 02:30, the first */
    expect_moment("Europe/Berlin", 1792897200, 1792893600); /* 03:00 */
    /* 2026-10-04, by half an hour. */
    expect_moment("Australia/Lord_Howe", 1791080100, 1791041400); /* 02:15, skipped */
    /* Apia had no 2011-12-30. */
    expect_moment("Pacific/Apia", 1325246400, 1325239200); /* 12:00 of that day */
    expect_moment("Pacific/Apia", 1325289600, 1325239200); /* the midnight after it */
    expect_moment("UTC", 1774751400, 1774751400);
}

static void expect_refused_in(const char *folder, const char *name, const char *message)
{
    struct zone zone;
    struct error error;
    cr_assert_eq(zone_read_in(folder, text_of(name), &heap.arena, &zone, &error), ERROR_REJECT,
                 "%s", name);
    cr_expect_eq(error.code, CODE_BAD_SCHEDULE);
    cr_expect_str_eq(error.message, message, "%s", error.message);
}

Test(zone, suggests_a_known_name)
{
    expect_refused_in(ZONE_FILES, "Europe/Berlni",
                      "\"Europe/Berlni\" is not a time zone: did you mean Europe/Berlin?");
    expect_refused_in(ZONE_FILES, "berlin",
                      "\"berlin\" is not a time zone: did you mean Europe/Berlin?");
    expect_refused_in(
        ZONE_FILES, "Nowhere",
        "\"Nowhere\" is not a time zone: expected a name such as Europe/Berlin, or UTC");
}

Test(zone, says_how_to_get_a_file_that_only_the_list_has)
{
    char folder[] = "/tmp/zone-test-XXXXXX", path[64];
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/tzdata.zi", folder);
    FILE *list = fopen(path, "w");
    cr_assert(list != NULL);
    fputs("# version 2025b\nR d 1916 o - Jun 14 23s 1 S\nZ EST5EDT -5 u E%sT\n"
          "Z America/New_York -4:56:2 - LMT 1883 N 18 17u\nL America/New_York US/Eastern\nL\n",
          list);
    fclose(list);
    expect_refused_in(
        folder, "US/Eastern",
        "this system has no file of the time zone \"US/Eastern\": install the package "
        "tzdata-legacy, or write America/New_York");
    expect_refused_in(folder, "EST5EDT",
                      "this system has no file of the time zone \"EST5EDT\": install the package "
                      "tzdata-legacy, or write a name such as Europe/Berlin");
    expect_refused_in(folder, "US/Easter",
                      "\"US/Easter\" is not a time zone: did you mean US/Eastern?");
    unlink(path);
    rmdir(folder);
}

Test(zone, leaves_its_folder_for_no_name)
{
    static const char *const names[] = {"../../../etc/passwd",
                                        "/etc/localtime",
                                        "Europe/../Europe/Berlin",
                                        "Europe",
                                        "",
                                        "localtime",
                                        "right/Europe/Berlin",
                                        "posix/Europe/Berlin",
                                        "tzdata.zi",
                                        "zone.tab"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct zone zone;
        cr_expect_eq(zone_read(text_of(names[i]), &heap.arena, &zone, NULL), ERROR_REJECT, "%s",
                     names[i]);
    }
}

/* ---- bytes ---- */

static struct text file_of(const char *path)
{
    static char bytes[ZONE_FILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return (struct text){bytes, (uint32_t)size};
}

Test(zone, survives_every_cut)
{
    struct text file = file_of(ZONE_FILES "/Europe/Berlin");
    struct zone zone;
    cr_assert_null(zone_parse(file, &heap.arena, &zone));
    for (uint32_t size = 0; size < file.size; size++) {
        char *copy = malloc(size + 1); /* for the sanitizer */
        memcpy(copy, file.data, size);
        cr_expect_not_null(zone_parse((struct text){copy, size}, &heap.arena, &zone), "%u", size);
        free(copy);
    }
}

Test(zone, survives_every_changed_byte)
{
    struct text file = file_of(ZONE_FILES "/Australia/Lord_Howe");
    char *bytes = (char *)(uintptr_t)file.data;
    for (uint32_t at = 0; at < file.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct zone zone;
            bytes[at] ^= (char)(1 << bit);
            if (zone_parse(file, &heap.arena, &zone) == NULL)
                zone_moment_of(&zone, 1791080100);
            bytes[at] ^= (char)(1 << bit);
        }
    }
}

static void expect_rule(const char *text, bool expected)
{
    struct zone_rule rule;
    cr_expect_eq(zone_rule_parse(text_of(text), &rule), expected, "%s", text);
}

Test(zone, reads_the_rules_of_posix)
{
    struct zone_rule rule;
    cr_assert(zone_rule_parse(TEXT("<+0330>-3:30"), &rule));
    cr_assert(!rule.has_summer && rule.offset_s == 12600);
    cr_assert(zone_rule_parse(TEXT("EST5EDT,M3.2.0,M11.1.0"), &rule));
    cr_assert(rule.has_summer && rule.offset_s == -18000 && rule.summer_offset_s == -14400);
    cr_assert(rule.begin.month == 3 && rule.begin.week == 2 && rule.begin.time_s == 7200);
    expect_rule("IST-1GMT0,M10.5.0,M3.5.0/1", true);
    expect_rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true);
    expect_rule("XXX3YYY,J60,300/25:00:30", true);
    expect_rule("", false);
    expect_rule("CE-1", false);
    expect_rule("CET", false);
    expect_rule("CET-1CEST", false); /* days that POSIX leaves to the system */
    expect_rule("CET-25", false);
    expect_rule("CET-1CEST,M13.5.0,M10.5.0", false);
    expect_rule("CET-1CEST,M3.6.0,M10.5.0", false);
    expect_rule("CET-1CEST,M3.5.7,M10.5.0", false);
    expect_rule("CET-1CEST,J0,J366", false);
    expect_rule("CET-1CEST,M3.5.0/168,M10.5.0", false);
    expect_rule("CET-1CEST,M3.5.0,M10.5.0/3x", false);
}

Test(zone, follows_rules_of_days_of_the_year)
{
    struct zone_rule rule;
    /* The 60th day without leap days is March 1, in every year. */
    cr_assert(zone_rule_parse(TEXT("XXX0YYY,J60/0,J300/0"), &rule));
    cr_assert_eq(zone_rule_span(&rule, 1709251199).offset_s, 0); /* 2024-02-29T23:59:59Z */
    cr_assert_eq(zone_rule_span(&rule, 1709251200).offset_s, 3600);
    cr_assert_eq(zone_rule_span(&rule, 1740787199).offset_s, 0); /* 2025-02-28T23:59:59Z */
    cr_assert_eq(zone_rule_span(&rule, 1740787200).offset_s, 3600);
    /* Counted from 0, the 59th is February 29 of a leap year. */
    cr_assert(zone_rule_parse(TEXT("XXX0YYY,59/0,J300/0"), &rule));
    cr_assert_eq(zone_rule_span(&rule, 1709164799).offset_s, 0); /* 2024-02-28T23:59:59Z */
    cr_assert_eq(zone_rule_span(&rule, 1709164800).offset_s, 3600);
    /* It is always summer. */
    cr_assert(zone_rule_parse(TEXT("XXX3EDT4,0/0,J365/23"), &rule));
    for (int64_t at = 1709164800; at < 1809164800; at += 3600)
        cr_assert_eq(zone_rule_span(&rule, at).offset_s, -14400, "%" PRId64, at);
}
