/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of the API share. */
#ifndef SERVICES_CONSOLE_API_API_H
#define SERVICES_CONSOLE_API_API_H

#include "platform/http/pending.h"
#include "services/console/model/alerts.h"
#include "services/console/model/owners.h"
#include "services/console/model/partition.h"

#include <jansson.h>

/* The read model, and what answers made of it need. The console makes and frees it. */
struct api {
    struct cluster *cluster;
    struct console_partition **partitions; /* all of them once the cluster is ready; NULL before */
    int32_t partition_count;               /* 0 before */
    struct alerts *alerts;                 /* NULL before; likewise */
    struct owners *owners;
    const struct agent_table *agents;
    struct http_pendings replays; /* orders that are being folded as they were: order_at.c */
    struct heap_arena scratch;    /* of one answer */
    uint32_t history_max;
};

/* The {id} of the path. Borrowed from the exchange. False: it was answered with 400. */
bool api_read_order_id(struct http_exchange *exchange, struct text *ret_order_id);

/* body.incomplete: the partitions whose orders may be missing; left out if there are none. */
void api_put_incomplete(struct api *api, json_t *body);

struct console_partition *api_partition_of(struct api *api, struct text order_id);
/* 503: the store cannot be read. */
void api_respond_damaged(struct http_exchange *exchange, struct console_partition *partition);
/* 404, if that is certain, or if commands wait that may submit it; else 503. */
void api_respond_missing(struct http_exchange *exchange, struct api *api, struct text order_id);

/* The order, or NULL after the exchange was answered. Borrowed until the next lookup. */
const struct order *api_find_order(struct http_exchange *exchange, struct api *api,
                                   struct text order_id);

/* ---- handlers, which the rows of routes.def call: each answers the exchange, now or later ---- */

/* As it is now: its `wait` is read by live/order_waits.h. */
void serve_order(struct api *api, struct http_exchange *exchange);
void serve_history(struct api *api, struct http_exchange *exchange);
void serve_suborders(struct api *api, struct http_exchange *exchange);
void serve_tree(struct api *api, struct http_exchange *exchange);
void serve_order_at(struct api *api, struct http_exchange *exchange);
void serve_migration_check(struct api *api, struct http_exchange *exchange);
void serve_overview(struct api *api, struct http_exchange *exchange);
void serve_counts(struct api *api, struct http_exchange *exchange);
void serve_alerts(struct api *api, struct http_exchange *exchange);
void serve_health(struct api *api, struct http_exchange *exchange);
void serve_agents(struct api *api, struct http_exchange *exchange);
void serve_workflows(struct api *api, struct http_exchange *exchange);
void serve_workflow(struct api *api, struct http_exchange *exchange);
void serve_workflow_diff(struct api *api, struct http_exchange *exchange);
void serve_workflow_graph(struct api *api, struct http_exchange *exchange);

#endif
