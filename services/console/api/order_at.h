/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/at/{offset}: see order_at.c. */
#ifndef SERVICES_CONSOLE_API_ORDER_AT_H
#define SERVICES_CONSOLE_API_ORDER_AT_H

enum { ORDER_AT_SLICE = 500 /* Decisions that are folded in one turn of the loop */ };

struct api;

/* Initializes api->replays. */
void order_at_init(struct api *api);

#endif
