/* SPDX-License-Identifier: Apache-2.0 */
/* See cron.h. Below: parsing; the next minute. */
#include "schedule/cron.h"

#include "base/calendar.h"
#include "base/numbers.h"
#include "base/suggest.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

enum { HOUR_MINUTES = 60, DAY_MINUTES = 1440, NAME_LETTERS = 3, SUNDAY = 0, SUNDAY_AGAIN = 7 };

enum cron_field { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const struct text month_names[] = {TEXT_CONST("JAN"), TEXT_CONST("FEB"), TEXT_CONST("MAR"),
                                          TEXT_CONST("APR"), TEXT_CONST("MAY"), TEXT_CONST("JUN"),
                                          TEXT_CONST("JUL"), TEXT_CONST("AUG"), TEXT_CONST("SEP"),
                                          TEXT_CONST("OCT"), TEXT_CONST("NOV"), TEXT_CONST("DEC")};
static const struct text weekday_names[] = {TEXT_CONST("SUN"), TEXT_CONST("MON"), TEXT_CONST("TUE"),
                                            TEXT_CONST("WED"), TEXT_CONST("THU"), TEXT_CONST("FRI"),
                                            TEXT_CONST("SAT")};

static const struct field_kind {
    const char *phrase;
    const char *expected;
    uint32_t least;
    uint32_t most;
    const struct text *names; /* of `least` and so on */
    uint32_t name_count;
} kinds[FIELD_COUNT] = {
    [MINUTE] = {"a minute", "0 to 59", 0, 59, NULL, 0},
    [HOUR] = {"an hour", "0 to 23", 0, 23, NULL, 0},
    [DAY] = {"a day of the month", "1 to 31", 1, 31, NULL, 0},
    [MONTH] = {"a month", "1 to 12 or JAN to DEC", 1, 12, month_names, 12},
    [WEEKDAY] = {"a weekday", "0 to 7 or SUN to SAT", 0, SUNDAY_AGAIN, weekday_names, 7},
};

/* What other schedulers have, and what there is instead. */
static const struct {
    struct text name;
    const char *cron;
} macros[] = {
    {TEXT_CONST("@yearly"), "0 0 1 1 *"},  {TEXT_CONST("@annually"), "0 0 1 1 *"},
    {TEXT_CONST("@monthly"), "0 0 1 * *"}, {TEXT_CONST("@weekly"), "0 0 * * 0"},
    {TEXT_CONST("@daily"), "0 0 * * *"},   {TEXT_CONST("@midnight"), "0 0 * * *"},
    {TEXT_CONST("@hourly"), "0 * * * *"},
};

/* ---- parsing ---- */

struct cron_reader {
    struct text all;
    struct cron_problem *problem;
};

static bool fail(const struct cron_reader *reader, struct text at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(const struct cron_reader *reader, struct text at, const char *format, ...)
{
    va_list arguments;
    reader->problem->at = at.data != NULL ? (uint32_t)(at.data - reader->all.data) : 0;
    va_start(arguments, format);
    vsnprintf(reader->problem->text, sizeof(reader->problem->text), format, arguments);
    va_end(arguments);
    return false;
}

enum { SHOWN_MAX = 32 };
#define SHOWN(text) TEXT_ARG(utf8_cut(text, SHOWN_MAX))

/* The part before the first `c`, or all of it; *rest begins behind it. False: `c` is not there. */
static bool split(struct text *rest, char c, struct text *ret_part)
{
    const char *found = rest->size > 0 ? memchr(rest->data, c, rest->size) : NULL;
    *ret_part = *rest;
    if (found != NULL)
        ret_part->size = (uint32_t)(found - rest->data);
    *rest = found != NULL ? text_from(*rest, ret_part->size + 1) : text_from(*rest, rest->size);
    return found != NULL;
}

static bool find_name(const struct field_kind *kind, struct text text, uint32_t *ret_value)
{
    for (uint32_t i = 0; i < kind->name_count; i++) {
        if (text.size == NAME_LETTERS &&
            strncasecmp(text.data, kind->names[i].data, NAME_LETTERS) == 0) {
            *ret_value = kind->least + i;
            return true;
        }
    }
    return false;
}

static bool read_value(const struct cron_reader *reader, const struct field_kind *kind,
                       struct text text, uint32_t *ret_value)
{
    int64_t value;
    if (find_name(kind, text, ret_value))
        return true;
    if (text.size > 0 && number_is_digit(text.data[0]) &&
        number_parse(text, kind->least, kind->most, &value)) {
        *ret_value = (uint32_t)value;
        return true;
    }
    const struct text *near = suggest_text(text, kind->names, kind->name_count);
    if (near != NULL)
        return fail(reader, text, "\"%.*s\" is not %s: did you mean %.*s?", SHOWN(text),
                    kind->phrase, TEXT_ARG(*near));
    if (text.size == 1 && strchr("?LW#", text.data[0]) != NULL)
        return fail(reader, text, "%c is not known here: expected %s, or *", text.data[0],
                    kind->expected);
    return fail(reader, text, "\"%.*s\" is not %s: expected %s, or *", SHOWN(text), kind->phrase,
                kind->expected);
}

static bool read_step(const struct cron_reader *reader, const struct field_kind *kind,
                      struct text text, uint32_t *ret_step)
{
    int64_t step;
    if (text.size == 0 || !number_is_digit(text.data[0]) ||
        !number_parse(text, 1, kind->most, &step))
        return fail(reader, text, "\"%.*s\" is not a step of %s: expected 1 to %u", SHOWN(text),
                    kind->phrase, kind->most);
    *ret_step = (uint32_t)step;
    return true;
}

/* "*", "5", "1-5", each with "/2" behind it; into the set. */
static bool read_item(const struct cron_reader *reader, const struct field_kind *kind,
                      struct text item, uint64_t *set)
{
    struct text step = item, range, first, last;
    uint32_t low = kind->least, high = kind->most, by = 1;
    bool has_step = split(&step, '/', &range);
    bool all = text_equal(range, TEXT("*"));
    last = range;
    bool is_range = split(&last, '-', &first);
    if (!all && !read_value(reader, kind, first, &low))
        return false;
    if (is_range && !read_value(reader, kind, last, &high))
        return false;
    if (!all && !is_range && has_step)
        return fail(reader, item, "a step needs a range: write %.*s-%u/%.*s", SHOWN(first),
                    kind->most, SHOWN(step));
    if (!all && !is_range)
        high = low;
    if (high < low)
        return fail(reader, item, "%.*s ends before it begins: write two ranges with a comma",
                    SHOWN(range));
    if (has_step && !read_step(reader, kind, step, &by))
        return false;
    for (uint32_t value = low; value <= high; value += by)
        *set |= UINT64_C(1) << value;
    return true;
}

static bool read_field(const struct cron_reader *reader, enum cron_field field, struct text text,
                       uint64_t *ret_set)
{
    struct text item;
    uint64_t set = 0;
    bool more = true;
    while (more) {
        more = split(&text, ',', &item);
        if (!read_item(reader, &kinds[field], item, &set))
            return false;
    }
    *ret_set = set;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* How many there are; the first FIELD_COUNT of them. */
static uint32_t split_fields(struct text text, struct text ret_fields[FIELD_COUNT])
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < text.size;) {
        uint32_t begin = at;
        while (at < text.size && !is_blank(text.data[at]))
            at++;
        if (at > begin && count++ < FIELD_COUNT)
            ret_fields[count - 1] = (struct text){text.data + begin, at - begin};
        while (at < text.size && is_blank(text.data[at]))
            at++;
    }
    return count;
}

static bool refuse_macro(const struct cron_reader *reader, struct text text)
{
    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        if (text.size == macros[i].name.size &&
            strncasecmp(text.data, macros[i].name.data, text.size) == 0)
            return fail(reader, text, "%.*s is not known here: write \"%s\"", SHOWN(text),
                        macros[i].cron);
    }
    return true;
}

