/* SPDX-License-Identifier: Apache-2.0 */
/* Texts -> expressions and templates, with every mistake explained by line and column.
 *
 * expression_compile() knows nothing of files: it reports bytes of the text. compile_expression()
 * and compile_template() do the same for a node of a workflow file, and report into its problems.
 */
#ifndef WORKFLOW_EXPRESSION_H
#define WORKFLOW_EXPRESSION_H

#include "base/arena.h"
#include "engine/expression/expression.h"
#include "engine/shape.h"
#include "workflow/values.h"

struct expression_names;

/* ---- what an expression may refer to, by its place ---- */

struct expression_known_step {
    struct text name;
    bool before; /* it comes before the step that the expression belongs to */
    bool fails;  /* error.NAME is of use: a catcher of it continues */
    const struct expression_shape *output; /* NULL: any */
};

/* Members of data, where an InputShape or an Input tells them; NULL: not known. */
struct expression_shape {
    uint8_t kinds;    /* set of enum value_kind: 1 << VALUE_TEXT; a number is INT and REAL */
    bool optional;    /* may be missing from the map around it */
    struct text name; /* in the map around it */
    const struct expression_shape *members; /* of a map; NULL: any */
    uint32_t member_count;
    const struct expression_shape *element; /* of a list; NULL: any */
    struct text_list words;                 /* of a text: it is one of them; none: any */
};

/* Of a workflow's InputShape; NULL: there is none. Recurses no deeper than a file may be. New in
 * `arena`; texts are borrowed. */
const struct expression_shape *expression_shape_of(const struct shape *shape, struct arena *arena);

/* What the value of a compiled expression may be, by the names that it was compiled with; the same
 * of what a template makes. New in `arena`; texts are borrowed. */
const struct expression_shape *expression_shape_of_value(const struct expression *expression,
                                                         const struct expression_names *names,
                                                         struct arena *arena);
const struct expression_shape *expression_shape_of_template(
    const struct expression_template *template, const struct expression_names *names,
    struct arena *arena);
/* Of data that nothing is known of. */
extern const struct expression_shape expression_shape_any;

/* Around a body: the workflow of the step that it belongs to. */
struct expression_outer {
    struct text step;                          /* that step */
    bool input_is_item;                        /* it has a ForEach and no Input */
    bool has_input;                            /* it has an Input, which makes the body's */
    const struct expression_known_step *steps; /* of the workflow */
    uint32_t step_count;
    const struct expression_outer *outer; /* if it is a body itself */
};

/* Which outputs and errors of steps before are there. */
struct expression_guards {
    uint64_t always; /* set of the workflow's steps: they have neither a When nor a Catch with
                        $continue, and a kind that has an output */
    const struct expression *own_when; /* of this step; NULL: none, or it is this expression */
    /* Of a body that has the input of what is around it: the Whens of the steps around it. */
    const struct expression *outer_whens[ORDER_DEPTH_MAX - 1];
    uint32_t outer_when_count;
    bool result_may_be_null; /* in what an undo is sent: of an attempt that timed out */
    struct {                 /* of each step: what its When says, once it has started */
        uint64_t outputs;
        uint64_t errors;
    } started[WORKFLOW_STEPS_MAX];
};

/* The step begins only if `when` is true; for all steps with a When, before any is checked. */
void expression_guards_add(struct expression_guards *guards, uint32_t step,
                           const struct expression *when);

struct expression_names {
    uint32_t allowed; /* set of enum expression_name: 1 << NAME_INPUT | ... */
    const struct expression_known_step *steps; /* indexed as the workflow's */
    uint32_t step_count;
    const struct expression_shape *input;  /* NULL: any */
    const struct expression_shape *item;   /* NULL: any */
    const struct expression_shape *result; /* NULL: any */
    const struct expression_outer *outer;  /* of a body; NULL: of a file's own steps */
    bool whole; /* it belongs to the workflow, not to a step: its Output */
    const struct expression_guards *guards; /* NULL: what may be missing is not checked */
    bool deployed; /* the text was checked when it was new: only what cannot be evaluated counts */
};

/* Everywhere: input, order, output and error. */
#define EXPRESSION_NAMES_ALWAYS \
    (1U << NAME_INPUT | 1U << NAME_ORDER | 1U << NAME_OUTPUT | 1U << NAME_ERROR)

#define KIND_SET(kind) (1U << VALUE_##kind)
#define KINDS_NUMBER (KIND_SET(INT) | KIND_SET(REAL))
#define KINDS_ANY ((1U << VALUE_KIND_COUNT) - 1)
#define KINDS_IN_TEXT (KINDS_NUMBER | KIND_SET(TEXT) | KIND_SET(BOOL)) /* ${...} in other text */

/* ---- texts ---- */

enum { EXPRESSION_PROBLEMS_MAX = 8, EXPRESSION_PROBLEM_SIZE = 224 };

struct expression_problem {
    enum workflow_severity severity;
    uint32_t at; /* byte in the text, from 0 */
    char text[EXPRESSION_PROBLEM_SIZE];
};

struct expression_problems {
    struct expression_problem items[EXPRESSION_PROBLEMS_MAX]; /* in the order of `at` */
    uint32_t count;
    uint32_t errors;
};

/* All of `source` is an expression whose value may be one of `kinds`. NULL if there are errors.
 * The result and its texts live in `arena`; nothing is borrowed. */
const struct expression *expression_compile(struct text source,
                                            const struct expression_names *names, uint8_t kinds,
                                            struct arena *arena,
                                            struct expression_problems *ret_problems);
/* Where the first "}" outside of texts and brackets stands: the end of "${expr}", of which `text`
 * begins after "${". text.size: there is none. */
uint32_t expression_find_brace(struct text text);

/* ---- nodes of a file ---- */

/* A plain field: When, Until, StopWhen, Items, Seconds, Timestamp. `what` is its name. NULL after a
 * problem. */
const struct expression *compile_expression(const struct values *values,
                                            const struct yaml_node *node, const char *what,
                                            const struct expression_names *names, uint8_t kinds);
/* `most`: bytes of JSON that Input, Output or Set may make; 0: a text, Question or Message. NULL
 * after a problem. */
const struct expression_template *compile_template(const struct values *values,
                                                   const struct yaml_node *node, const char *what,
                                                   const struct expression_names *names,
                                                   uint32_t most);

#endif
