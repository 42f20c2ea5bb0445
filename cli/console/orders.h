/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `reeve orders` share, each with a file of its own. */
#ifndef CLI_CONSOLE_ORDERS_H
#define CLI_CONSOLE_ORDERS_H

#include "cli/console/console_client.h"

/* /api/orders/{id} and what follows. */
void orders_path(struct console_path *path, const char *order_id, const char *after);

/* Whether it is the name of a step. A path, in which the tests of workflows name a step of a
 * sub-order, is not: then what to write instead was reported, and *ret_code is the exit code.
 * `order_id`: NULL where there is not one. */
bool orders_check_step(struct cli *cli, const char *order_id, const char *step, int *ret_code);

/* The title of the lines that orders_print_events() prints. */
void orders_print_events_title(struct cli *cli, bool with_order);
/* One line for each event of a Decision. */
void orders_print_events(struct cli *cli, const json_t *decision, bool with_order);

int orders_run_list(struct cli *cli);
int orders_run_get(struct cli *cli);
int orders_run_history(struct cli *cli);
int orders_run_watch(struct cli *cli);
int orders_run_tree(struct cli *cli);
int orders_run_count(struct cli *cli);
extern const struct operator_verb orders_amend;

#endif
