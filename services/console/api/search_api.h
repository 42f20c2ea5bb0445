/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of orders as parameters of the API, and the routes that take them. */
#ifndef SERVICES_CONSOLE_API_SEARCH_API_H
#define SERVICES_CONSOLE_API_SEARCH_API_H

#include "services/console/api/api.h"
#include "services/console/model/search.h"

#include <jansson.h>

/* `limit` and `cursor`. False: the exchange was answered with 400. */
bool search_api_read_page(struct http_exchange *exchange, struct search *search);

/* body[name] = a page of orders, body.sorted_by = its order, body.next = the cursor or null. */
void search_api_put_page(struct api *api, const struct search *search, json_t *body,
                         const char *name,
                         json_t *(*render)(const struct order *order, int32_t partition));

/* GET /api/orders and /api/orders/count. */
void search_api_serve_list(struct api *api, struct http_exchange *exchange);
void search_api_serve_count(struct api *api, struct http_exchange *exchange);

#endif
