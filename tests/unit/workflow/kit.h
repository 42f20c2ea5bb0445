/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the tests of workflow/. */
#ifndef TESTS_UNIT_WORKFLOW_KIT_H
#define TESTS_UNIT_WORKFLOW_KIT_H

#include "workflow/workflow_file.h"

/* An arena that lives as long as the test's process. */
struct arena *kit_arena(void);

struct parsed {
    struct workflow *workflow; /* NULL if there are errors */
    const char *problems;      /* "3:7: error: what\n" for each */
};
struct parsed kit_parse(struct text source, enum workflow_format format);
struct parsed kit_yaml(const char *source);

/* "3:7: note: what\n" for each note and each problem. */
const char *kit_notes(const char *source);

/* Asserts that the text compiles without problems. */
struct workflow *kit_workflow(const char *source);

struct lint_case {
    const char *source;
    const char *problems; /* all of them, as kit_parse() prints them */
};
/* Asserts each case's problems, and that errors yield no workflow. */
void kit_lint(const struct lint_case *cases, size_t count);

#define LINT(...)                                               \
    do {                                                        \
        static const struct lint_case cases_[] = {__VA_ARGS__}; \
        kit_lint(cases_, sizeof(cases_) / sizeof(cases_[0]));   \
    } while (0)

/* The first three lines of most cases. */
#define HEAD "Name: w\nVersion: 1\nSteps:\n"

#endif
