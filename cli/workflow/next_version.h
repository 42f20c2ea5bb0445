/* SPDX-License-Identifier: Apache-2.0 */
/* `--next-version`: a file that changed is deployed under the number after the highest one. */
#ifndef CLI_WORKFLOW_NEXT_VERSION_H
#define CLI_WORKFLOW_NEXT_VERSION_H

#include "cli/workflow/deployment.h"

/* Gives `file`, which is valid, the version under which its text is to be deployed: the highest one
 * of its name that is deployed, if that has the same text but for the number; else the next one, or
 * its own, if that is higher. REJECT "BadWorkflow": its text has no number that can be replaced. */
enum error_class workflow_file_number(const struct workflow_registry *registry,
                                      struct workflow_file *file, struct error *ret_error);

#endif
