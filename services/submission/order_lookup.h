/* SPDX-License-Identifier: Apache-2.0 */
/* What became of an order, as a console knows it (submission.console.url): for applications that
 * have no Kafka client. */
#ifndef SERVICES_SUBMISSION_ORDER_LOOKUP_H
#define SERVICES_SUBMISSION_ORDER_LOOKUP_H

#include "engine/order.h"
#include "platform/config/config.h"
#include "platform/http/server.h"
#include "platform/loop.h"

#include <jansson.h>

enum {
    ORDER_LOOKUP_MS = 5000,       /* for an answer of the console */
    ORDER_LOOKUP_WAIT_MAX = 60000 /* as the console's ?wait= */
};

struct order_lookup;
struct order_lookup_call;

/* *ret_lookup NULL: submission.console.url is not set. REJECT, code Config. `config` is
 * borrowed. */
enum error_class order_lookup_new(struct loop *loop, const struct config *config,
                                  struct order_lookup **ret_lookup, struct error *ret_error);
struct loop *order_lookup_loop(const struct order_lookup *lookup);
/* Lookups in progress are cancelled. NULL is allowed. */
void order_lookup_free(struct order_lookup *lookup);

/* `status` 0: no answer, for the reason `why`. `body` is borrowed, and NULL without one. */
typedef void (*order_lookup_done)(void *ctx, int status, const json_t *body, const char *why);

/* `wait_ms` > 0: the answer may take that long, until the order has ended. The callback never runs
 * from here; the call is freed before it. */
struct order_lookup_call *order_lookup_get(struct order_lookup *lookup, struct text order_id,
                                           int64_t wait_ms, order_lookup_done done, void *ctx);
/* No callback any more, and the console learns that nothing waits for its answer. Frees the call.
 * NULL is allowed. Not from the callback of a call. */
void order_lookup_cancel(struct order_lookup_call *call);

/* Whether the order was submitted with the token of the request; true without authentication. To
 * other submitters, an order does not exist. */
bool order_lookup_is_of(const json_t *order, const struct http_exchange *exchange);

enum { ORDER_DIFFERENCE_SIZE = 192 };

/* The field in which the order, as submitted, differs from the one that the console knows, as in
 * "lines[0].quantity"; "" if it is the same order. */
void order_difference(const struct order_details *details, const json_t *known,
                      char ret_field[ORDER_DIFFERENCE_SIZE]);

#endif
