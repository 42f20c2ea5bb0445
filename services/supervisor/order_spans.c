/* SPDX-License-Identifier: Apache-2.0 */
/* See order_spans.h. */
#include "services/supervisor/order_spans.h"

#include "platform/hash_table.h"
#include "replica/service/order_traces.h"

#include <assert.h>
#include <stdlib.h>

/* A step in one direction. */
struct begun {
    uint64_t span; /* the key */
    int64_t at_ms;
    int64_t attempt_ms; /* its latest attempt; 0: it has had none */
    UT_hash_handle hh;  /* the table keeps the order in which they were added */
};

struct order_spans {
    struct trace_export *trace_export;
    const struct clock *clock;
    struct begun *begun;
};

/* What is made into spans: an event of a Decision. */
struct moment {
    const struct order *order; /* after the Decision */
    const struct order_trace *trace;
    const struct event *event;
    int64_t at_ms;
};

struct order_spans *order_spans_new(struct trace_export *trace_export, const struct clock *clock)
{
    if (trace_export == NULL)
        return NULL;
    struct order_spans *spans = calloc(1, sizeof(*spans));
    assert(spans != NULL);
    spans->trace_export = trace_export;
    spans->clock = clock;
    return spans;
}

static void forget(struct order_spans *spans, struct begun *begun)
{
    HASH_DEL(spans->begun, begun);
    free(begun);
}

void order_spans_free(struct order_spans *spans)
{
    if (spans == NULL)
        return;
    while (spans->begun != NULL)
        forget(spans, spans->begun);
    free(spans);
}

static struct begun *find(const struct order_spans *spans, uint64_t span)
{
    struct begun *begun;
    HASH_FIND(hh, spans->begun, &span, sizeof(span), begun);
    return begun;
}

static struct begun *begin(struct order_spans *spans, uint64_t span, int64_t at_ms)
{
    struct begun *begun = find(spans, span);
    if (begun != NULL)
        return begun;
    if (HASH_COUNT(spans->begun) >= ORDER_SPANS_STEPS)
        forget(spans, spans->begun); /* the oldest */
    begun = calloc(1, sizeof(*begun));
    assert(begun != NULL);
    begun->span = span;
    begun->at_ms = at_ms;
    HASH_ADD(hh, spans->begun, span, sizeof(begun->span), begun);
    return begun;
}

/* ---- spans ---- */

static void add(struct order_spans *spans, const struct moment *moment, struct trace_span *span,
                const struct trace_attribute *attributes, uint32_t count)
{
    span->trace = moment->trace->id;
    span->end_us = moment->at_ms * 1000;
    span->attributes = attributes;
    span->attribute_count = count;
    trace_export_add(spans->trace_export, span);
}

static void add_of_step(struct order_spans *spans, const struct moment *moment,
                        struct trace_span *span, const struct attempt_ref *ref)
{
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = moment->order->details.order_id},
        {.name = "reeve.step", .value = ref->step},
        {.name = "reeve.direction", .value = text_of(direction_name(ref->direction))},
        {.name = "reeve.attempt", .number = ref->attempt},
    };
    add(spans, moment, span, attributes, ref->attempt > 0 ? 4 : 3);
}

static void add_order(struct order_spans *spans, const struct moment *moment)
{
    const struct order *order = moment->order;
    const struct trace_attribute attributes[] = {
        {.name = "reeve.order", .value = order->details.order_id},
        {.name = "reeve.workflow", .value = order->details.workflow},
        {.name = "reeve.workflow_version", .number = order->details.workflow_version},
        {.name = "reeve.state", .value = text_of(order_state_name(order->state))},
    };
    struct trace_span span = {.id = order_span_id(order->details.order_id),
                              .parent = moment->trace->parent,
                              .name = order->details.workflow,
                              .start_us = order->accepted_at * 1000,
                              .failed = order->state == ORDER_COMPENSATED,
                              .message = order->reason};
    add(spans, moment, &span, attributes, sizeof(attributes) / sizeof(attributes[0]));
}

/* ---- events ---- */

/* Why the step or its attempt failed; empty: it did not. */
static struct text error_of(const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_STEP_FAILED:
        return event->step_failed.error_name;
    case EVENT_STEP_FAILED_UNSTARTED:
        return event->step_failed_unstarted.error_name;
    case EVENT_STEP_TIMED_OUT:
        return TEXT("States.Timeout");
    default:
        return TEXT("");
    }
}

