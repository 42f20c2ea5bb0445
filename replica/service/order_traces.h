/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of orders, as OpenTelemetry has them: an order has one; below it, each of its steps has
 * one for each direction; below that, each attempt; below that, each call of a service. The order
 * of a step that starts sub-orders has its own below the step's.
 *
 * Their ids follow from what they are about, so that the processes that make them need not talk: a
 * supervisor makes those of orders, steps and attempts, an agent those of its calls. What is made
 * again after a crash has the same id. An order with a traceparent is part of that trace, and makes
 * spans if that is sampled; another one begins a trace of its own, as does the root of sub-orders
 * for all of them. Pure, but for order_traces_open(). */
#ifndef REPLICA_SERVICE_ORDER_TRACES_H
#define REPLICA_SERVICE_ORDER_TRACES_H

#include "engine/engine.h"
#include "platform/http/trace_export.h"
#include "replica/service/service.h"

#define TRACEPARENT_HEADER "traceparent"
enum { TRACEPARENT_SIZE = 56 }; /* of its value, with the NUL */

struct order_trace {
    char id[TRACE_ID_SIZE];
    uint64_t parent; /* of the order's span; 0: none */
    uint8_t flags;
};

static inline bool order_trace_sampled(const struct order_trace *trace)
{
    return (trace->flags & 1) != 0;
}

/* By traces.url and the settings next to it. *ret_export NULL: traces.url is empty. REJECT
 * "Config". */
enum error_class order_traces_open(const struct service_context *service,
                                   struct trace_export **ret_export, struct error *ret_error);

/* For tests. False: it is not a traceparent of W3C's Trace Context, version 00. */
bool traceparent_parse(struct text traceparent, struct order_trace *ret_trace);
/* Of an order that is submitted with `own`, by a request or a record with a header `traceparent`:
 * borrowed. A header that is not valid does not count, as the standard has it. */
struct text traceparent_or(struct text own, struct text header);
struct order_trace order_trace_of(const struct order_details *details);

uint64_t order_span_id(struct text order_id);
uint64_t step_span_id(struct text order_id, struct text step, enum direction direction);
uint64_t attempt_span_id(struct text order_id, const struct attempt_ref *ref);
/* Of a try of the attempt that is requested. */
uint64_t call_span_id(const struct step_request *request, uint32_t try_number);
/* What the call passes on. False: the order has no traceparent, and `begins` is false: it does not
 * begin a trace either. */
bool call_traceparent(const struct step_request *request, uint32_t try_number, bool begins,
                      char ret_text[TRACEPARENT_SIZE]);

#endif
