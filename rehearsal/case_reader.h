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

/* The step's index; -1 after a problem. `text` stands at `mark`. */
int case_find_step(const struct case_reader *reader, struct text text, struct mark mark);
/* The values of a mapping by step: for each of them `take`, with the step's index. */
typedef void case_take_of_step(const struct case_reader *reader, const struct yaml_node *node,
                               uint32_t step, void *ctx);
void case_read_by_step(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, case_take_of_step *take, void *ctx);
/* The name of an error that agents and operators may report. */
void case_read_error_name(const struct case_reader *reader, const struct yaml_node *node,
                          const char *what, struct text *ret_name);
void case_read_message(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, struct text *ret_text);
void case_check_comment(const struct case_reader *reader, const struct field_values *fields);

/* case_answers.c: Answers and UndoAnswers. */
void case_read_answers(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, struct case_answers answers[WORKFLOW_STEPS_MAX]);
/* case_acts.c: Operator. */
void case_read_acts(const struct case_reader *reader, const struct yaml_node *node,
                    struct test_case *ret_case);
/* case_signals.c: Signals. */
void case_read_signals(const struct case_reader *reader, const struct yaml_node *node,
                       struct test_case *ret_case);
/* case_expect.c: Expect. */
void case_read_expected(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_expected *ret_expected);

#endif