static bool is_over(enum step_state state)
{
    return state != STEP_PENDING && state != STEP_PROCESSING && state != STEP_WAITING;
}

/* When the latest attempt in that direction began, as far as it is known. */
static int64_t attempt_began(const struct begun *begun, const struct step *step,
                             const struct moment *moment, enum direction direction)
{
    if (begun != NULL && begun->attempt_ms > 0)
        return begun->attempt_ms;
    return step->direction == direction && step->started_at > 0 ? step->started_at : moment->at_ms;
}

static void end_attempt(struct order_spans *spans, const struct moment *moment,
                        const struct step *step)
{
    const struct attempt_ref *ref = event_ref(moment->event);
    struct text order_id = moment->order->details.order_id;
    uint64_t parent = step_span_id(order_id, ref->step, ref->direction);
    struct text error = error_of(moment->event);
    struct trace_span span = {
        .id = attempt_span_id(order_id, ref),
        .parent = parent,
        .name = ref->step,
        .start_us = attempt_began(find(spans, parent), step, moment, ref->direction) * 1000,
        .failed = !text_empty(error),
        .message = error};
    add_of_step(spans, moment, &span, ref);
}

/* Once: by the first event of the Decision that left the step as it is. */
static void end_step(struct order_spans *spans, const struct moment *moment,
                     const struct step *step, enum direction direction, bool ran)
{
    struct text order_id = moment->order->details.order_id;
    struct text error = error_of(moment->event);
    uint64_t id = step_span_id(order_id, step->name, direction);
    struct begun *begun = find(spans, id);
    if (begun == NULL && !ran)
        return;
    int64_t began_ms = begun != NULL ? begun->at_ms : attempt_began(NULL, step, moment, direction);
    struct trace_span span = {.id = id,
                              .parent = order_span_id(order_id),
                              .name = step->name,
                              .start_us = began_ms * 1000,
                              .failed = !text_empty(error),
                              .message = error};
    add_of_step(spans, moment, &span,
                &(struct attempt_ref){.step = step->name, .direction = direction});
    if (begun != NULL)
        forget(spans, begun);
}

static void take_step_event(struct order_spans *spans, const struct moment *moment)
{
    const struct attempt_ref *ref = event_ref(moment->event);
    enum attempt_change change = event_attempt_change(moment->event->kind);
    int index = order_find_step(moment->order, ref->step);
    uint64_t span = step_span_id(moment->order->details.order_id, ref->step, ref->direction);
    if (index < 0)
        return; /* an order that was migrated in the same Decision has no such step any more */
    const struct step *step = &moment->order->steps[index];
    bool undoes = ref->direction == DIRECTION_UNDO;
    if (change == ATTEMPT_STARTS || change == ATTEMPT_WAITS || change == ATTEMPT_SPLITS ||
        (change == ATTEMPT_RECALLS && undoes)) {
        struct begun *begun = begin(spans, span, moment->at_ms);
        if (change != ATTEMPT_WAITS)
            begun->attempt_ms = moment->at_ms;
    }
    bool ended = change == ATTEMPT_ENDS;
    if (ended)
        end_attempt(spans, moment, step);
    if (undoes)
        end_step(spans, moment, step, DIRECTION_DO, false); /* it may have waited for a retry */
    if (step->direction != ref->direction || is_over(step->state))
        end_step(spans, moment, step, ref->direction, ended);
}

void order_spans_add(struct order_spans *spans, const struct decision *decision,
                     const struct order *order)
{
    if (spans == NULL || order == NULL ||
        decision->decided_at < clock_wall_ms(spans->clock) - ORDER_SPANS_AGE_MS)
        return;
    const struct order_trace trace = order_trace_of(&order->details);
    for (uint32_t i = 0; order_trace_sampled(&trace) && i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        const struct moment moment = {
            .order = order, .trace = &trace, .event = event, .at_ms = decision->decided_at};
        if (event_is_of_step(event->kind))
            take_step_event(spans, &moment);
        else if (event->kind == EVENT_ORDER_PROCESSED || event->kind == EVENT_ORDER_COMPENSATED)
            add_order(spans, &moment);
    }
}
