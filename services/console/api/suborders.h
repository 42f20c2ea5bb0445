/* SPDX-License-Identifier: Apache-2.0 */
/* What the answers about sub-orders share: suborders.c (of one step), tree.c (of all levels). */
#ifndef SERVICES_CONSOLE_API_SUBORDERS_H
#define SERVICES_CONSOLE_API_SUBORDERS_H

#include "services/console/api/api.h"

/* The order of an item, as far as this console knows it. */
struct suborder {
    const struct order *order; /* in the arena, or borrowed from a view; NULL: not known here */
    bool expired;              /* it has answered, and is certainly not there any more */
};

/* Reads the orders of one answer. After a store could not be read, nothing is read any more: if it
 * were dropped at once, the parent's order would be gone, which is borrowed from it. */
struct suborder_reader {
    struct api *api;
    struct arena *arena;
    uint32_t read;
    int64_t until_us;
    struct console_partition *damaged; /* NULL: none */
    struct error error;
};

struct suborder_reader suborder_reader_of(struct api *api);
/* Asked after each order: the answer has taken its time, and ends there. */
bool suborder_reader_is_spent(struct suborder_reader *reader);

/* True after the exchange was answered, since a store is damaged, which is dropped then. */
bool suborder_respond_damaged(struct suborder_reader *reader, struct http_exchange *exchange);
/* The id of an item's order, in the arena; empty: it was not submitted. */
struct text suborder_id(const struct order *parent, const struct step *step, uint32_t number,
                        struct arena *arena);
struct suborder suborder_find(struct suborder_reader *reader, const struct suborder_item *item,
                              struct text order_id);

/* {"item" (null without ForEach), "order_id", "generation", "outcome"}. */
void suborder_put_item(json_t *object, const struct step *step, uint32_t number,
                       struct text order_id);
/* What its row says: {"state", "expired" ...}. */
void suborder_put_state(json_t *object, const struct suborder *suborder);

#endif
