/* SPDX-License-Identifier: Apache-2.0 */
/* See order_traces.h. */
#include "replica/service/order_traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

enum { HEADERS_MAX = 20, VERSION_AT = 0, TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53 };

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
    bool valid = traceparent.size == TRACEPARENT_BYTES_MAX &&
                 memcmp(traceparent.data + VERSION_AT, "00-", 3) == 0 &&
                 is_hex(traceparent, TRACE_AT, TRACE_ID_TEXT) &&
                 traceparent.data[PARENT_AT - 1] == '-' && is_hex(traceparent, PARENT_AT, 16) &&
                 traceparent.data[FLAGS_AT - 1] == '-' && is_hex(traceparent, FLAGS_AT, 2);
    if (!valid)
        return false;
    memcpy(ret_trace->id, traceparent.data + TRACE_AT, TRACE_ID_TEXT);
    ret_trace->id[TRACE_ID_TEXT] = '\0';
    ret_trace->parent = hex_value(traceparent, PARENT_AT, 16);
    ret_trace->sampled = (hex_value(traceparent, FLAGS_AT, 2) & 1) != 0;
    return true;
}

struct order_trace order_trace_of(struct text order_id, struct text traceparent)
{
    struct order_trace trace = {.sampled = true};
    if (traceparent_parse(traceparent, &trace))
        return trace;
    XXH128_hash_t hash = XXH3_128bits(order_id.data, order_id.size);
    snprintf(trace.id, sizeof(trace.id), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64 | 1);
    return trace;
}

/* Never 0. */
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

uint64_t attempt_span_id(struct text order_id, struct text step, enum direction direction,
                         uint32_t attempt)
{
    return chain(step_span_id(order_id, step, direction), &attempt, sizeof(attempt));
}

enum error_class order_traces_open(const struct service_context *service,
                                   struct trace_export **ret_export, struct error *ret_error)
{
    const char *url = config_string(service->config, "traces.url");
    const char *ca = config_string(service->config, "traces.tls.ca");
    const struct trace_export_options options = {.url = url,
                                                 .ca_file = ca[0] != '\0' ? ca : NULL,
                                                 .service = service->name,
                                                 .instance = service->instance_id,
                                                 .version = service_version(),
                                                 .metrics = service->metrics};
    *ret_export = NULL;
    return url[0] == '\0' ? ERROR_OK
                          : trace_export_new(service->loop, &options, ret_export, ret_error);
}
