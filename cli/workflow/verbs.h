/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `reeve workflow`, and what they share. */
#ifndef CLI_WORKFLOW_VERBS_H
#define CLI_WORKFLOW_VERBS_H

#include "cli/workflow/deployment.h"

struct output;

/* As rows of `output`, or, if that is NULL, on stderr like the messages of a compiler. */
void workflow_print_problems(struct cli *cli, struct output *output, const char *path,
                             const struct workflow_problems *problems);

int workflow_run_lint(struct cli *cli);
int workflow_run_deploy(struct cli *cli);
int workflow_run_list(struct cli *cli);
int workflow_run_show(struct cli *cli);

#endif
