/* SPDX-License-Identifier: Apache-2.0 */
/* An order as JSON, as POST /orders and `reeve submit` take it: the fields of SubmitOrder.avsc
 * under the same names.
 *
 *     {"order_id": "536365", "customer": "17850", "currency": "GBP", "workflow": "fulfilment",
 *      "lines": [{"sku": "85123A", "description": "T-LIGHT HOLDER", "quantity": 6,
 *                 "unit_price": "2.55"}],
 *      "attributes": {"country": "United Kingdom"}, "priority": "normal",
 *      "reply_to": "orders.replies.web", "workflow_version": 0, "traceparent": ""}
 *
 * Strict: a field that is not known, of another type, or given twice is an error that names it.
 * Only the form is checked here; values and limits are details_validate()'s (schemas/codec.h). */
#ifndef SERVICES_SUBMISSION_ORDER_JSON_H
#define SERVICES_SUBMISSION_ORDER_JSON_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/order.h"

#include <jansson.h>

/* Prices are texts ("2.55") or numbers; a number that a double cannot hold exactly must be a text.
 * Left out fields are empty, priority normal. Texts are copied into `arena`. Errors (class REJECT):
 * BadJson, UnknownField, BadField. */
enum error_class order_json_read(struct text json, struct arena *arena,
                                 struct order_details *ret_details, struct error *ret_error);
/* The same of parsed JSON, which is borrowed. */
enum error_class order_json_read_value(const json_t *value, struct arena *arena,
                                       struct order_details *ret_details, struct error *ret_error);

/* For other small JSON bodies: parses one object; the caller frees it. REJECT BadJson. */
enum error_class order_json_object(struct text json, json_t **ret_object, struct error *ret_error);
/* REJECT UnknownField, naming the nearest one of `known`, unless all keys of `object` are known. */
enum error_class order_json_known(const json_t *object, const char *where,
                                  const char *const known[], size_t known_count,
                                  struct error *ret_error);
/* The text of object[key] into the arena; left out = empty. REJECT BadField when it is no text. */
enum error_class order_json_text(const json_t *object, const char *where, const char *key,
                                 struct arena *arena, struct text *ret_text,
                                 struct error *ret_error);

#endif
