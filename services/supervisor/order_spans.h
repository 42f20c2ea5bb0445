/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the spans of orders, steps and attempts (order_traces.h) of the Decisions that a supervisor
 * folds, when what they are about ends. Old Decisions, which it folds to rebuild a store, make
 * none.
 *
 * When a step began is remembered for the ORDER_SPANS_STEPS that began last. The span of one that
 * began before, or at another supervisor, begins with its latest attempt. */
#ifndef SERVICES_SUPERVISOR_ORDER_SPANS_H
#define SERVICES_SUPERVISOR_ORDER_SPANS_H

#include "engine/event.h"
#include "engine/order.h"
#include "platform/http/trace_export.h"

enum { ORDER_SPANS_STEPS = 50000, ORDER_SPANS_AGE_MS = 60000 };

struct order_spans;

/* New. Both are borrowed. NULL if `trace_export` is. */
struct order_spans *order_spans_new(struct trace_export *trace_export, const struct clock *clock);
void order_spans_free(struct order_spans *spans);
/* `order` as it is after the Decision; NULL: there is none. NULL `spans` does nothing. */
void order_spans_add(struct order_spans *spans, const struct decision *decision,
                     const struct order *order);

#endif
