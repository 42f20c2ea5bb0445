/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of orders that `reeve submit --wait` follows, as rows. */
#ifndef CLI_SUBMIT_STATUS_ROWS_H
#define CLI_SUBMIT_STATUS_ROWS_H

#include "cli/output.h"
#include "engine/engine.h"

/* New. A table has a row for each step that changed, and below the last one of a processed order a
 * line with its output; JSON has the record, with `output_problem`: why the workflow's Output could
 * not be made, or null. */
struct output *status_rows_new(const struct cli *cli);
/* Prints it at once. */
void status_rows_add(struct output *output, const struct cli *cli,
                     const struct status_update *status);

#endif
