/* SPDX-License-Identifier: Apache-2.0 */
/* The workflows of a file: its own, and the bodies of its steps, which are named NAME/STEP. */
#ifndef WORKFLOW_BODIES_H
#define WORKFLOW_BODIES_H

#include "engine/workflow.h"

/* The workflow of this whole name: `file` itself, or a body in it; NULL: there is none. */
const struct workflow *workflow_find_in_file(const struct workflow *file, struct text name);

/* `file` and its bodies, each before those within it, in the order of the file; returns how many
 * there are. */
uint32_t workflow_list_file(const struct workflow *file,
                            const struct workflow *ret_workflows[WORKFLOW_FILE_STEPS_MAX]);

#endif
