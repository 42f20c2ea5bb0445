/* SPDX-License-Identifier: Apache-2.0 */
/* The headers that agent.http.headers adds to each call: usually credentials, so nothing of their
 * values appears in an error. */
#ifndef SERVICES_AGENT_KINDS_HTTP_HEADERS_H
#define SERVICES_AGENT_KINDS_HTTP_HEADERS_H

#include "base/error.h"

#include <stdint.h>

enum { HTTP_HEADERS_MAX = 16 };

struct http_headers {
    char *text; /* the lines point into it */
    const char *lines[HTTP_HEADERS_MAX];
    uint32_t count;
};

/* One "Name: value" per line; empty lines are skipped. REJECT Config for other lines, for too many,
 * and for headers that the agent or the protocol sets. To be freed with http_headers_deinit. */
enum error_class http_headers_parse(const char *text, struct http_headers *ret_headers,
                                    struct error *ret_error);
void http_headers_deinit(struct http_headers *headers);

#endif
