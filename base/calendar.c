/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calendar.h"

#include <assert.h>
#include <stdbool.h>

/* The calendar repeats itself after 400 years. The days of a period begin with March 1, so that a
 * leap day ends its year. */
enum { PERIOD_YEARS = 400, PERIOD_DAYS = 146097, EPOCH_DAY = 719468 /* since 0000-03-01 */ };
enum { EPOCH_WEEKDAY = 4 /* a Thursday */ };

int calendar_days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    assert(month >= 1 && month <= 12);
    return month == 2 && leap ? 29 : days[month - 1];
}

int64_t calendar_day_number(struct date date)
{
    assert(date.year >= -PERIOD_YEARS && date.month >= 1 && date.month <= 12 && date.day >= 1);
    int64_t from_march = (date.month + 9) % 12;
    int64_t y = date.year - (date.month <= 2) + (int64_t)PERIOD_YEARS; /* not negative */
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + date.day - 1 -
           (EPOCH_DAY + PERIOD_DAYS);
}

struct date calendar_date_of(int64_t day_number)
{
    int64_t day = day_number + EPOCH_DAY + PERIOD_DAYS;
    assert(day >= 0);
    int64_t in_period = day % PERIOD_DAYS;
    /* Without the leap days before it, of 4, 100 and 400 years, each year has 365. */
    int64_t year =
        (in_period - in_period / 1460 + in_period / 36524 - in_period / (PERIOD_DAYS - 1)) / 365;
    int64_t in_year = in_period - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * in_year + 2) / 153;
    int64_t month = from_march < 10 ? from_march + 3 : from_march - 9;
    return (struct date){.year =
                             (int)(year + PERIOD_YEARS * (day / PERIOD_DAYS - 1) + (month <= 2)),
                         .month = (int)month,
                         .day = (int)(in_year - (153 * from_march + 2) / 5 + 1)};
}

int calendar_weekday(int64_t day_number)
{
    int day = (int)((day_number + EPOCH_WEEKDAY) % WEEK_DAYS);
    return day < 0 ? day + WEEK_DAYS : day;
}
