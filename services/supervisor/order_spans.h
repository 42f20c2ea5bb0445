/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the spans of orders, steps and attempts (order_traces.h) of the Decisions that a supervisor
 * folds while it is current, when what they are about ends.
 *
 * Where a step began is remembered for the latest ORDER_SPANS_STEPS steps; of an older one, or one
 * that began before the supervisor had the partition, the span begins with its latest attempt. */
#ifndef SERVICES_SUPERVISOR_ORDER_SPANS_H
#define SERVICES_SUPERVISOR_ORDER_SPANS_H

#include "engine/event.h"
#include "engine/order.h"
#include "platform/trace_export.h"

enum { ORDER_SPANS_STEPS = 50000 };

struct order_spans;

/* New. `trace_export` is borrowed. */
struct order_spans *order_spans_new(struct trace_export *trace_export);
void order_spans_free(struct order_spans *spans);
/* `order` as it is after the Decision. NULL `spans`: does nothing. */
void order_spans_add(struct order_spans *spans, const struct decision *decision,
                     const struct order *order);

#endif
