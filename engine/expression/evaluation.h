/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the evaluator share. Inside engine/expression/ only.
 *
 * A function that returns false has filled evaluation->error, unless it says otherwise. Whatever
 * works through data spends for it first, so nothing goes on once the budget is spent. */
#ifndef ENGINE_EXPRESSION_EVALUATION_H
#define ENGINE_EXPRESSION_EVALUATION_H

#include "engine/expression/evaluate.h"
#include "engine/expression/value.h"

#include <assert.h>

/* Lists and maps within each other that are compared or written: those of data, and as many again
 * that the expression made around them. */
enum { VALUE_DEPTH_MAX = JSON_DEPTH_MAX + EXPRESSION_DEPTH_MAX };

struct evaluation {
    struct expression_run *run;
    const struct expression *expression;
    struct expression_error error;
    struct expression_value variables[EXPRESSION_DEPTH_MAX]; /* of the macros around a node */
};

/* ---- spending (evaluate.c) ---- */

enum {
    COST_NODE = EXPRESSION_UNIT,
    COST_ELEMENT = EXPRESSION_UNIT,
    COST_MADE = EXPRESSION_UNIT / 16, /* for each byte made */
    /* Numbers of more digits than real.h reads and writes fast, or with an exponent. */
    COST_DIGITS_READ = 4 * EXPRESSION_UNIT,
    COST_DIGITS_WRITTEN = 10 * EXPRESSION_UNIT,
    COST_EXPONENT_READ = 16 * EXPRESSION_UNIT,
};

bool evaluation_spend(struct evaluation *evaluation, uint32_t at, uint64_t cost);
/* False if a walk through data has ended the budget. */
bool evaluation_check_walk(struct evaluation *evaluation, uint32_t at);
bool evaluation_fail(struct evaluation *evaluation, enum expression_error_code code, uint32_t at);
/* With a name, for the message. */
bool evaluation_fail_name(struct evaluation *evaluation, enum expression_error_code code,
                          uint32_t at, struct text name);
/* `what` takes `wants`, a set of kinds, not `found`. */
bool evaluation_fail_type(struct evaluation *evaluation, uint32_t at, struct text what,
                          uint8_t wants, const struct expression_value *found);

/* Of two errors that absorbed each other, keeps the first; but that a step has no output excuses no
 * other mistake. */
void evaluation_keep_error(struct expression_error *kept, const struct expression_error *error);

static inline const struct expression_node *evaluation_node(const struct evaluation *evaluation,
                                                            uint16_t index)
{
    assert(index < evaluation->expression->node_count);
    return &evaluation->expression->nodes[index];
}

/* Recursion is bounded by EXPRESSION_DEPTH_MAX. */
bool evaluate_node(struct evaluation *evaluation, uint16_t index,
                   struct expression_value *ret_value);
/* A node whose value must be a bool; `what` asks for it. */
bool evaluate_bool(struct evaluation *evaluation, uint16_t index, struct text what, bool *ret_yes);

/* ---- values (value.c) ---- */

#define KIND_BIT(kind) (1U << VALUE_##kind)
#define KINDS_NUMBERS (KIND_BIT(INT) | KIND_BIT(REAL))

struct expression_number {
    bool is_whole;
    int64_t whole;
    double real; /* also of a whole one */
};

/* The value of canonical JSON, where it lies; empty: null. */
struct expression_value value_of_json_text(struct text json);

static inline struct expression_value value_of_bool(bool yes)
{
    return (struct expression_value){.kind = VALUE_BOOL, .yes = yes};
}

static inline struct expression_value value_of_whole(int64_t whole)
{
    return (struct expression_value){.kind = VALUE_INT, .whole = whole};
}

static inline struct expression_value value_of_text(struct text text)
{
    return (struct expression_value){.kind = VALUE_TEXT, .text = text};
}

static inline bool value_is_number(const struct expression_value *value)
{
    return value->kind == VALUE_INT || value->kind == VALUE_REAL;
}

/* Of a number. */
bool value_number(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                  struct expression_number *ret_number);
/* Of a text: unescaped. */
bool value_plain_text(struct evaluation *evaluation, uint32_t at,
                      const struct expression_value *value, struct text *ret_text);
/* A finite double; EXPRESSION_NOT_FINITE. */
bool value_of_real(struct evaluation *evaluation, uint32_t at, double real,
                   struct expression_value *ret_value);
bool value_equal(struct evaluation *evaluation, uint32_t at, const struct expression_value *a,
                 const struct expression_value *b, bool *ret_equal);

/* A loop over a list or a map in its order. An error also ends it: see `failed`. */
struct value_items {
    const struct expression_value *container;
    struct json_items json;
    uint32_t next;
    struct expression_value value; /* the current one */
    struct text name;              /* of an entry */
    bool name_escaped;             /* as in JSON */
    bool failed;
};

void value_items_begin(struct value_items *items, const struct expression_value *container);
bool value_items_next(struct evaluation *evaluation, uint32_t at, struct value_items *items);

/* A list that grows; its values live in the run's arena. */
struct value_list {
    struct expression_value *items;
    uint32_t count;
    uint32_t capacity;
};

bool value_list_add(struct evaluation *evaluation, uint32_t at, struct value_list *list,
                    const struct expression_value *value);
struct expression_value value_of_list(const struct value_list *list);

/* ---- operators.c, names.c, functions.c ---- */

bool evaluate_chain(struct evaluation *evaluation, const struct expression_node *node,
                    struct expression_value *ret_value);
bool evaluate_negative(struct evaluation *evaluation, const struct expression_node *node,
                       struct expression_value *ret_value);
/* -1, 0 or 1. */
int number_compare(const struct expression_number *a, const struct expression_number *b);
bool number_add(struct evaluation *evaluation, uint32_t at, const struct expression_number *a,
                const struct expression_number *b, struct expression_value *ret_value);

bool evaluate_name(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value);
bool evaluate_path(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value);
bool evaluate_has(struct evaluation *evaluation, const struct expression_node *node,
                  struct expression_value *ret_value);
/* The member of a map; *ret_found tells whether there is one. */
bool value_member(struct evaluation *evaluation, uint32_t at, const struct expression_value *map,
                  struct text name, struct expression_value *ret_value, bool *ret_found);

bool evaluate_call(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value);
bool evaluate_macro(struct evaluation *evaluation, const struct expression_node *node,
                    struct expression_value *ret_value);

/* ---- write.c ---- */

/* A text, number or bool as string() gives it. */
bool value_to_text(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                   struct text *ret_text);
/* As canonical JSON. */
bool value_write(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                 struct json_writer *writer);

/* The text of a writer that is done, or an error: too large, or too deep. */
bool evaluation_written(struct evaluation *evaluation, struct json_writer *writer,
                        struct text *ret_json);

/* ---- evaluate.c, for templates ---- */

/* The value of an expression within a template, written as JSON ... */
bool expression_write(struct expression_run *run, const struct expression *expression,
                      struct json_writer *writer, struct expression_error *ret_error);
/* ... or put into a text: a text as it is, a number or bool as string() gives it. */
bool expression_fill(struct expression_run *run, const struct expression *expression,
                     struct text *ret_text, struct expression_error *ret_error);

#endif
