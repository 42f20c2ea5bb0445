/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tests: YAML text -> the cases of one workflow, with every mistake explained by
 * line and column. docs/use/testing-workflows.md is the users' reference. */
#ifndef REHEARSAL_CASE_FILE_H
#define REHEARSAL_CASE_FILE_H

#include "engine/engine.h"
#include "workflow/field_table.h"

enum {
    CASES_MAX = 1000,
    CASE_NAME_BYTES_MAX = 200,
    CASE_ACTS_MAX = 64,
    CASE_SIGNALS_MAX = 64,
    CASE_ANSWERS_MAX = 1000,
    CASE_DEPTH_MAX = ORDER_DEPTH_MAX - 1, /* of a sub-order */
    CASE_EVERY_ITEM = -2
};

/* The fields of these files. */
extern const struct field_table case_fields;

/* The order of the case, or one of the sub-orders below it. */
struct case_order {
    const struct workflow *workflow; /* the file's, or the body of a step; NULL: there is none */
    uint32_t depth;                  /* 0: the order of the case */
    struct {
        uint32_t step; /* of the order above */
        int64_t item;  /* -1: the step has no ForEach; or CASE_EVERY_ITEM */
    } path[CASE_DEPTH_MAX];
};

/* A step of one: "Pay", "Load~3/Store"; "Load/Store" in the sub-order of every item. */
struct case_step {
    struct case_order order;
    uint32_t step;
    struct case_order suborder; /* of a step with Steps: what it starts */
    bool names_item;            /* "Load~3": a sub-order, rather than the step */
    struct text name;           /* as the file has it */
};

/* Whether it is among those that `these` names. */
bool case_order_is_among(const struct case_order *order, const struct case_order *these);

/* What an agent answers to one attempt. Zeroed: it succeeds at once, without an output. */
struct case_answer {
    bool silent;            /* it never answers */
    bool extend;            /* it asks at once for all the time that it takes */
    int64_t after_ms;       /* how long it takes */
    struct text error_name; /* empty: it succeeds */
    struct text error_message;
    enum effect effect;
    struct text output; /* canonical JSON, or empty: none */
};

/* In turn, in each sub-order; the last one also answers what follows. */
struct case_answers {
    struct case_step step;
    const struct case_answer *list;
    uint32_t count;
};

/* What an operator does. */
struct case_act {
    enum command_kind kind;
    int64_t at_ms; /* after the order was submitted; -1: once nothing else happens */
    struct case_order order;
    struct text step; /* empty: the order as a whole, or all of its steps */
    int64_t item;     /* of `fail`; -1: the step as a whole */
    struct text reason;
    struct text output;
    struct text input; /* of `amend`: canonical JSON */
    struct text error_name;
    bool new_key;
    bool nothing_applied;
};

/* What comes for a step that awaits it. */
struct case_signal {
    int64_t at_ms; /* after the order was submitted; -1: as soon as the step waits */
    struct case_order order;
    struct text step;
    struct text payload; /* canonical JSON */
    struct text id;
    struct text by;
    struct text_list groups;
};

enum case_aspect {
    ASPECT_STEP_STATE,
    ASPECT_ATTEMPTS,
    ASPECT_INPUT, /* of a step with Steps: of its sub-orders */
    ASPECT_UNDO_INPUT,
    ASPECT_OUTPUT,
    ASPECT_ERROR,
    ASPECT_ORDER_STATE, /* of the sub-orders */
    ASPECT_COUNT
};

/* What is expected of a step, or of the sub-orders that it starts. */
struct case_expectation {
    enum case_aspect aspect;
    struct case_step step;
    int64_t number;   /* a state, or how many attempts */
    struct text text; /* a name, or canonical JSON */
};

struct case_list {
    const struct text *items;
    uint32_t count;
    bool given; /* an empty list is an expectation as well */
};

struct case_expected {
    int state;                /* enum order_state; negative: any */
    struct text reason_code;  /* empty: any */
    struct text output;       /* canonical JSON; empty: any */
    struct case_list path;    /* "STEP", "undo STEP", in the order of their first attempts */
    struct case_list refused; /* codes of commands; where not given, none may be refused */
    struct case_expectation *of_steps; /* by aspect, and as the file has them */
    uint32_t of_steps_count;
};

struct test_case {
    struct text name;
    struct mark mark;
    struct order_details details; /* valid, of the workflow */
    const struct case_answers *answers[DIRECTION_COUNT];
    uint32_t answers_count[DIRECTION_COUNT]; /* of steps that have some */
    const struct case_act *acts;
    uint32_t act_count;
    const struct case_signal *signals;
    uint32_t signal_count;
    struct case_expected expected;
};

struct case_file {
    struct text workflow; /* the path, as it is written */
    struct mark workflow_mark;
    const struct test_case *cases;
    uint32_t case_count;
    const struct yaml_node *nodes; /* of the cases, for case_file_read() */
};

/* The text's own form, and which workflow it tests; all of it lives in `arena`. False when there
 * are errors. Never reads files. */
bool case_file_begin(struct text text, struct arena *arena, struct workflow_problems *ret_problems,
                     struct case_file *ret_file);
/* Afterwards, the cases, which name steps of `workflow`. Adds to the problems; false when there are
 * errors. */
bool case_file_read(struct case_file *file, const struct workflow *workflow, struct arena *arena,
                    struct workflow_problems *problems);

#endif
