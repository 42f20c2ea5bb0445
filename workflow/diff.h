/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two workflows, by step and field, in the words of workflow files. Comments,
 * the order of the steps in the file and values that only repeat a default make no difference, nor
 * does Version. */
#ifndef WORKFLOW_DIFF_H
#define WORKFLOW_DIFF_H

#include "base/arena.h"
#include "engine/workflow.h"

struct workflow_difference {
    struct text step; /* STEP/STEP in a body; empty: of the workflow as a whole */
    /* "TimeoutSeconds", "InputShape.items[].sku", "Compensate.Action"; "Step": the whole step */
    const char *field;
    struct text left; /* empty: it is not there */
    struct text right;
    /* What follows for agents that know only `left`, and what to do; NULL: nothing is known to */
    const char *warning;
};

/* Returns their number; *ret_differences is new in the arena. Steps of `left` come first, in its
 * order, then those that only `right` has. */
uint32_t workflow_diff(const struct workflow *left, const struct workflow *right,
                       struct arena *arena, const struct workflow_difference **ret_differences);

/* The warnings among the differences as "step A, from version 1 to 2: ..."; returns their number.
 * *ret_texts is new in the arena. */
uint32_t workflow_diff_warnings(const struct workflow *left, const struct workflow *right,
                                struct arena *arena, const struct text **ret_texts);

#endif
