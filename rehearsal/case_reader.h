/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of cases share. Inside rehearsal/ only. */
#ifndef REHEARSAL_CASE_READER_H
#define REHEARSAL_CASE_READER_H

#include "rehearsal/case_file.h"
#include "rehearsal/fields.h"
#include "workflow/values.h"

struct case_reader {
    struct values values;
    const struct workflow *workflow;
};

/* case_steps.c: "STEP", "STEP/STEP" and "STEP~ITEM/STEP". False after a problem, which is at `mark`
 * and names what is wrong with `text`. */
bool case_find_step(const struct case_reader *reader, struct text text, struct mark mark,
                    struct case_step *ret_step);
/* The same of a step, not of a sub-order, whose items are all named: there is one such step. */
bool case_find_one_step(const struct case_reader *reader, struct text text, struct mark mark,
                        struct case_step *ret_step);
/* False after a problem: a step above it has items, and none is named. */
bool case_names_one(const struct case_reader *reader, const struct case_step *step,
                    struct mark mark);
/* The sub-orders of a step with Steps: "STEP", "STEP~ITEM"; `one`: a single one. */
bool case_find_suborder(const struct case_reader *reader, struct text text, struct mark mark,
                        bool one, struct case_step *ret_step);
/* The values of a mapping by step, or by sub-order: for each of them `take`, with what its name
 * says. */
typedef void case_take_of_step(const struct case_reader *reader, const struct yaml_node *node,
                               const struct case_step *step, void *ctx);
void case_read_by_step(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, case_take_of_step *take, void *ctx);
/* False after a problem: it names an item, so it is a sub-order. */
bool case_is_step(const struct case_reader *reader, const struct case_step *step, struct mark mark);
/* The name of an error that agents and operators may report. */
void case_read_error_name(const struct case_reader *reader, const struct yaml_node *node,
                          const char *what, struct text *ret_name);
void case_read_message(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, struct text *ret_text);
void case_check_comment(const struct case_reader *reader, const struct field_values *fields);

/* case_answers.c: Answers or UndoAnswers. */
void case_read_answers(const struct case_reader *reader, const struct yaml_node *node,
                       enum direction direction, struct test_case *ret_case);
/* case_acts.c: Operator. */
void case_read_acts(const struct case_reader *reader, const struct yaml_node *node,
                    struct test_case *ret_case);
/* case_signals.c: Signals. */
void case_read_signals(const struct case_reader *reader, const struct yaml_node *node,
                       struct test_case *ret_case);
/* case_expect.c: Expect. */
const char *case_aspect_name(enum case_aspect aspect); /* the field */
void case_read_expected(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_expected *ret_expected);

#endif
