/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_export.h. */
#include "platform/http/trace_export.h"

#include "base/utf8.h"
#include "platform/http/client.h"
#include "platform/http/header_lines.h"
#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_MS = 1000, TIMEOUT_MS = 10000, RESPONSE_BYTES_MAX = 4096 };
/* Of opentelemetry-proto, trace.proto. */
enum { KIND_INTERNAL = 1, KIND_CLIENT = 3, STATUS_ERROR = 2 };

struct trace_export {
    struct loop *loop;
    struct http_client *client;
    char *url;
    struct header_lines headers;
    json_t *resource;
    json_t *spans; /* a list; the batch that grows */
    bool sending;
    struct loop_timer flush;
    struct metrics_counter *sent;
    struct metrics_counter *lost;
    size_t in_flight; /* spans */
};

/* ---- JSON ---- */

static json_t *text_value(struct text text)
{
    json_t *value = json_stringn(text.data != NULL ? text.data : "", text.size);
    return json_pack("{s:o}", "stringValue", value != NULL ? value : json_string("?"));
}

static json_t *attribute(const char *name, json_t *value)
{
    return json_pack("{s:s, s:o}", "key", name, "value", value);
}

/* Of a 64-bit number, as OTLP has them in JSON. */
static json_t *number_text(int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    return json_string(text);
}

static json_t *span_id(uint64_t id)
{
    char text[17];
    snprintf(text, sizeof(text), "%016" PRIx64, id);
    return json_string(text);
}

static json_t *span_json(const struct trace_span *span)
{
    json_t *attributes = json_array();
    for (uint32_t i = 0; i < span->attribute_count; i++) {
        const struct trace_attribute *at = &span->attributes[i];
        json_t *value = at->value.data != NULL
                            ? text_value(at->value)
                            : json_pack("{s:o}", "intValue", number_text(at->number));
        json_array_append_new(attributes, attribute(at->name, value));
    }
    json_t *json =
        json_pack("{s:s, s:o, s:s%, s:i, s:o, s:o, s:o}", "traceId", span->trace, "spanId",
                  span_id(span->id), "name", span->name.data, (size_t)span->name.size, "kind",
                  span->is_client ? KIND_CLIENT : KIND_INTERNAL, "startTimeUnixNano",
                  number_text(span->start_us * 1000), "endTimeUnixNano",
                  number_text(span->end_us * 1000), "attributes", attributes);
    assert(json != NULL);
    if (span->parent != 0)
        json_object_set_new(json, "parentSpanId", span_id(span->parent));
    if (span->failed) {
        json_t *message =
            json_stringn(span->message.data != NULL ? span->message.data : "", span->message.size);
        json_object_set_new(json, "status",
                            json_pack("{s:i, s:o}", "code", STATUS_ERROR, "message",
                                      message != NULL ? message : json_string("")));
    }
    return json;
}

/* ---- sending ---- */

static void send_batch(struct trace_export *trace_export);

static void on_answer(const struct http_result *result, void *userdata)
{
    struct trace_export *trace_export = userdata;
    bool taken = result->outcome == HTTP_ANSWERED && result->status / 100 == 2;
    trace_export->sending = false;
    metrics_add(taken ? trace_export->sent : trace_export->lost, trace_export->in_flight);
    if (!taken)
        log_warning_limited("the collector did not take traces", LOG_STR("url", trace_export->url),
                            LOG_I64("status", result->status), LOG_STR("message", result->message));
    trace_export->in_flight = 0;
    if (json_array_size(trace_export->spans) >= TRACE_BATCH_SPANS)
        send_batch(trace_export);
}

static void send_batch(struct trace_export *trace_export)
{
    struct error error;
    size_t count = json_array_size(trace_export->spans);
    if (count == 0 || trace_export->sending)
        return;
    json_t *body = json_pack("{s:[{s:O, s:[{s:{s:s}, s:o}]}]}", "resourceSpans", "resource",
                             trace_export->resource, "scopeSpans", "scope", "name", "reeve",
                             "spans", trace_export->spans);
    char *text = json_dumps(body, JSON_COMPACT);
    assert(text != NULL);
    json_decref(body);
    trace_export->spans = json_array();
    struct http_request request = {.url = trace_export->url,
                                   .headers = trace_export->headers.lines,
                                   .body = text_of(text),
                                   .timeout_ms = TIMEOUT_MS};
    if (http_client_send(trace_export->client, &request, on_answer, trace_export, &error) ==
        ERROR_OK) {
        trace_export->sending = true;
        trace_export->in_flight = count;
    } else { /* the URL was tried at the start */
        metrics_add(trace_export->lost, count);
    }
    free(text);
}

