/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that select orders, as parameters of the console's API. */
#ifndef CLI_CONSOLE_ORDER_FILTER_H
#define CLI_CONSOLE_ORDER_FILTER_H

#include "base/rfc3339.h"
#include "cli/console/console_client.h"

/* For a verb's table of flags. */
#define ORDER_FILTER_FLAGS                                                                        \
    {"state", "STATE",                                                                            \
     "Only Pending, Processing, Processed, Compensating, Compensated or Error."},                 \
        {"waiting-for", "STEP", "Only orders in which this step waits, for a time or a signal."}, \
        {"group", "GROUP",                                                                        \
         "Only orders in which a step, or that of --waiting-for, waits for a signal of this "     \
         "group."},                                                                               \
        {"error", "CODE", "Only orders cancelled, compensated or in Error for this code."},       \
        {"workflow", "NAME", "Only orders of this workflow."},                                    \
        {"workflow-version", "N", "Only orders of this version; with --workflow."},               \
        {"alert", NULL, "Only orders with an open alert."},                                       \
        {"paused", NULL, "Only orders that an operator paused."},                                 \
        {"customer", "CUSTOMER", "Only orders of this customer."},                                \
        {"attribute", "NAME=VALUE",                                                               \
         "Only orders with this attribute. May be repeated: all of them match."},                 \
        {"prefix", "TEXT", "Only orders whose ids begin with this."},                             \
        {"since", "TIME",                                                                         \
         "Only orders submitted since then: a time such as 2010-12-01T08:26:00Z, or "             \
         "an age: 30m, 1h, 7d. An order is submitted when the scheduler accepts it."},            \
    {                                                                                             \
        "until", "TIME", "Only orders submitted before then."                                     \
    }
#define ORDER_FILTER_STEP_FLAG                                                        \
    {                                                                                 \
        "step", "NAME", "Only orders in which this step runs, waits, or is in Error." \
    }

/* The flags as given, with their times fixed: they are the same on every page. */
struct order_filter {
    struct cli *cli;
    char since[RFC3339_TEXT_SIZE]; /* "" = not given */
    char until[RFC3339_TEXT_SIZE];
};

/* Reads a flag that is a time, or how long ago it was, as the API's parameter; "": not given.
 * REJECT "Usage". */
enum error_class order_filter_read_time(const struct cli *cli, const char *flag, int64_t now,
                                        char ret_text[RFC3339_TEXT_SIZE], struct error *ret_error);
/* Whether one of the flags that the verb has is given. `but`: one that does not count; may be NULL.
 */
bool order_filter_is_given(const struct cli *cli, const char *but);
/* REJECT "Usage". `now`: what durations count from. */
enum error_class order_filter_init(struct cli *cli, int64_t now, struct order_filter *ret_filter,
                                   struct error *ret_error);
/* Adds the filter to a path of /api/orders. */
void order_filter_add(const struct order_filter *filter, struct console_path *path);

#endif
