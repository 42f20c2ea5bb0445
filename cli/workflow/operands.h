/* SPDX-License-Identifier: Apache-2.0 */
/* Workflows that a command line names: deployed ones as NAME or NAME:VERSION, and files. */
#ifndef CLI_WORKFLOW_OPERANDS_H
#define CLI_WORKFLOW_OPERANDS_H

#include "cli/workflow/deployment.h"

enum { WORKFLOW_OPERANDS_MAX = 2 };

struct workflow_operands {
    struct workflow_operand {
        const char *argument;
        const struct workflow *workflow;
        bool is_file;
        struct workflow_file file;
    } of[WORKFLOW_OPERANDS_MAX];
    int count;
    bool compares;
    bool connected;
    struct cli_session session;
};

/* Finds the workflows of all arguments; files need no broker. A single file is followed by the
 * version that is active of the workflow that it names, if `compares`. False: *ret_code is the exit
 * code, and the error was reported. Deinit either way. */
bool workflow_operands_init(struct cli *cli, bool compares, struct workflow_operands *ret_operands,
                            int *ret_code);
void workflow_operands_deinit(struct workflow_operands *operands);

#endif
