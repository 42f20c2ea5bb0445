/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of orders, as OpenTelemetry has them: an order has one, each of its steps one for each
 * direction below it, each attempt one below that, and each call of a service one below its
 * attempt.
 *
 * Their ids follow from what they are about, so that the processes that make them need not talk: a
 * supervisor makes those of orders, steps and attempts, an agent those of its calls. What is made
 * again after a crash has the same id. An order with a traceparent is part of that trace, and makes
 * spans if that is sampled; another one begins a trace of its own. */
#ifndef REPLICA_SERVICE_ORDER_TRACES_H
#define REPLICA_SERVICE_ORDER_TRACES_H

#include "engine/order.h"
#include "platform/trace_export.h"
#include "replica/service/service.h"

struct order_trace {
    char id[TRACE_ID_TEXT + 1];
    uint64_t parent; /* of the order's span; 0: none */
    bool sampled;
};

/* *ret_export NULL: traces.url is empty. REJECT "Config". */
enum error_class order_traces_open(const struct service_context *service,
                                   struct trace_export **ret_export, struct error *ret_error);

/* False: it is not a traceparent of W3C's Trace Context, version 00. */
bool traceparent_parse(struct text traceparent, struct order_trace *ret_trace);
struct order_trace order_trace_of(struct text order_id, struct text traceparent);
uint64_t order_span_id(struct text order_id);
uint64_t step_span_id(struct text order_id, struct text step, enum direction direction);
uint64_t attempt_span_id(struct text order_id, struct text step, enum direction direction,
                         uint32_t attempt);

#endif