/* No year has such a day. A weekday alone always comes. */
static bool refuse_never(const struct cron_reader *reader, const struct cron *cron, struct text day)
{
    if (cron->either)
        return true;
    for (int month = 1; month <= 12; month++) {
        uint32_t last = (uint32_t)calendar_days_in(2000, month); /* a leap year */
        uint32_t exist = (uint32_t)((UINT64_C(1) << (last + 1)) - 1);
        if ((cron->months >> month & 1) != 0 && (cron->days & exist) != 0)
            return true;
    }
    return fail(reader, day, "no month of these has the day %.*s", SHOWN(day));
}

bool cron_parse(struct text text, struct cron *ret_cron, struct cron_problem *ret_problem)
{
    const struct cron_reader reader = {text, ret_problem};
    struct text fields[FIELD_COUNT];
    uint64_t sets[FIELD_COUNT];
    if (text.size > CRON_BYTES_MAX)
        return fail(&reader, text, "it has %u bytes; the limit is %d", text.size, CRON_BYTES_MAX);
    uint32_t count = split_fields(text, fields);
    if (count == 1 && !refuse_macro(&reader, fields[0]))
        return false;
    if (count != FIELD_COUNT)
        return fail(&reader, text,
                    "it has %u field%s; expected 5: minute, hour, day of month, month, weekday%s",
                    count, count == 1 ? "" : "s",
                    count == FIELD_COUNT + 1 ? ". Leave out seconds and years" : "");
    for (int field = 0; field < FIELD_COUNT; field++)
        if (!read_field(&reader, (enum cron_field)field, fields[field], &sets[field]))
            return false;
    uint64_t sundays = UINT64_C(1) << SUNDAY | UINT64_C(1) << SUNDAY_AGAIN;
    if ((sets[WEEKDAY] & sundays) != 0)
        sets[WEEKDAY] = (sets[WEEKDAY] | UINT64_C(1) << SUNDAY) & ~(UINT64_C(1) << SUNDAY_AGAIN);
    struct cron cron = {.minutes = sets[MINUTE],
                        .hours = (uint32_t)sets[HOUR],
                        .days = (uint32_t)sets[DAY],
                        .months = (uint16_t)sets[MONTH],
                        .weekdays = (uint8_t)sets[WEEKDAY],
                        .either = fields[DAY].data[0] != '*' && fields[WEEKDAY].data[0] != '*'};
    if (!refuse_never(&reader, &cron, fields[DAY]))
        return false;
    *ret_cron = cron;
    return true;
}

