/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting what is wrong with a workflow file. */
#ifndef WORKFLOW_PROBLEMS_H
#define WORKFLOW_PROBLEMS_H

#include "workflow/workflow_file.h"

/* Where something stands in the text. */
struct mark {
    uint32_t line; /* from 1; 0 = the whole file */
    uint32_t column;
};

void problems_add_error(struct workflow_problems *problems, struct mark mark, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
void problems_add_warning(struct workflow_problems *problems, struct mark mark, const char *format,
                          ...) __attribute__((format(printf, 3, 4)));
void problems_add_note(struct workflow_problems *problems, struct mark mark, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* By line and column; what stands at the same place stays in the order in which it was found. */
void problems_sort(struct workflow_problems *problems);
/* The first error; NULL: only warnings fitted. */
const struct workflow_problem *problems_first_error(const struct workflow_problems *problems);

/* For printf: "%.*s", QUOTE_ARG(text): at most the length of a name, for texts of any size. */
#define QUOTE_ARG(text)                                                 \
    (int)((text).size < NAME_BYTES_MAX ? (text).size : NAME_BYTES_MAX), \
        ((text).data != NULL ? (text).data : "")

#endif
