/* SPDX-License-Identifier: Apache-2.0 */
/* The run of an import, from either kind of file: checks, rate, limit, sending, progress, rejects,
 * the summary. */
#ifndef CLI_IMPORT_IMPORT_RUN_H
#define CLI_IMPORT_IMPORT_RUN_H

#include "cli/cli.h"
#include "cli/pace.h"
#include "engine/order.h"

struct import_run;

/* New. Connects; takes --rate and --limit. */
enum error_class import_run_new(struct cli *cli, const char *path, struct import_run **ret_run,
                                struct error *ret_error);
/* For the progress: how many orders there are, or, if that is 0, the share of the file that is
 * read. */
void import_run_expect(struct import_run *run, uint64_t orders, double share);
/* Validates and sends an order, or rejects it. Waits for the pace. `line` is where it begins.
 * Errors end the import. */
enum error_class import_run_order(struct import_run *run, struct order_details *details,
                                  int64_t line, struct error *ret_error);
/* One entry for the rejects file. */
enum error_class import_run_reject(struct import_run *run, int64_t line, struct text order_id,
                                   const char *reason, struct error *ret_error);
/* Counts an order whose rows were refused. */
void import_run_count_refused(struct import_run *run);
/* The limit is reached. */
bool import_run_is_over(const struct import_run *run);
/* Waits for what is under way, prints the summary, frees. The exit code. */
int import_run_finish(struct import_run *run, enum error_class class, const struct error *error);

#endif
