/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of the API share. */
#ifndef SERVICES_CONSOLE_API_H
#define SERVICES_CONSOLE_API_H

#include "services/console/console.h"

#include <jansson.h>

/* The {id} of the path. Borrowed from the exchange. False: it was answered with 400. */
bool api_read_order_id(struct http_exchange *exchange, struct text *ret_order_id);

/* body.incomplete: the partitions whose orders may be missing; left out if there are none. */
void api_put_incomplete(struct console *console, json_t *body);

struct console_partition *api_partition_of(struct console *console, struct text order_id);
/* 503: the store cannot be read. */
void api_respond_damaged(struct http_exchange *exchange, struct console_partition *partition);
/* 404, if that is certain, or if commands wait that may submit it; else 503. */
void api_respond_missing(struct http_exchange *exchange, struct console *console,
                         struct text order_id);

/* The order, or NULL after the exchange was answered. Borrowed until the next lookup. */
const struct order *api_find_order(struct http_exchange *exchange, struct console *console,
                                   struct text order_id);

/* ---- handlers, which the rows of routes.def call: each answers the exchange, now or later ---- */

/* As it is now: its `wait` is read by live/order_waits.h. */
void serve_order(struct console *console, struct http_exchange *exchange);
void serve_history(struct console *console, struct http_exchange *exchange);
void serve_order_at(struct console *console, struct http_exchange *exchange);
/* An operator's command about the order: see operator_commands_serve(). */
void serve_command(struct console *console, enum command_kind kind, const char *const fields[],
                   struct http_exchange *exchange);
void serve_migration_check(struct console *console, struct http_exchange *exchange);
void serve_overview(struct console *console, struct http_exchange *exchange);
void serve_counts(struct console *console, struct http_exchange *exchange);
void serve_alerts(struct console *console, struct http_exchange *exchange);
void serve_health(struct console *console, struct http_exchange *exchange);
void serve_agents(struct console *console, struct http_exchange *exchange);
void serve_workflows(struct console *console, struct http_exchange *exchange);
void serve_workflow(struct console *console, struct http_exchange *exchange);
void serve_workflow_diff(struct console *console, struct http_exchange *exchange);
void serve_workflow_graph(struct console *console, struct http_exchange *exchange);

#endif
