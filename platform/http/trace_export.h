/* SPDX-License-Identifier: Apache-2.0 */
/* Spans for a collector, by batches: OTLP over HTTP with JSON (opentelemetry-proto 1.x).
 *
 * What is not taken is lost, and counted: traces help to look into a system, and never hold it up.
 * Loop thread only. */
#ifndef PLATFORM_HTTP_TRACE_EXPORT_H
#define PLATFORM_HTTP_TRACE_EXPORT_H

#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"
#include "platform/metrics.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TRACE_ID_SIZE = 33, /* 32 hexadecimal digits, with the NUL */
    TRACE_BATCH_SPANS = 256,
    TRACE_WAITING_SPANS = 4096 /* while a batch is on its way; the rest is lost */
};

struct trace_attribute {
    const char *name;
    struct text value; /* no data: `number` counts */
    int64_t number;
};

struct trace_span {
    const char *trace; /* its id */
    uint64_t id;
    uint64_t parent; /* 0: none */
    struct text name;
    bool is_client;   /* it is a call of another service */
    int64_t start_us; /* wall clock */
    int64_t end_us;
    bool failed;
    struct text message; /* why */
    const struct trace_attribute *attributes;
    uint32_t attribute_count;
};

struct trace_export;

struct trace_export_options {
    const char *url;     /* traces.url: of the collector, with /v1/traces */
    const char *headers; /* traces.headers: as in header_lines.h */
    const char *ca_file; /* NULL: the system's */
    const char *service; /* service.name is reeve-SERVICE */
    const char *instance;
    const char *version;
    struct metrics *metrics;
};

/* New. Copies. REJECT "Config": the URL, a header or the file is not usable. */
enum error_class trace_export_new(struct loop *loop, const struct trace_export_options *options,
                                  struct trace_export **ret_export, struct error *ret_error);
/* What has not been sent is lost. NULL does nothing. */
void trace_export_free(struct trace_export *trace_export);
/* Copies. NULL does nothing. */
void trace_export_add(struct trace_export *trace_export, const struct trace_span *span);

#endif
