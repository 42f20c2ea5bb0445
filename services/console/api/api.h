/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of the API share. Each function that reads a parameter answers 400 and returns
 * false if its value is wrong. */
#ifndef SERVICES_CONSOLE_API_H
#define SERVICES_CONSOLE_API_H

#include "services/console/console.h"

#include <jansson.h>

/* The query's `state`, in any case; *ret_given: it is there and not empty. */
bool api_read_state(struct http_exchange *exchange, bool *ret_given, enum order_state *ret_state);
/* The query's `name`, an integer; `fallback` if it is not given. */
bool api_read_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                  int64_t max, int64_t *ret_value);
/* The query's `name`, a time of RFC 3339, in milliseconds since the epoch; 0 if it is not given, or
 * empty. */
bool api_read_time(struct http_exchange *exchange, const char *name, bool *ret_given,
                   int64_t *ret_time);
/* The query's `name`; empty if it is not given. Borrowed from the exchange. */
bool api_read_text(struct http_exchange *exchange, const char *name, uint32_t max,
                   struct text *ret_text);

/* The {id} of the path. Borrowed from the exchange. */
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
void serve_watch(struct console *console, struct http_exchange *exchange);
void serve_events(struct console *console, struct http_exchange *exchange);

#endif
