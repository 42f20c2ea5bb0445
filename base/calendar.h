/* SPDX-License-Identifier: Apache-2.0 */
/* The Gregorian calendar, without hours and zones: days since 1970-01-01 and their dates. */
#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H

#include <stdint.h>

enum { WEEK_DAYS = 7 };

struct date {
    int year;
    int month; /* from 1 */
    int day;   /* from 1 */
};

/* Days since the epoch. The date exists; its year is -400 or later. */
int64_t calendar_day_number(struct date date);
struct date calendar_date_of(int64_t day_number);
int calendar_days_in(int year, int month);
/* 0: Sunday. */
int calendar_weekday(int64_t day_number);

#endif
