/* SPDX-License-Identifier: Apache-2.0 */
/* See order_traces.h. */
#include "replica/service/order_traces.h"

#include "replica/service/about.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

/* "00-TRACE-PARENT-FLAGS" */
enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, TRACE_DIGITS = TRACE_ID_SIZE - 1 };

/* ---- traceparent ---- */

static bool is_hex(struct text text, uint32_t at, uint32_t count)
{
    bool zero = true;
    for (uint32_t i = at; i < at + count; i++) {
        char c = text.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        zero = zero && c == '0';
    }
    return !zero || count == 2; /* all zeros is not a trace or a span, but it is a valid flag */
}

static uint64_t hex_value(struct text text, uint32_t at, uint32_t count)
{
    uint64_t value = 0;
    for (uint32_t i = at; i < at + count; i++) {
        char c = text.data[i];
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

bool traceparent_parse(struct text traceparent, struct order_trace *ret_trace)
{
    bool valid = traceparent.size == TRACEPARENT_SIZE - 1 &&
                 memcmp(traceparent.data, "00-", 3) == 0 &&
                 is_hex(traceparent, TRACE_AT, TRACE_DIGITS) &&
                 traceparent.data[PARENT_AT - 1] == '-' && is_hex(traceparent, PARENT_AT, 16) &&
                 traceparent.data[FLAGS_AT - 1] == '-' && is_hex(traceparent, FLAGS_AT, 2);
    if (!valid)
        return false;
    memcpy(ret_trace->id, traceparent.data + TRACE_AT, TRACE_DIGITS);
    ret_trace->id[TRACE_DIGITS] = '\0';
    ret_trace->parent = hex_value(traceparent, PARENT_AT, 16);
    ret_trace->flags = (uint8_t)hex_value(traceparent, FLAGS_AT, 2);
    return true;
}

struct text traceparent_or(struct text own, struct text header)
{
    struct order_trace trace;
    return text_empty(own) && traceparent_parse(header, &trace) ? header : own;
}

struct order_trace order_trace_of(const struct order_details *details)
{
    const struct order_parent *parent = details->parent;
    struct text root = parent != NULL ? parent->root : details->order_id;
    struct order_trace trace = {.flags = 1};
    if (!traceparent_parse(details->traceparent, &trace)) {
        XXH128_hash_t hash = XXH3_128bits(root.data, root.size);
        snprintf(trace.id, sizeof(trace.id), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
                 (uint64_t)hash.low64 | 1);
    }
    if (parent != NULL)
        trace.parent = step_span_id(parent->order_id, parent->step, DIRECTION_DO);
    return trace;
}

/* ---- ids ---- */

/* Never 0, which means none. */
static uint64_t chain(uint64_t seed, const void *data, size_t size)
{
    return XXH3_64bits_withSeed(data, size, seed) | 1;
}

uint64_t order_span_id(struct text order_id)
{
    return chain(0, order_id.data, order_id.size);
}

uint64_t step_span_id(struct text order_id, struct text step, enum direction direction)
{
    uint64_t seed = order_span_id(order_id) + (uint64_t)direction + 1;
    return chain(seed, step.data, step.size);
}

uint64_t attempt_span_id(struct text order_id, const struct attempt_ref *ref)
{
    uint64_t step = step_span_id(order_id, ref->step, ref->direction);
    return chain(step, &ref->attempt, sizeof(ref->attempt));
}

uint64_t call_span_id(const struct step_request *request, uint32_t try_number)
{
    uint64_t attempt = attempt_span_id(request->order_id, &request->ref);
    return chain(attempt, &try_number, sizeof(try_number));
}

bool call_traceparent(const struct step_request *request, uint32_t try_number, bool begins,
                      char ret_text[TRACEPARENT_SIZE])
{
    struct order_trace own;
    if (!traceparent_parse(request->order->traceparent, &own) && !begins)
        return false;
    struct order_trace trace = order_trace_of(request->order);
    snprintf(ret_text, TRACEPARENT_SIZE, "00-%s-%016" PRIx64 "-%02x", trace.id,
             call_span_id(request, try_number), (unsigned)trace.flags);
    return true;
}

/* ---- opening ---- */

enum error_class order_traces_open(const struct service_context *service,
                                   struct trace_export **ret_export, struct error *ret_error)
{
    const char *url = config_string(service->config, "traces.url");
    const char *ca = config_string(service->config, "traces.tls.ca");
    const struct trace_export_options options = {
        .url = url,
        .headers = config_string(service->config, "traces.headers"),
        .ca_file = ca[0] != '\0' ? ca : NULL,
        .service = service->name,
        .instance = service->instance_id,
        .version = service_version(),
        .metrics = service->metrics};
    *ret_export = NULL;
    return url[0] == '\0' ? ERROR_OK
                          : trace_export_new(service->loop, &options, ret_export, ret_error);
}
