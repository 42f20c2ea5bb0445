/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the compiler share; nothing outside workflow/ includes this. */
#ifndef WORKFLOW_COMPILE_H
#define WORKFLOW_COMPILE_H

#include "engine/shape.h"
#include "workflow/expression.h"
#include "workflow/fields.h"
#include "workflow/step_compiler.h"
#include "workflow/values.h"

/* The defaults of steps. */
struct defaults {
    int64_t timeout_ms;
    struct retry_policy retry;
    const struct catcher *catchers;
    uint32_t catcher_count;
    enum outcome on_exhausted;
    int64_t compensate_timeout_ms; /* 0: that of the step */
    struct retry_policy compensate_retry;
};

/* A step on its way. */
struct draft {
    struct field_values fields;
    struct mark mark; /* of its name, or of the step where it has none */
    struct workflow_step step;
    bool own_catch;
    bool own_on_exhausted;
    uint32_t items;                 /* of ForEach with a list in the file; 0: not known */
    struct workflow_compiler *body; /* of Steps, once it is compiled; in scratch memory */
};

/* Where the expressions of a workflow stand. */
struct expression_place {
    uint64_t before[WORKFLOW_STEPS_MAX]; /* of each draft, all steps that come before it */
    struct expression_known_step known[WORKFLOW_STEPS_MAX];
    struct expression_guards guards;
    const struct expression_shape *input;  /* NULL: any */
    const struct expression_shape *item;   /* of the ForEach that is being compiled; NULL: any */
    const struct expression_shape *result; /* of its items; NULL: any */
    const struct expression_outer *outer;  /* of a body; NULL: of the file's own steps */
    bool cycle; /* in After: the order of the steps is not known, so every step is before each */
};

/* Of a file, or of a body in it: the body's is made by the step that it belongs to. */
struct workflow_compiler {
    struct values values;  /* the arena that the workflow lives in, the problems */
    struct arena *scratch; /* until the whole file is compiled */
    struct workflow *workflow;
    struct defaults defaults;
    uint32_t depth;       /* 1: of the file; that of a body is one more than its parent's */
    uint32_t *file_steps; /* how many the file has, with its bodies */
    uint32_t id_bytes;    /* what the id of such an order has besides that of its root */
    struct draft *drafts; /* in scratch memory */
    uint32_t draft_count;
    struct expression_place place;
    int64_t timeout_ms; /* of the order; 0: none, as orders of a body */
    struct mark timeout_mark;
    int pivot;
};

static inline bool compiles_body(const struct workflow_compiler *compiler)
{
    return compiler->depth > 1;
}

/* ---- compile_policy.c ---- */
/* ASL's defaults; an absent Retry means no retries. */
#define DEFAULT_INTERVAL_MS 1000
#define DEFAULT_BACKOFF_RATE_MILLI 2000
#define DEFAULT_MAX_ATTEMPTS 3
/* An undo must not give up quickly. */
#define DEFAULT_UNDO_MAX_ATTEMPTS 5
#define DEFAULT_TIMEOUT_MS 60000

bool compile_retry(const struct values *values, const struct yaml_node *node,
                   struct retry_policy *ret_policy);
/* `place`: of a step, or of Defaults, where no catcher lets orders go on. */
bool compile_catch(const struct values *values, const struct yaml_node *node,
                   enum workflow_place place, const struct catcher **ret_catchers,
                   uint32_t *ret_count);
bool compile_on_exhausted(const struct values *values, const struct yaml_node *node,
                          enum outcome *ret_outcome);
struct retry_policy compile_default_undo_policy(struct arena *arena);

/* ---- compile_steps.c ---- */
/* Drafts of all steps; After refers to them. `input`: see compile_graph(). */
void compile_steps(struct workflow_compiler *compiler, const struct yaml_node *node,
                   const struct expression_shape *input);

/* ---- compile_graph.c ---- */
/* The steps of a file or of a body, how they follow each other, and what they end with. `input`:
 * what is known of the orders' input; NULL: nothing. */
