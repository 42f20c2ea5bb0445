/* SPDX-License-Identifier: Apache-2.0 */
/* The query's parameters by their type. Each function answers 400 and returns false if the value is
 * wrong; whether the route has the parameter was checked before (routes.h). */
#ifndef PLATFORM_HTTP_QUERY_H
#define PLATFORM_HTTP_QUERY_H

#include "base/enum_names.h"

#include <stdbool.h>

struct http_exchange;

/* An integer; `fallback` if it is not given. */
bool http_query_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                    int64_t max, int64_t *ret_value);
/* A time of RFC 3339, in milliseconds since the epoch; 0 if it is not given, or empty. */
bool http_query_time(struct http_exchange *exchange, const char *name, bool *ret_given,
                     int64_t *ret_time);
/* A text; empty if it is not given. Borrowed from the exchange. */
bool http_query_text(struct http_exchange *exchange, const char *name, uint32_t max,
                     struct text *ret_text);
/* One of the names, in any case; *ret_given: it is there and not empty. */
bool http_query_enum(struct http_exchange *exchange, const char *name,
                     const struct enum_names *names, bool *ret_given, uint32_t *ret_value);
/* `wait`: for how long the answer may wait, up to whole seconds; 0 if it is not given. */
bool http_query_wait(struct http_exchange *exchange, int64_t max_ms, int64_t *ret_wait_ms);

#endif
