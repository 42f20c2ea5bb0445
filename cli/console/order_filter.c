/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/order_filter.h"

#include "base/numbers.h"
#include "base/rfc3339.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* `parameter`: what the API calls it. `fixed`: the value that a switch stands for. */
static const struct {
    const char *flag;
    const char *parameter;
    const char *fixed;
} filters[] = {
    {"state", "state", NULL},
    {"step", "step", NULL},
    {"waiting-for", "waiting_for", NULL},
    {"group", "group", NULL},
    {"error", "error", NULL},
    {"workflow", "workflow", NULL},
    {"workflow-version", "workflow_version", NULL},
    {"alert", "alert", "open"},
    {"paused", "paused", "1"},
    {"all", "all", "1"},
    {"customer", "customer", NULL},
    {"attribute", "attribute", NULL},
    {"prefix", "id_prefix", NULL},
    {"since", "since", NULL},
    {"until", "until", NULL},
};
enum { FILTERS = sizeof(filters) / sizeof(filters[0]) };

static bool has_flag(const struct cli *cli, const char *name)
{
    for (const struct cli_flag *flag = cli->verb->flags; flag->name != NULL; flag++) {
        if (strcmp(flag->name, name) == 0)
            return true;
    }
    return false;
}

bool order_filter_is_given(const struct cli *cli, const char *but)
{
    for (int i = 0; i < FILTERS; i++) {
        bool counts = but == NULL || strcmp(filters[i].flag, but) != 0;
        if (counts && has_flag(cli, filters[i].flag) && cli_flag_given(cli, filters[i].flag))
            return true;
    }
    return false;
}

/* A time, or how long ago it was. A number alone would be either. */
static bool parse_time(struct text text, int64_t now, int64_t *ret_time)
{
    int64_t ago;
    if (rfc3339_parse(text, ret_time))
        return *ret_time >= 0;
    bool has_unit =
        text.size > 0 && (text.data[text.size - 1] < '0' || text.data[text.size - 1] > '9');
    if (!has_unit || !number_parse_duration(text, &ago) || ago < 0 || ago > now)
        return false;
    *ret_time = now - ago;
    return true;
}

enum error_class order_filter_read_time(const struct cli *cli, const char *flag, int64_t now,
                                        char ret_text[RFC3339_TEXT_SIZE], struct error *ret_error)
{
    int64_t time;
    const char *given = has_flag(cli, flag) ? cli_flag_value(cli, flag) : NULL;
    if (given == NULL) {
        ret_text[0] = '\0';
        return ERROR_OK;
    }
    if (!parse_time(text_of(given), now, &time))
        return error_set(ret_error, CODE_USAGE,
                         "--%s %.40s: expected a time such as 2010-12-01T08:26:00Z or 2010-12-01, "
                         "or how long ago it was: 30m, 1h, 7d",
                         flag, given);
    rfc3339_format(time, ret_text);
    return ERROR_OK;
}

/* The console ignores an empty value, so the filter would select all orders. No order has a text
 * that is not UTF-8, so that one would select none without a word. */
static enum error_class check_value(const char *flag, const char *value, struct error *ret_error)
{
    if (value[0] == '\0')
        return error_set(ret_error, CODE_USAGE, "--%s is empty: give a value, or leave it out",
                         flag);
    if (!utf8_valid(text_of(value)))
        return error_set(ret_error, CODE_USAGE, "--%s is not UTF-8: set the terminal to UTF-8",
                         flag);
    return ERROR_OK;
}

static enum error_class check_values(const struct cli *cli, struct error *ret_error)
{
    for (int i = 0; i < FILTERS; i++) {
        size_t index = 0;
        const char *value;
        if (filters[i].fixed != NULL || !has_flag(cli, filters[i].flag))
            continue;
        while ((value = cli_flag_next(cli, filters[i].flag, &index)) != NULL)
            if (check_value(filters[i].flag, value, ret_error) != ERROR_OK)
                return ERROR_REJECT;
    }
    return ERROR_OK;
}

enum error_class order_filter_init(struct cli *cli, int64_t now, struct order_filter *ret_filter,
                                   struct error *ret_error)
{
    struct order_filter filter = {.cli = cli};
    if (check_values(cli, ret_error) != ERROR_OK ||
        order_filter_read_time(cli, "since", now, filter.since, ret_error) != ERROR_OK ||
        order_filter_read_time(cli, "until", now, filter.until, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_filter = filter;
    return ERROR_OK;
}

void order_filter_add(const struct order_filter *filter, struct console_path *path)
{
    const struct cli *cli = filter->cli;
    assert(cli != NULL);
    for (int i = 0; i < FILTERS; i++) {
        size_t index = 0;
        const char *value;
        const char *flag = filters[i].flag;
        if (!has_flag(cli, flag) || !cli_flag_given(cli, flag))
            continue;
        if (strcmp(flag, "since") == 0 || strcmp(flag, "until") == 0)
            console_path_add_query(path, flag, flag[0] == 's' ? filter->since : filter->until);
        else if (filters[i].fixed != NULL)
            console_path_add_query(path, filters[i].parameter, filters[i].fixed);
        else if (strcmp(flag, "attribute") != 0)
            console_path_add_query(path, filters[i].parameter, cli_flag_value(cli, flag));
        else
            while ((value = cli_flag_next(cli, flag, &index)) != NULL)
                console_path_add_query(path, filters[i].parameter, value);
    }
}