void compile_graph(struct workflow_compiler *compiler, const struct yaml_node *steps,
                   const struct yaml_node *output, const struct expression_shape *input);
/* The body of a draft whose ForEach and Input have been read. */
void compile_body(struct workflow_compiler *compiler, struct draft *draft,
                  const struct expression_shape *input);

/* ---- compile_expressions.c ---- */
/* After, Catch and the kind are known for all drafts. */
void compile_expressions_begin(struct workflow_compiler *compiler,
                               const struct expression_shape *input);
/* Before the draft's other expressions. */
void compile_when(struct workflow_compiler *compiler, struct draft *draft);
/* In `more`: output and error do not stand there. */
#define NAMES_WITHOUT_STEPS (UINT32_C(1) << 31)
_Static_assert(EXPRESSION_NAME_COUNT < 31, "it stands for nothing else");
/* NULL without a node, or after a problem. `more`: names besides those that stand everywhere.
 * `most`: see compile_template(). */
const struct expression_template *compile_step_template(struct workflow_compiler *compiler,
                                                        const struct draft *draft,
                                                        const struct yaml_node *node,
                                                        const char *what, uint32_t more,
                                                        uint32_t most);
/* The Input of the step's Compensate. Each attempt may time out, and is undone without a result. */
const struct expression_template *compile_undo_input(struct workflow_compiler *compiler,
                                                     const struct draft *draft,
                                                     const struct yaml_node *node);
/* As compile_step_template(); the value may be one of `kinds`. */
const struct expression *compile_step_expression(struct workflow_compiler *compiler,
                                                 const struct draft *draft,
                                                 const struct yaml_node *node, const char *what,
                                                 uint32_t more, uint8_t kinds);
/* What an expression or a template of the draft gives; NULL: nothing is known. */
const struct expression_shape *compile_shape_of(struct workflow_compiler *compiler,
                                                const struct draft *draft,
                                                const struct expression *expression, uint32_t more);
const struct expression_shape *compile_shape_of_template(struct workflow_compiler *compiler,
                                                         const struct draft *draft,
                                                         const struct expression_template *template,
                                                         uint32_t more);
/* The same of the Output of a whole workflow, which is null without one. */
const struct expression_shape *compile_shape_of_output(struct workflow_compiler *compiler);
/* What later steps know of the draft's output; NULL: nothing. */
void compile_known_output(struct workflow_compiler *compiler, const struct draft *draft,
                          const struct expression_shape *shape);
/* Of the workflow. */
const struct expression_template *compile_output(struct workflow_compiler *compiler,
                                                 const struct yaml_node *node);

/* ---- compile_shape.c ---- */
/* The InputShape; lives in the values' arena. NULL after a problem. */
const struct shape *compile_shape(const struct values *values, const struct yaml_node *node);

/* ---- json_schema_words.c ---- */
/* Whether the map is JSON Schema, which is often written where a shape belongs. */
bool shape_is_json_schema(const struct yaml_node *node);
/* Reports that it is, and the shape to write. */
void shape_refuse_json_schema(const struct values *values, const struct yaml_node *node);

/* ---- check_graph.c ---- */
/* ret_before[i]: all steps that come before i, near and far. False: there is a cycle. */
bool workflow_find_before(const struct workflow_compiler *compiler,
                          uint64_t ret_before[WORKFLOW_STEPS_MAX]);
/* After is known for all drafts: cycles; what comes before and after the pivot. */
void workflow_check_graph(struct workflow_compiler *compiler);

/* ---- check_options.c ---- */
/* Notes on Awaits whose choice decides nothing. `output`: of the workflow, or NULL. */
void workflow_check_options(struct workflow_compiler *compiler,
                            const struct expression_template *output);

/* ---- check_timeouts.c ---- */
/* Whether timeouts and retries fit into each other. Only for graphs without a cycle. */
void workflow_check_timeouts(struct workflow_compiler *compiler);
/* From the first step's start to the last one's end at worst; 0 if there is a cycle. */
int64_t workflow_longest_ms(const struct workflow_compiler *compiler);

#endif
