/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of spans, and traceparents. */
#include "replica/service/order_traces.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00-" TRACE "-00f067aa0ba902b7-01"

static const struct order_details own = {.order_id = TEXT_CONST("A")};
static const struct order_details joined = {.order_id = TEXT_CONST("A"),
                                            .traceparent = TEXT_CONST(PARENT)};

static struct step_request request_of(const struct order_details *order, uint32_t attempt)
{
    return (struct step_request){
        .order_id = order->order_id, .ref = {TEXT("Pay"), DIRECTION_DO, attempt}, .order = order};
}

Test(order_traces, reads_a_traceparent)
{
    struct order_trace trace;
    cr_assert(traceparent_parse(TEXT(PARENT), &trace));
    cr_assert_str_eq(trace.id, TRACE);
    cr_assert_eq(trace.parent, UINT64_C(0x00f067aa0ba902b7));
    cr_assert(order_trace_sampled(&trace));
    cr_assert(traceparent_parse(TEXT("00-" TRACE "-00f067aa0ba902b7-00"), &trace));
    cr_assert_not(order_trace_sampled(&trace));
}

static const char *const bad[] = {
    "",
    "00-" TRACE "-00f067aa0ba902b7-0",
    "00-" TRACE "-00f067aa0ba902b7-011",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-" TRACE "-0000000000000000-01",
    "01-" TRACE "-00f067aa0ba902b7-01",
    "00-" TRACE "_00f067aa0ba902b7-01",
};

/* Then the order begins a trace of its own, where there are traces. */
Test(order_traces, does_not_join_an_invalid_trace)
{
    struct order_trace trace;
    char text[TRACEPARENT_SIZE];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct order_details order = own;
        order.traceparent = text_of(bad[i]);
        struct step_request request = request_of(&order, 1);
        cr_assert_not(traceparent_parse(text_of(bad[i]), &trace), "%s", bad[i]);
        cr_assert_not(call_traceparent(&request, 1, false, text), "%s", bad[i]);
        trace = order_trace_of(&order);
        cr_assert_str_eq(trace.id, order_trace_of(&own).id);
        cr_assert_eq(trace.parent, 0);
        cr_assert(order_trace_sampled(&trace));
        cr_assert(text_empty(traceparent_or(TEXT(""), text_of(bad[i]))));
    }
}

Test(order_traces, prefers_the_field_to_the_header)
{
    cr_assert(text_equal(traceparent_or(TEXT("x"), TEXT(PARENT)), TEXT("x")));
    cr_assert(text_equal(traceparent_or(TEXT(""), TEXT(PARENT)), TEXT(PARENT)));
    cr_assert(text_empty(traceparent_or(TEXT(""), (struct text){0})));
}

Test(order_traces, derives_a_span_for_each_try)
{
    struct step_request request = request_of(&joined, 1), next = request_of(&joined, 2);
    char first[TRACEPARENT_SIZE], second[TRACEPARENT_SIZE], third[TRACEPARENT_SIZE], span[17];
    cr_assert(call_traceparent(&request, 1, false, first));
    cr_assert(call_traceparent(&request, 2, false, second));
    cr_assert(call_traceparent(&next, 1, true, third));
    cr_assert_str_neq(first, second);
    cr_assert_str_neq(first, third);
    snprintf(span, sizeof(span), "%016llx", (unsigned long long)call_span_id(&request, 1));
    cr_assert_eq(strlen(first), TRACEPARENT_SIZE - 1);
    cr_assert_eq(strncmp(first, "00-" TRACE "-", 36), 0, "%s", first);
    cr_assert_eq(strncmp(first + 36, span, 16), 0, "%s", first);
    cr_assert_str_eq(first + 52, "-01");
}

Test(order_traces, begins_a_trace_where_there_are_traces)
{
    struct step_request request = request_of(&own, 1);
    char text[TRACEPARENT_SIZE];
    cr_assert_not(call_traceparent(&request, 1, false, text));
    cr_assert(call_traceparent(&request, 1, true, text));
    cr_assert_eq(strncmp(text + 3, order_trace_of(&own).id, 32), 0);
}

Test(order_traces, has_a_span_for_each_subject)
{
    struct text order = TEXT("A"), step = TEXT("Pay");
    struct attempt_ref first = {step, DIRECTION_DO, 1}, second = {step, DIRECTION_DO, 2};
    uint64_t ids[] = {order_span_id(order),
                      order_span_id(TEXT("B")),
                      step_span_id(order, step, DIRECTION_DO),
                      step_span_id(order, step, DIRECTION_UNDO),
                      step_span_id(TEXT("B"), step, DIRECTION_DO),
                      attempt_span_id(order, &first),
                      attempt_span_id(order, &second)};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        cr_assert_neq(ids[i], 0);
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(ids[i], ids[j]);
    }
}

/* Also a sub-order of a sub-order. */
Test(order_traces, puts_suborders_below_their_step)
{
    struct order_parent parent = {.order_id = TEXT("A~B"), .step = TEXT("C"), .root = TEXT("A")};
    struct order_details part = {.order_id = TEXT("A~B~C"), .parent = &parent};
    struct order_trace trace = order_trace_of(&part);
    cr_assert_str_eq(trace.id, order_trace_of(&own).id);
    cr_assert_eq(trace.parent, step_span_id(TEXT("A~B"), TEXT("C"), DIRECTION_DO));
    part.traceparent = TEXT(PARENT);
    trace = order_trace_of(&part);
    cr_assert_str_eq(trace.id, TRACE);
    cr_assert_eq(trace.parent, step_span_id(TEXT("A~B"), TEXT("C"), DIRECTION_DO));
}
