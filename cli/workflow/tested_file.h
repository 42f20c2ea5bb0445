/* SPDX-License-Identifier: Apache-2.0 */
/* A file of tests with the workflow that it tests: `reeve test` and `reeve workflow lint`. */
#ifndef CLI_WORKFLOW_TESTED_FILE_H
#define CLI_WORKFLOW_TESTED_FILE_H

#include "cli/workflow/deployment.h"
#include "rehearsal/case_file.h"

#define TESTED_FILE_SUFFIX ".test.yaml"

struct tested_file {
    const char *path; /* borrowed */
    char *text;
    struct heap_arena heap;
    struct case_file cases;
    struct workflow_problems problems;
    char *workflow_path; /* NULL: the file does not say which it is */
    bool has_workflow;   /* it could be read */
    struct workflow_file workflow;
};

/* Reads and checks both. An error only if the file of tests cannot be read; deinit otherwise. */
enum error_class tested_file_read(const char *path, struct tested_file *ret_file,
                                  struct error *ret_error);
void tested_file_deinit(struct tested_file *file);
/* NULL: the cases can be run. Else what is wrong, and in which of the two files. */
const struct workflow_problems *tested_file_problems(const struct tested_file *file,
                                                     const char **ret_path);

#endif
