/* SPDX-License-Identifier: Apache-2.0 */
/* GET /orders/{id}?wait=30s: an application follows its orders by HTTP. A token of the role
 * submitter sees the orders that were submitted with it; to others they do not exist. */
#ifndef SERVICES_SUBMISSION_ORDER_API_H
#define SERVICES_SUBMISSION_ORDER_API_H

#include "platform/http/server.h"
#include "services/submission/order_lookup.h"

struct order_api;

extern const struct http_routes order_api_routes;

/* Adds the route. `lookup` NULL: it answers 503. Both are borrowed. */
struct order_api *order_api_new(struct http_server *http, struct order_lookup *lookup);
/* Answers what waits with 503, and so whatever comes later. NULL is allowed. */
void order_api_drain(struct order_api *api);
/* After order_api_drain(), and before the lookup is freed. NULL is allowed. */
void order_api_free(struct order_api *api);

#endif
