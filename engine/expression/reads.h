/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions read, told from their compiled form: nothing is evaluated. For decide only.
 *
 * A path such as `input.a.b` reads that member; `input` alone, an index, a computed member and a
 * macro read everything below the place where they stand; has() reads whether a member is there. */
#ifndef ENGINE_EXPRESSION_READS_H
#define ENGINE_EXPRESSION_READS_H

#include "base/json.h"
#include "engine/expression/expression.h"

struct input_change;

/* A read of what a step left: `output.X.a`, `has(output.X)`, `error.X`. */
struct step_read {
    const struct expression *expression;
    const struct expression_node *name; /* NAME_OUTPUT or NAME_ERROR, and the step's index */
    uint16_t accessor;                  /* the first node behind it; 0: none */
    bool asked;                         /* whether it is there, not what it is */
};

/* Whether that was made of what changes. */
typedef bool (*step_read_differs)(const void *of, const struct step_read *read,
                                  struct input_change *change);

/* An input before and after a change. */
struct input_change {
    struct text before; /* canonical JSON; empty: null */
    struct text after;
    /* Bounds the work for hostile workflows: once it is spent, whatever is read counts as
     * changed. */
    struct json_walk walk;
    struct json_path path; /* of what was found to differ; its names borrow from the workflow */
    struct step_read read; /* what was made of it, where that is read instead; no name: nothing */
    step_read_differs step_differs; /* NULL: what steps left counts as unchanged */
    const void *of;                 /* what `step_differs` is given */
};

void input_change_init(struct input_change *change, struct text before, struct text after);
/* Whether the whole input differs; then change->path is the root. */
bool input_differs(struct input_change *change);
/* Whether what they read of the input differs: they could give another result. NULL: false. */
bool expression_reads_change(const struct expression *expression, struct input_change *change);
bool template_reads_change(const struct expression_template *template, struct input_change *change);
/* The same of the part of an output that is read, where `template` made the output. */
bool template_part_reads_change(const struct expression_template *template,
                                const struct step_read *read, struct input_change *change);

#endif
