/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rfc3339.h"

#include "base/calendar.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01 */
#define LAST_MS INT64_C(253402300799999)  /* the last millisecond of 9999 */

/* Exactly `size` digits at the front of *text. */
static bool take(struct text *text, uint32_t size, int64_t *ret_number)
{
    int64_t number = 0;
    if (text->size < size)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        number = 10 * number + (text->data[i] - '0');
    }
    *text = text_from(*text, size);
    *ret_number = number;
    return true;
}

static bool skip(struct text *text, const char *any_of)
{
    if (text->size == 0 || text->data[0] == '\0' || strchr(any_of, text->data[0]) == NULL)
        return false;
    *text = text_from(*text, 1);
    return true;
}

static bool take_date(struct text *text, int64_t *ret_days)
{
    int64_t year, month, day;
    if (!take(text, 4, &year) || !skip(text, "-") || !take(text, 2, &month) || !skip(text, "-") ||
        !take(text, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > calendar_days_in((int)year, (int)month))
        return false;
    *ret_days = calendar_day_number((struct date){(int)year, (int)month, (int)day});
    return true;
}

/* Digits beyond milliseconds are cut off. */
static bool take_fraction(struct text *text, int64_t *ret_ms)
{
    int64_t digit;
    int64_t unit = 100;
    int64_t ms = 0;
    if (skip(text, ".")) {
        if (!take(text, 1, &digit))
            return false;
        do {
            ms += digit * unit;
            unit /= 10;
        } while (take(text, 1, &digit));
    }
    *ret_ms = ms;
    return true;
}

static bool take_time(struct text *text, int64_t *ret_ms)
{
    int64_t hour, minute, second, fraction;
    if (!take(text, 2, &hour) || !skip(text, ":") || !take(text, 2, &minute) || !skip(text, ":") ||
        !take(text, 2, &second) || !take_fraction(text, &fraction) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    *ret_ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    return true;
}

static bool take_offset(struct text *text, int64_t *ret_ms)
{
    int64_t hour, minute;
    if (skip(text, "Zz")) {
        *ret_ms = 0;
        return true;
    }
    bool west = text->size > 0 && text->data[0] == '-';
    if (!skip(text, "+-") || !take(text, 2, &hour) || !skip(text, ":") || !take(text, 2, &minute) ||
        hour > 23 || minute > 59)
        return false;
    *ret_ms = (hour * 60 + minute) * 60000 * (west ? -1 : 1);
    return true;
}

bool rfc3339_parse(struct text text, int64_t *ret_ms)
{
    int64_t days;
    int64_t time = 0;
    int64_t offset = 0;
    if (!take_date(&text, &days))
        return false;
    if (text.size > 0 &&
        (!skip(&text, "Tt ") || !take_time(&text, &time) || !take_offset(&text, &offset)))
        return false;
    if (text.size > 0)
        return false;
    *ret_ms = days * DAY_MS + time - offset;
    return true;
}

void rfc3339_format(int64_t ms, char ret_text[RFC3339_TEXT_SIZE])
{
    ms = ms < FIRST_MS ? FIRST_MS : ms > LAST_MS ? LAST_MS : ms;
    int64_t days = ms / DAY_MS - (ms % DAY_MS < 0);
    int rest = (int)(ms - days * DAY_MS);
    struct date date = calendar_date_of(days);
    snprintf(ret_text, RFC3339_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
             (unsigned)date.year % 10000u, (unsigned)date.month % 100u, (unsigned)date.day % 100u,
             (unsigned)(rest / 3600000) % 100u, (unsigned)(rest / 60000) % 60u,
             (unsigned)(rest / 1000) % 60u, (unsigned)rest % 1000u);
}
