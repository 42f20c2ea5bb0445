/* SPDX-License-Identifier: Apache-2.0 */
/* What parsing and checking share. Inside workflow/ only. */
#ifndef WORKFLOW_EXPRESSION_PARSE_H
#define WORKFLOW_EXPRESSION_PARSE_H

#include "workflow/expression_lexer.h"

/* Where a function's value stands, see engine/expression/functions.def. */
enum expression_form { FORM_FUNCTION, FORM_METHOD, FORM_EITHER, FORM_MACRO };

/* An expression on its way. */
struct expression_draft {
    struct text source;
    const struct expression_names *names;
    struct arena *arena; /* where its texts live */
    struct expression_problems *problems;
    struct expression_node nodes[EXPRESSION_NODES_MAX]; /* 0 is the root */
    uint16_t node_count;
    uint16_t slot_count;
};

/* The nodes of draft->source, names resolved. False: there are errors. */
bool expression_parse(struct expression_draft *draft);
/* Reports what cannot be by the kinds of its values; the whole may be one of `kinds`. */
void expression_check(struct expression_draft *draft, uint8_t kinds);

/* check_guards.c: reports outputs, errors and optional members that are read without has(). Of a
 * draft without errors. */
void expression_check_guards(const struct expression_draft *draft);
/* What a boolean always is, by its constants and by what is always there. */
enum expression_truth { TRUTH_UNKNOWN, TRUTH_FALSE, TRUTH_TRUE };
enum expression_truth expression_truth_of(const struct expression *expression,
                                          const struct expression_names *names,
                                          struct arena *arena);
/* The member of the input that a has() which is the whole expression, or the whole behind `!`, asks
 * for although InputShape requires it; else empty. */
struct text expression_asks_for_required(const struct expression *expression,
                                         const struct expression_names *names);

/* check_texts.c: warns of a text without ${ } that was meant to have it: all of it is an expression
 * that reads data of the order, perhaps within the marks of another language. */
void expression_check_text(const struct values *values, const struct yaml_node *node,
                           const struct expression_names *names);

/* expression_names.c: names, functions and members that are not known, with the nearest one. */
/* "there is no WHAT NAME", with the candidate that is meant, or all of them. */
void expression_report_unknown(const struct expression_draft *draft, uint32_t at, const char *what,
                               struct text name, const struct text *candidates, uint32_t count);
/* A text that no signal chooses. */
void expression_report_option(const struct expression_draft *draft, uint32_t at, struct text word,
                              struct text_list options);
bool expression_find_name(struct text text, enum expression_name *ret_name);
bool expression_find_function(struct text text, enum expression_function *ret_function);
/* What to write for a word that is an operator elsewhere; NULL: it is not one. */
const char *expression_operator_word_cure(struct text word);
void expression_report_name(const struct expression_draft *draft, uint32_t at, struct text name,
                            const struct text *variables, uint32_t variable_count);
/* input.a b, of which b stands from `at` to `end`; false: it is something else. */
bool expression_report_blank(const struct expression_draft *draft, uint32_t at, uint32_t end);
/* `method`: it stands behind a value and a dot. */
void expression_report_function(const struct expression_draft *draft, uint32_t at, struct text name,
                                bool method);
/* The step that output.NAME or error.NAME refers to; false after a problem. */
bool expression_find_step(const struct expression_draft *draft, uint32_t at,
                          enum expression_name kind, struct text name, uint16_t *ret_step);
/* The same of order.NAME. */
bool expression_find_order_member(const struct expression_draft *draft, uint32_t at,
                                  struct text name, uint16_t *ret_member);

#endif
