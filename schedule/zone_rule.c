/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/zone_rule.h"

#include "base/calendar.h"
#include "base/numbers.h"

#include <assert.h>

enum {
    DAY_S = 86400,
    ABBREVIATION_MIN = 3,
    OFFSET_HOURS_MAX = 24,
    TIME_HOURS_MAX = 167, /* a week, so that a day may be named by one near it */
    SUMMER_S = 3600,      /* what summer time adds where the rule does not say */
    CHANGES = 6           /* of three years */
};

/* ---- parsing ---- */

static bool skip(struct text *text, char c)
{
    if (text->size == 0 || text->data[0] != c)
        return false;
    *text = text_from(*text, 1);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_quoted(char c)
{
    return is_letter(c) || number_is_digit(c) || number_is_sign(c);
}

/* "CET" or "<+11>". */
static bool skip_abbreviation(struct text *text)
{
    bool quoted = skip(text, '<');
    uint32_t size = 0;
    while (size < text->size && (quoted ? is_quoted : is_letter)(text->data[size]))
        size++;
    *text = text_from(*text, size);
    return size >= ABBREVIATION_MIN && (!quoted || skip(text, '>'));
}

static bool take_number(struct text *text, int least, int most, int *ret_number)
{
    uint64_t number;
    if (!number_take(text, (uint64_t)most, &number) || (int)number < least)
        return false;
    *ret_number = (int)number;
    return true;
}

/* "-2:30:15", as seconds. */
static bool take_time(struct text *text, int hours_max, int32_t *ret_s)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = skip(text, '-');
    if (!negative)
        skip(text, '+');
    if (!take_number(text, 0, hours_max, &hours))
        return false;
    if (skip(text, ':') && (!take_number(text, 0, 59, &minutes) ||
                            (skip(text, ':') && !take_number(text, 0, 59, &seconds))))
        return false;
    *ret_s = (hours * 60 + minutes) * 60 + seconds;
    if (negative)
        *ret_s = -*ret_s;
    return true;
}

/* ",M3.5.0/2", ",J60", ",59" */
static bool take_day(struct text *text, struct zone_day *ret_day)
{
    *ret_day = (struct zone_day){.kind = ZONE_DAY_FROM_0, .time_s = 2 * 3600};
    bool good = skip(text, ',');
    if (good && skip(text, 'M')) {
        ret_day->kind = ZONE_DAY_OF_MONTH;
        good = take_number(text, 1, 12, &ret_day->month) && skip(text, '.') &&
               take_number(text, 1, 5, &ret_day->week) && skip(text, '.') &&
               take_number(text, 0, 6, &ret_day->day);
    } else if (good && skip(text, 'J')) {
        ret_day->kind = ZONE_DAY_WITHOUT_LEAP;
        good = take_number(text, 1, 365, &ret_day->day);
    } else {
        good = good && take_number(text, 0, 365, &ret_day->day);
    }
    return good && (!skip(text, '/') || take_time(text, TIME_HOURS_MAX, &ret_day->time_s));
}

bool zone_rule_parse(struct text text, struct zone_rule *ret_rule)
{
    struct zone_rule rule = {0};
    int32_t west_s; /* POSIX counts to the west */
    if (!skip_abbreviation(&text) || !take_time(&text, OFFSET_HOURS_MAX, &west_s))
        return false;
    rule.offset_s = -west_s;
    rule.has_summer = !text_empty(text);
    if (rule.has_summer) {
        if (!skip_abbreviation(&text))
            return false;
        rule.summer_offset_s = rule.offset_s + SUMMER_S;
        if (text.size > 0 && text.data[0] != ',') {
            if (!take_time(&text, OFFSET_HOURS_MAX, &west_s))
                return false;
            rule.summer_offset_s = -west_s;
        }
        if (!take_day(&text, &rule.begin) || !take_day(&text, &rule.end) || !text_empty(text))
            return false;
    }
    *ret_rule = rule;
    return true;
}

/* ---- years ---- */

/* Midnight of the day in that year, by a clock that shows UTC. */
static int64_t day_of_year(const struct zone_day *day, int year)
{
    int64_t first = calendar_day_number((struct date){year, 1, 1});
    if (day->kind == ZONE_DAY_FROM_0)
        return (first + day->day) * DAY_S;
    if (day->kind == ZONE_DAY_WITHOUT_LEAP) {
        bool after_leap_day = calendar_days_in(year, 2) == 29 && day->day >= 60;
        return (first + day->day - 1 + after_leap_day) * DAY_S;
    }
    int64_t number = calendar_day_number((struct date){year, day->month, 1});
    int64_t next = number + calendar_days_in(year, day->month);
    number += (day->day - calendar_weekday(number) + WEEK_DAYS) % WEEK_DAYS;
    number += (day->week - 1) * WEEK_DAYS;
    while (number >= next)
        number -= WEEK_DAYS;
    return number * DAY_S;
}

/* Both changes of a year, the earlier one first. At the same moment the one to summer time is the
 * later one: then it is always summer. */
static void changes_of(const struct zone_rule *rule, int year, struct zone_change ret_changes[2])
{
    struct zone_change begin = {day_of_year(&rule->begin, year) + rule->begin.time_s -
                                    rule->offset_s,
                                rule->summer_offset_s};
    struct zone_change end = {
        day_of_year(&rule->end, year) + rule->end.time_s - rule->summer_offset_s, rule->offset_s};
    bool in_order = begin.at < end.at;
    ret_changes[0] = in_order ? begin : end;
    ret_changes[1] = in_order ? end : begin;
}

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at)
{
    struct zone_change changes[CHANGES];
    struct zone_span span = {INT64_MIN, INT64_MAX, rule->offset_s};
    if (!rule->has_summer)
        return span;
    int64_t days = at / DAY_S - (at % DAY_S < 0);
    int year = calendar_date_of(days).year;
    for (int i = 0; i < CHANGES / 2; i++)
        changes_of(rule, year - 1 + i, &changes[2 * i]);
    /* Of what would come at the same moment, or before what is earlier, the last one counts. */
    for (int i = 0; i < CHANGES; i++) {
        if (changes[i].at <= at) {
            span.begin = changes[i].at;
            span.offset_s = changes[i].offset_s;
        } else if (changes[i].at < span.end) {
            span.end = changes[i].at;
        }
    }
    return span;
}
