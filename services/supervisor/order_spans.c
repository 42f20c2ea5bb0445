/* SPDX-License-Identifier: Apache-2.0 */
/* See order_spans.h. */
#include "services/supervisor/order_spans.h"

#include "platform/hash_table.h"
#include "replica/service/order_traces.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

/* A step in one direction that has begun. */
struct begun {
    uint64_t span; /* of the step: the key */
    int64_t began_ms;
    int64_t attempt_ms; /* its latest attempt; 0: it has none */
    struct begun *prev; /* the one that began before it */
    struct begun *next;
    UT_hash_handle hh;
};

struct order_spans {
    struct trace_export *trace_export;
    struct begun *table;
    struct begun *oldest;
};

struct order_spans *order_spans_new(struct trace_export *trace_export)
{
    struct order_spans *spans = calloc(1, sizeof(*spans));
    assert(spans != NULL);
    spans->trace_export = trace_export;
    return spans;
}

static void forget(struct order_spans *spans, struct begun *begun)
{
    if (begun == NULL)
        return;
    HASH_DEL(spans->table, begun);
    DL_DELETE(spans->oldest, begun);
    free(begun);
}

void order_spans_free(struct order_spans *spans)
{
    if (spans == NULL)
        return;
    while (spans->oldest != NULL)
        forget(spans, spans->oldest);
    free(spans);
}

static struct begun *find(const struct order_spans *spans, uint64_t span)
{
    struct begun *begun;
    HASH_FIND(hh, spans->table, &span, sizeof(span), begun);
    return begun;
}

static void begin(struct order_spans *spans, uint64_t span, int64_t now_ms, bool is_attempt)
{
    struct begun *begun = find(spans, span);
    if (begun == NULL) {
        if (HASH_COUNT(spans->table) == ORDER_SPANS_STEPS)
            forget(spans, spans->oldest);
        begun = calloc(1, sizeof(*begun));
        assert(begun != NULL);
        begun->span = span;
        begun->began_ms = now_ms;
        HASH_ADD(hh, spans->table, span, sizeof(begun->span), begun);
        DL_APPEND(spans->oldest, begun);
    }
    if (is_attempt)
        begun->attempt_ms = now_ms;
}

/* ---- what ends ---- */

struct ending {
    const struct order *order;
    const struct order_trace *trace;
    int64_t at_ms;
};

static void add_attempt(struct order_spans *spans, const struct ending *ending,
                        const struct attempt_ref *ref, struct text error)
{
    struct text order_id = ending->order->details.order_id;
    uint64_t step = step_span_id(order_id, ref->step, ref->direction);
    const struct begun *begun = find(spans, step);
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = order_id},
        {.name = "reeve.step", .value = ref->step},
        {.name = "reeve.direction", .value = text_of(direction_name(ref->direction))},
        {.name = "reeve.attempt", .number = ref->attempt},
    };
    int64_t start_ms = begun != NULL && begun->attempt_ms > 0 ? begun->attempt_ms : ending->at_ms;
    trace_export_add(
        spans->trace_export,
        &(struct trace_span){
            .trace = ending->trace->id,
            .id = attempt_span_id(order_id, ref->step, ref->direction, ref->attempt),
            .parent = step,
            .name = ref->step,
            .start_us = start_ms * 1000,
            .end_us = ending->at_ms * 1000,
            .failed = !text_empty(error),
            .message = error,
            .attributes = attributes,
            .attribute_count = sizeof(attributes) / sizeof(attributes[0])});
}

