/* SPDX-License-Identifier: Apache-2.0 */
/* Cron: five fields that say at which local minutes something is due. Pure; knows no zones.
 *
 *     minute  hour  day of month  month  weekday
 *     0-59    0-23  1-31          1-12   0-7 (0 and 7: Sunday)
 *
 * A field is a list of values, ranges and steps: "*", "5", "1-5", "1-20/5", "0,30". Months and
 * weekdays also have names of three letters. As in every cron: where day of month and weekday are
 * both given, that is, neither begins with "*", one of the two suffices. */
#ifndef SCHEDULE_CRON_H
#define SCHEDULE_CRON_H

#include "base/text.h"

enum { CRON_BYTES_MAX = 256, CRON_PROBLEM_SIZE = 200 };

/* Sets of bits, by value. */
struct cron {
    uint64_t minutes;
    uint32_t hours;
    uint32_t days;
    uint16_t months;
    uint8_t weekdays; /* 0: Sunday */
    bool either;      /* a day of `days` or one of `weekdays`; else one of both */
};

struct cron_problem {
    uint32_t at; /* byte in the text */
    char text[CRON_PROBLEM_SIZE];
};

/* False: the problem, of the first mistake. What is parsed is due on some day. */
bool cron_parse(struct text text, struct cron *ret_cron, struct cron_problem *ret_problem);

/* The first due minute that is not before `minute`, both in minutes since 1970-01-01 00:00 of the
 * local clock; CRON_NEVER: none before the year CRON_YEAR_MAX ends. */
#define CRON_NEVER INT64_MAX
enum { CRON_YEAR_MAX = 9998 };
int64_t cron_next(const struct cron *cron, int64_t minute);

#endif
