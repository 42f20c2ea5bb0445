/* SPDX-License-Identifier: Apache-2.0 */
/* Files of schedules: YAML or JSON text -> when orders are due, and which ones, with every mistake
 * explained by line and column. docs/use/schedules.md is the users' reference. */
#ifndef SCHEDULE_SCHEDULE_FILE_H
#define SCHEDULE_SCHEDULE_FILE_H

#include "schedule/ticks.h"
#include "schemas/records.h"
#include "workflow/field_table.h"
#include "workflow/workflow_file.h"

enum {
    SCHEDULE_EVERY_S_MAX = 366 * 86400,
    SCHEDULE_CATCH_UP_S_MAX = 6 * 86400, /* the orders of these ticks are still known */
    SCHEDULE_CATCH_UP_S = 3600           /* by default */
};

/* NAME@TICK */
enum { SCHEDULE_ORDER_ID_SIZE = NAME_BYTES_MAX + 1 + TICK_TEXT_SIZE };
_Static_assert((int)SCHEDULE_ORDER_ID_SIZE - 1 <= (int)ORDER_ID_BYTES_MAX, "it is an order's id");

/* The fields of these files. */
extern const struct field_table schedule_fields;

struct schedule {
    struct text name;
    struct text cron; /* as it is written; empty: at intervals */
    struct text zone; /* its name; of intervals "UTC" */
    struct ticks ticks;
    int64_t catch_up_s;
    struct order_details order;              /* without what a tick decides */
    const struct expression_template *input; /* NULL: none */
};

/* Compiles the text into *ret_schedule, wholly in `arena`; reads the zone's file. False when there
 * are errors; warnings may be there either way. */
bool schedule_parse(struct text text, enum workflow_format format, struct arena *arena,
                    struct workflow_problems *ret_problems, struct schedule **ret_schedule);
/* Of a text that was deployed: rules for new texts alone do not apply. */
bool schedule_parse_deployed(struct text text, enum workflow_format format, struct arena *arena,
                             struct workflow_problems *ret_problems,
                             struct schedule **ret_schedule);

/* "nightly@2026-11-24T02:00Z" */
void schedule_order_id(const struct schedule *schedule, int64_t tick,
                       char ret_id[SCHEDULE_ORDER_ID_SIZE]);
/* The order of a tick, as an application would submit it; what is new lives in `arena`. Evaluates
 * the input. REJECT with one clear line: with this tick, it is not an order. */
enum error_class schedule_order(const struct schedule *schedule, int64_t tick, struct arena *arena,
                                struct order_details *ret_details, struct error *ret_error);

#endif
