/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/people.h"

#include "platform/clock.h"

#include <stdio.h>

enum { SECONDS_END = 19, MILLISECONDS_END = 23 };

/* The first `size` characters of "2010-12-01 08:26:00.123". */
static json_t *time_of(const json_t *time, int size)
{
    char text[CLOCK_TEXT_SIZE];
    if (!json_is_integer(time))
        return json_string("");
    clock_text(json_integer_value(time), text);
    if (text[10] == 'T')
        text[10] = ' ';
    return json_sprintf("%.*s", size, text);
}

json_t *people_time(const json_t *time)
{
    return time_of(time, SECONDS_END);
}

json_t *people_time_ms(const json_t *time)
{
    return time_of(time, MILLISECONDS_END);
}

json_t *people_age(const json_t *time, int64_t now)
{
    if (!json_is_integer(time))
        return json_string("");
    int64_t ms = now - json_integer_value(time);
    const char *before = ms < -999 ? "in " : "";
    long long seconds = (ms < 0 ? -ms : ms) / 1000;
    if (seconds < 120)
        return json_sprintf("%s%llds", before, seconds);
    if (seconds < 120 * 60)
        return json_sprintf("%s%lldm", before, seconds / 60);
    if (seconds < 48 * 3600)
        return json_sprintf("%s%lldh", before, seconds / 3600);
    return json_sprintf("%s%lldd", before, seconds / 86400);
}
