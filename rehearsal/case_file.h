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
    CASE_ANSWERS_MAX = 1000
};

/* The fields of these files. */
extern const struct field_table case_fields;

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

/* In turn; the last one also answers what follows. None: zeroed ones. */
struct case_answers {
    const struct case_answer *list;
    uint32_t count;
};

/* What an operator does. */
struct case_act {
    enum command_kind kind;
    int64_t at_ms;    /* after the order was submitted; -1: once nothing else happens */
    struct text step; /* empty: the order as a whole, or all of its steps */
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
    struct text step;
    struct text payload; /* canonical JSON */
    struct text id;
    struct text by;
    struct text_list groups;
};

/* Of one step. Texts are empty, and the others negative, where nothing is expected. */
struct case_step_expected {
    int state; /* enum step_state */
    int64_t attempts;
    struct text input[DIRECTION_COUNT]; /* canonical JSON, as is `output` */
    struct text output;
    struct text error_name;
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
    struct case_step_expected steps[WORKFLOW_STEPS_MAX]; /* as the workflow's */
};

struct test_case {
    struct text name;
    struct mark mark;
    struct order_details details; /* valid, of the workflow */
    struct case_answers answers[DIRECTION_COUNT][WORKFLOW_STEPS_MAX];
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