static void on_flush(void *ctx)
{
    struct trace_export *trace_export = ctx;
    send_batch(trace_export);
}

void trace_export_add(struct trace_export *trace_export, const struct trace_span *span)
{
    if (trace_export == NULL)
        return;
    assert(strlen(span->trace) == TRACE_ID_SIZE - 1);
    if (json_array_size(trace_export->spans) >= TRACE_WAITING_SPANS || !utf8_valid(span->name)) {
        metrics_add(trace_export->lost, 1);
        return;
    }
    json_array_append_new(trace_export->spans, span_json(span));
    if (json_array_size(trace_export->spans) >= TRACE_BATCH_SPANS)
        send_batch(trace_export);
    else if (!loop_timer_armed(&trace_export->flush))
        loop_timer_after(trace_export->loop, &trace_export->flush, FLUSH_MS);
}

/* ---- opening ---- */

static void add_resource(json_t *attributes, const char *name, const char *value)
{
    json_array_append_new(attributes, attribute(name, text_value(text_of(value))));
}

static json_t *resource_of(const struct trace_export_options *options)
{
    char service[64];
    json_t *attributes = json_array();
    snprintf(service, sizeof(service), "reeve-%s", options->service);
    add_resource(attributes, "service.name", service);
    add_resource(attributes, "service.instance.id", options->instance);
    add_resource(attributes, "service.version", options->version);
    return json_pack("{s:o}", "attributes", attributes);
}

static void register_metrics(struct trace_export *trace_export, struct metrics *metrics)
{
    trace_export->sent = metrics_counter(metrics, "reeve_trace_spans_sent_total",
                                         "Spans that the collector took.", METRICS_NO_LABELS);
    trace_export->lost = metrics_counter(
        metrics, "reeve_trace_spans_lost_total",
        "Spans that the collector did not take, or that came faster than it takes them.",
        METRICS_NO_LABELS);
}

static enum error_class open_client(struct trace_export *trace_export,
                                    const struct trace_export_options *options,
                                    struct error *ret_error)
{
    struct http_client_options client = {
        .connections_max = 1, .response_max = RESPONSE_BYTES_MAX, .ca_file = options->ca_file};
    if (!string_starts_with(options->url, "http://") &&
        !string_starts_with(options->url, "https://"))
        return error_set(ret_error, CODE_CONFIG,
                         "traces.url is \"%.200s\"; expected a URL such as "
                         "http://127.0.0.1:4318/v1/traces",
                         options->url);
    if (header_lines_parse("traces.headers", options->headers, &trace_export->headers, ret_error) !=
        ERROR_OK)
        return ret_error->class;
    return http_client_new(trace_export->loop, &client, &trace_export->client, ret_error);
}

enum error_class trace_export_new(struct loop *loop, const struct trace_export_options *options,
                                  struct trace_export **ret_export, struct error *ret_error)
{
    struct trace_export *trace_export = calloc(1, sizeof(*trace_export));
    assert(trace_export != NULL);
    trace_export->loop = loop;
    trace_export->url = strdup(options->url);
    trace_export->spans = json_array();
    trace_export->resource = resource_of(options);
    register_metrics(trace_export, options->metrics);
    loop_timer_init(&trace_export->flush, on_flush, trace_export);
    enum error_class class = open_client(trace_export, options, ret_error);
    if (class == ERROR_OK)
        *ret_export = trace_export;
    else
        trace_export_free(trace_export);
    return class;
}

void trace_export_free(struct trace_export *trace_export)
{
    if (trace_export == NULL)
        return;
    loop_timer_cancel(trace_export->loop, &trace_export->flush);
    if (trace_export->client != NULL)
        http_client_free(trace_export->client);
    json_decref(trace_export->spans);
    json_decref(trace_export->resource);
    header_lines_deinit(&trace_export->headers);
    free(trace_export->url);
    free(trace_export);
}
