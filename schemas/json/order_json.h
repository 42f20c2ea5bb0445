/* SPDX-License-Identifier: Apache-2.0 */
/* An order as JSON, as the console's API and `reeve export orders` show it: the fields of
 * OrderRow.avsc under the same names, in one object with its partition.
 *
 * Texts from outside are hostile: invalid UTF-8 is replaced, outputs of steps stay texts. Empty
 * texts are null, as are times that are 0. All results are new. */
#ifndef SCHEMAS_JSON_ORDER_JSON_H
#define SCHEMAS_JSON_ORDER_JSON_H

#include "engine/order.h"

#include <jansson.h>

/* All fields. */
json_t *order_json(const struct order *order, int32_t partition);
/* What a list shows of an order. */
json_t *order_json_summary(const struct order *order, int32_t partition);
/* How far the sub-orders of its step are, which has some: counts of its items, each of which is in
 * one of them. */
json_t *order_json_suborders(const struct order *order, const struct step *step);

#endif