static void add_step(struct order_spans *spans, const struct ending *ending, struct text step,
                     enum direction direction, bool failed)
{
    struct text order_id = ending->order->details.order_id;
    uint64_t span = step_span_id(order_id, step, direction);
    struct begun *begun = find(spans, span);
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = order_id},
        {.name = "reeve.step", .value = step},
        {.name = "reeve.direction", .value = text_of(direction_name(direction))},
    };
    if (begun == NULL)
        return; /* it never ran, or its beginning is not known */
    trace_export_add(spans->trace_export,
                     &(struct trace_span){.trace = ending->trace->id,
                                          .id = span,
                                          .parent = order_span_id(order_id),
                                          .name = step,
                                          .start_us = begun->began_ms * 1000,
                                          .end_us = ending->at_ms * 1000,
                                          .failed = failed,
                                          .attributes = attributes,
                                          .attribute_count =
                                              sizeof(attributes) / sizeof(attributes[0])});
    forget(spans, begun);
}

static void add_order(struct order_spans *spans, const struct ending *ending, bool failed)
{
    const struct order *order = ending->order;
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = order->details.order_id},
        {.name = "reeve.workflow", .value = order->details.workflow},
        {.name = "reeve.workflow_version", .number = order->details.workflow_version},
        {.name = "reeve.state", .value = text_of(order_state_name(order->state))},
    };
    trace_export_add(spans->trace_export,
                     &(struct trace_span){.trace = ending->trace->id,
                                          .id = order_span_id(order->details.order_id),
                                          .parent = ending->trace->parent,
                                          .name = order->details.workflow,
                                          .start_us = order->accepted_at * 1000,
                                          .end_us = ending->at_ms * 1000,
                                          .failed = failed,
                                          .message = order->reason,
                                          .attributes = attributes,
                                          .attribute_count =
                                              sizeof(attributes) / sizeof(attributes[0])});
}

/* ---- Decisions ---- */

static struct text error_of(const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_STEP_FAILED:
        return event->step_failed.error_name;
    case EVENT_STEP_TIMED_OUT:
        return TEXT("States.Timeout");
    default:
        return TEXT("");
    }
}

static void take_attempt(struct order_spans *spans, const struct ending *ending,
                         const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    uint64_t step =
        step_span_id(ending->order->details.order_id, ref->step, ref->direction);
    switch (event_attempt_change(event->kind)) {
    case ATTEMPT_STARTS:
        begin(spans, step, ending->at_ms, true);
        break;
    case ATTEMPT_WAITS:
    case ATTEMPT_SPLITS:
    case ATTEMPT_RECALLS:
        begin(spans, step, ending->at_ms, false);
        break;
    case ATTEMPT_ENDS:
        add_attempt(spans, ending, ref, error_of(event));
        break;
    case ATTEMPT_GOES_ON:
    case ATTEMPT_IDLE:
    case ATTEMPT_BY_HAND:
    case ATTEMPT_UNSTARTED:
    case ATTEMPT_RUNS:
    case ATTEMPT_CHANGE_COUNT:
        break;
    }
}

/* Whether the step of the event is over, as the Decision leaves it. */
static void take_step(struct order_spans *spans, const struct ending *ending,
                      const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    const struct order *order = ending->order;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        bool over = step->state != STEP_PENDING && step->state != STEP_PROCESSING &&
                    step->state != STEP_WAITING;
        if (over && text_equal(step->name, ref->step))
            add_step(spans, ending, ref->step, ref->direction, step->state == STEP_ERROR);
    }
}

void order_spans_add(struct order_spans *spans, const struct decision *decision,
                     const struct order *order)
{
    if (spans == NULL || order == NULL)
        return;
    const struct order_trace trace =
        order_trace_of(order->details.order_id, order->details.traceparent);
    const struct ending ending = {.order = order, .trace = &trace, .at_ms = decision->decided_at};
    for (uint32_t i = 0; trace.sampled && i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event_is_of_step(event->kind)) {
            take_attempt(spans, &ending, event);
            take_step(spans, &ending, event);
        } else if (event->kind == EVENT_ORDER_PROCESSED ||
                   event->kind == EVENT_ORDER_COMPENSATED) {
            add_order(spans, &ending, event->kind == EVENT_ORDER_COMPENSATED);
        }
    }
}
