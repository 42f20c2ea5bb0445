/* SPDX-License-Identifier: Apache-2.0 */
/* An order as JSON, as POST /orders and `reeve submit` take it: the fields of SubmitOrder.avsc
 * under the same names.
 *
 *     {"order_id": "536365", "customer": "17850", "currency": "GBP", "workflow": "fulfilment",
 *      "lines": [{"sku": "85123A", "description": "T-LIGHT HOLDER", "quantity": 6,
 *                 "unit_price": "2.55"}],
 *      "attributes": {"country": "United Kingdom"}, "priority": "normal",
 *      "reply_to": "orders.replies.web", "workflow_version": 0, "traceparent": "",
 *      "input": {"gift": true, "total": 15.3}}
 *
 * `input` is any JSON value, and its numbers stay exact. Strict: a field that is unknown, given
 * twice, or of another type is an error that names it. Only the form is checked here;
 * details_validate() (schemas/details.h) checks values and limits. */
#ifndef SCHEMAS_JSON_SUBMISSION_JSON_H
#define SCHEMAS_JSON_SUBMISSION_JSON_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/order.h"

/* Prices are texts ("2.55") or numbers. Fields that are left out are empty, and the priority is
 * normal. Everything is copied into `arena`, the input as canonical text. REJECT "BadJson",
 * "UnknownField" or "BadField". */
enum error_class submission_json_read(struct text json, struct arena *arena,
                                      struct order_details *ret_details, struct error *ret_error);

#endif
