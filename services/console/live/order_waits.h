/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}?wait=30s: requests that wait for the end of an order, which need not have
 * been accepted yet. */
#ifndef SERVICES_CONSOLE_LIVE_ORDER_WAITS_H
#define SERVICES_CONSOLE_LIVE_ORDER_WAITS_H

#include "platform/http/server.h"
#include "services/console/model/partition.h"

struct order_waits;

/* The partitions are borrowed. `answer` answers an exchange, about the order as it is by then. */
struct order_waits *order_waits_new(struct loop *loop, struct console_partition *const partitions[],
                                    int32_t count,
                                    void (*answer)(void *ctx, struct http_exchange *exchange),
                                    void *ctx);
/* Answers all of them; accepts no more: later ones are answered at once. NULL is allowed. Before
 * the partitions are freed. */
void order_waits_drain(struct order_waits *waits);
void order_waits_free(struct order_waits *waits);

/* Answers the exchange once the order of the path's {id} has ended, after its `wait`, or once its
 * client has gone (503 at once if no share is left for it, see http_pending_wait()). Without a
 * `wait`, at once. */
void order_waits_serve(struct order_waits *waits, struct http_exchange *exchange);
/* The order has ended: its requests are answered in the loop's next turn. */
void order_waits_ended(struct order_waits *waits, struct text order_id);

#endif
