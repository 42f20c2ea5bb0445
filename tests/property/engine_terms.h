/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions and templates as trees: printed for the workflow compiler, and evaluated by a
 * second implementation of the rules, which shares nothing with engine/expression. */
#ifndef TESTS_PROPERTY_ENGINE_TERMS_H
#define TESTS_PROPERTY_ENGINE_TERMS_H

#include "base/arena.h"
#include "tests/property/engine_random.h"

enum { TERM_CHILDREN_MAX = 3, TERM_MEMBERS_MAX = 2, TERM_STEPS_MAX = 64, TERM_SIZE = 4096 };

enum term_kind {
    TERM_NUMBER,
    TERM_WORD,
    TERM_VARIABLE, /* of the exists() or all() around it */
    TERM_INPUT,    /* these begin a path */
    TERM_RESULT,
    TERM_OUTPUT,
    TERM_ERROR_NAME, /* error.STEP.name */
    TERM_CUSTOMER,   /* order.customer */
    TERM_HAS_OUTPUT,
    TERM_HAS_ERROR,
    TERM_HAS_MEMBER, /* of[0]: a path that ends in a member */
    TERM_NOT,
    TERM_AND,
    TERM_OR,
    TERM_CHOOSE,
    TERM_BINARY, /* a relation, or + - * % */
    TERM_SIZE_OF,
    TERM_EXISTS, /* of[0]: a path, of[1]: a condition with the variable */
    TERM_ALL,
    TERM_ENDLESS, /* spends the budget */
    /* templates */
    TERM_CONSTANT, /* JSON */
    TERM_FILLED,   /* of[0] within a text */
    TERM_MAP       /* a, b and c, as many as there are children */
};

struct term {
    enum term_kind kind;
    int64_t number;
    const char *text; /* of a constant, or an operator */
    struct text word;
    struct text step;
    char members[TERM_MEMBERS_MAX]; /* of a path; 0: none */
    const struct term *of[TERM_CHILDREN_MAX];
    uint32_t count;
};

/* ---- drawing: new in the arena ---- */

struct term_place {
    struct dice *dice;
    struct arena *arena;
    struct text outputs[TERM_STEPS_MAX]; /* steps that come before */
    uint32_t output_count;
    struct text errors[TERM_STEPS_MAX]; /* of these, those that may be caught */
    uint32_t error_count;
    bool through; /* the input is mostly read through outputs */
    bool result;
    bool choice;   /* the result is the answer to an Await with Options */
    bool variable; /* private */
};

const struct term *term_condition(struct term_place *place);
/* Makes JSON. */
const struct term *term_template(struct term_place *place);
/* Makes a text. */
const struct term *term_message(struct term_place *place);
/* Mostly makes a number. */
const struct term *term_seconds(struct term_place *place);
/* A condition that takes all the time there is. */
const struct term *term_endless(struct arena *arena);

/* ---- printing ---- */

/* As an expression. In the arena. */
struct text term_print(const struct term *term, struct arena *arena);
/* As a YAML value. */
struct text term_print_template(const struct term *term, struct arena *arena);

/* ---- evaluating ---- */

enum found_kind { FOUND_FAULT, FOUND_NULL, FOUND_BOOL, FOUND_NUMBER, FOUND_TEXT, FOUND_DATA };

enum fault {
    FAULT_NONE,
    FAULT_MISSING, /* reads the output or error of a step that has none */
    FAULT_QUERY,
    FAULT_LIMIT,
    FAULT_SPENT
};

struct found {
    enum found_kind kind;
    enum fault fault;
    int64_t number;   /* also of FOUND_BOOL */
    struct text text; /* of FOUND_DATA: JSON, a list or a map */
};

struct term_step {
    bool has_output;
    bool has_error;
    struct text output; /* empty: null */
    struct text error_name;
};

struct term_scope {
    struct arena *arena;
    struct term_step (*step)(const void *of, struct text name);
    const void *of;
    struct text input;
    struct text result;
    struct text customer;
    bool disabled;         /* every evaluation fails */
    bool *spent;           /* the budget; may be set */
    struct found variable; /* private */
};

struct found term_evaluate(struct term_scope *scope, const struct term *term);
/* Of a When. That nothing but an output or an error is missing makes it false; *ret_fault is then
 * FAULT_MISSING. False: a fault. */
bool term_holds(struct term_scope *scope, const struct term *when, bool *ret_yes,
                enum fault *ret_fault);
/* Any other condition: that something is missing is a fault as well. */
bool term_test(struct term_scope *scope, const struct term *condition, bool *ret_yes,
               enum fault *ret_fault);
bool term_number(struct term_scope *scope, const struct term *term, int64_t *ret_number,
                 enum fault *ret_fault);
/* Whether anything is evaluated at all. */
bool term_may_begin(const struct term_scope *scope, enum fault *ret_fault);
/* Canonical JSON of at most `bytes_max` bytes. False: a fault. */
bool term_json(struct term_scope *scope, const struct term *template, uint32_t bytes_max,
               struct text *ret_json, enum fault *ret_fault);
bool term_text(struct term_scope *scope, const struct term *template, uint32_t bytes_max,
               struct text *ret_text, enum fault *ret_fault);

#endif
