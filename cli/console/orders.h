/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `reeve orders` share. */
#ifndef CLI_CONSOLE_ORDERS_H
#define CLI_CONSOLE_ORDERS_H

#include "cli/console/console_client.h"

/* /api/orders/{id} and what follows. */
void orders_path(struct console_path *path, const char *order_id, const char *after);
/* One line of a timeline for each event of a Decision. */
void orders_print_events(struct cli *cli, const json_t *decision, bool with_order);

/* The verbs that have files of their own. */
int orders_run_get(struct cli *cli);
int orders_run_watch(struct cli *cli);

#endif
