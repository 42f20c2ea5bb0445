/* SPDX-License-Identifier: Apache-2.0 */
/* What workflow_diff() compares: the fields of steps as texts, in the words of workflow files. For
 * workflow/diff.c. */
#ifndef WORKFLOW_DIFF_VALUES_H
#define WORKFLOW_DIFF_VALUES_H

#include "base/arena.h"
#include "engine/workflow.h"

#include <stddef.h>

/* ---- values as text ---- */

/* One value, in the arena. */
struct diff_value {
    struct arena *arena;
    char *data;
    size_t size;
    size_t capacity;
};

struct text diff_value_text(const struct diff_value *value);
void diff_add_text(struct diff_value *value, struct text text);
/* Numbers and words: texts of a file are longer. */
void diff_add(struct diff_value *value, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diff_add_seconds(struct diff_value *value, int64_t ms); /* "0.2 s" */
/* As JSON, which is what may stand in a file. */
void diff_add_template(struct diff_value *value, const struct expression_template *template);

/* ---- fields of a step ---- */

enum diff_field {
    DIFF_AGENT,
    DIFF_AFTER,
    DIFF_WHEN,
    DIFF_SET,
    DIFF_FAIL,
    DIFF_WAIT,
    DIFF_AWAIT,
    DIFF_ITEMS,
    DIFF_MAX_CONCURRENCY,
    DIFF_TOLERATED_FAILURES,
    DIFF_STOP_WHEN,
    DIFF_PRIORITY,
    DIFF_INPUT,
    DIFF_OUTPUT,
    DIFF_UNTIL,
    DIFF_TIMEOUT,
    DIFF_MAX_EXTENSION,
    DIFF_RETRY,
    DIFF_CATCH,
    DIFF_ON_EXHAUSTED,
    DIFF_PIVOT,
    DIFF_UNDO_ACTION,
    DIFF_UNDO_TIMEOUT,
    DIFF_UNDO_MAX_EXTENSION,
    DIFF_UNDO_RETRY,
    DIFF_UNDO_INPUT,
    DIFF_FIELD_COUNT
};

const char *diff_field_name(enum diff_field field);
/* Its value in the step at `index`; new in `arena`. */
struct text diff_field_of(const struct workflow *workflow, uint32_t index, enum diff_field field,
                          struct arena *arena);

#endif
