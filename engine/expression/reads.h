/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions read, told from their compiled form: nothing is evaluated. For decide only.
 *
 * A path such as `input.a.b` reads that member; `input` alone, an index, a computed member and a
 * macro read everything below the place where they stand; has() reads whether a member is there. */
#ifndef ENGINE_EXPRESSION_READS_H
#define ENGINE_EXPRESSION_READS_H

#include "base/json.h"
#include "engine/expression/expression.h"

/* An input before and after a change. */
struct input_change {
    struct text before; /* canonical JSON; empty: null */
    struct text after;
    /* Bounds the work for hostile workflows: once it is spent, whatever is read counts as
     * changed. */
    struct json_walk walk;
    struct json_path path; /* of what was found to differ; its names borrow from the workflow */
};

void input_change_init(struct input_change *change, struct text before, struct text after);
/* Whether the whole input differs; then change->path is the root. */
bool input_differs(struct input_change *change);
/* Whether what they read of the input differs: they could give another result. NULL: false. */
bool expression_reads_change(const struct expression *expression, struct input_change *change);
bool template_reads_change(const struct expression_template *template, struct input_change *change);

#endif
