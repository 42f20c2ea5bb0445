/* SPDX-License-Identifier: Apache-2.0 */
/* Values of requests, checked. Each returns false after it answered the exchange with 400 and what
 * is wrong. */
#ifndef SERVICES_CONSOLE_PARAMS_H
#define SERVICES_CONSOLE_PARAMS_H

#include "engine/order.h"
#include "platform/http/server.h"

/* "Error", in any case. */
bool params_state(struct http_exchange *exchange, const char *text, enum order_state *ret_state);
/* The query's `name`, a whole number; `fallback` when it is not given. */
bool params_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                int64_t max, int64_t *ret_value);
/* The query's `name`, at most `max` bytes; empty when it is not given. Borrowed from the
 * exchange. */
bool params_text(struct http_exchange *exchange, const char *name, uint32_t max,
                 struct text *ret_text);
/* The {id} of the path: an order id. Borrowed from the exchange. */
bool params_order_id(struct http_exchange *exchange, struct text *ret_order_id);

#endif
