/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}?wait=30s: requests that wait for the end of an order, which need not have
 * been accepted yet. */
#ifndef SERVICES_CONSOLE_ORDER_WAITS_H
#define SERVICES_CONSOLE_ORDER_WAITS_H

#include "base/text.h"
#include "platform/http/server.h"
#include "platform/loop.h"

enum { ORDER_WAIT_MS_MAX = 60000 };

struct order_waits;

/* `answer` answers an exchange, about the order as it is by then. */
struct order_waits *order_waits_new(struct loop *loop,
                                    void (*answer)(void *ctx, struct http_exchange *exchange),
                                    void *ctx);
/* Answers all of them; accepts no more: later ones are answered at once. NULL is allowed. */
void order_waits_drain(struct order_waits *waits);
void order_waits_free(struct order_waits *waits);

/* Answers the exchange once the order has ended, after `wait_ms`, or once its client has gone (503
 * at once if no share is left for it, see http_pending_wait()). The id is borrowed from the
 * exchange. */
void order_waits_add(struct order_waits *waits, struct http_exchange *exchange,
                     struct text order_id, int64_t wait_ms);
/* The order has ended: its requests are answered in the loop's next turn. */
void order_waits_ended(struct order_waits *waits, struct text order_id);

#endif