/* ---- the next minute ---- */

static bool is_due_on(const struct cron *cron, int64_t day, struct date date)
{
    bool by_day = (cron->days >> date.day & 1) != 0;
    bool by_weekday = (cron->weekdays >> calendar_weekday(day) & 1) != 0;
    return cron->either ? by_day || by_weekday : by_day && by_weekday;
}

/* The first due minute of a day that is not before `minute`; -1: none. */
static int next_of_day(const struct cron *cron, int minute)
{
    for (int hour = minute / HOUR_MINUTES; hour < DAY_MINUTES / HOUR_MINUTES; hour++) {
        int from = hour * HOUR_MINUTES < minute ? minute % HOUR_MINUTES : 0;
        uint64_t left = cron->minutes >> from;
        if ((cron->hours >> hour & 1) != 0 && left != 0)
            return hour * HOUR_MINUTES + from + __builtin_ctzll(left);
    }
    return -1;
}

int64_t cron_next(const struct cron *cron, int64_t minute)
{
    int64_t day = minute / DAY_MINUTES - (minute % DAY_MINUTES < 0);
    int from = (int)(minute - day * DAY_MINUTES);
    for (;;) {
        struct date date = calendar_date_of(day);
        if (date.year > CRON_YEAR_MAX)
            return CRON_NEVER;
        if ((cron->months >> date.month & 1) == 0) {
            day += calendar_days_in(date.year, date.month) - date.day + 1;
            from = 0;
            continue;
        }
        int found = is_due_on(cron, day, date) ? next_of_day(cron, from) : -1;
        if (found >= 0)
            return day * DAY_MINUTES + found;
        day++;
        from = 0;
    }
}
