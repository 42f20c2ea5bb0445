/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP agent's two translations: a request into an HTTP request, an answer into an outcome.
 * Pure. */
#ifndef SERVICES_AGENT_KINDS_HTTP_MESSAGE_H
#define SERVICES_AGENT_KINDS_HTTP_MESSAGE_H

#include "platform/http/client.h"
#include "services/agent/core/agent_ops.h"

enum { HTTP_MESSAGE_URL_SIZE = 2048 + NAME_BYTES_MAX + 2 };
/* `base`, without a slash at its end, and the action. REJECT: it would lead out of the base URL, as
 * an action of a workflow may that was deployed before such names were refused. */
enum error_class http_message_url(const char *base, struct text action,
                                  char ret_url[HTTP_MESSAGE_URL_SIZE], struct error *ret_error);

/* The JSON body. New in the arena. */
struct text http_message_body(const struct step_request *request, struct arena *arena);

enum { HTTP_MESSAGE_HEADERS = 7 };
/* "Name: value" lines, NULL-terminated. New in the arena. `begins_trace`: an order without a
 * traceparent begins a trace (order_traces.h). `callback`: where the service may report later;
 * empty = nowhere. */
void http_message_headers(const struct step_request *request, uint32_t try_number,
                          bool begins_trace, struct text callback, struct arena *arena,
                          const char *ret_headers[HTTP_MESSAGE_HEADERS + 1]);

struct http_message_outcome {
    bool succeeded;
    bool accepted;                /* a success with 202 */
    struct text output;           /* of a success; unchanged */
    struct agent_failure failure; /* otherwise */
};

/* The outcome of an answer, or of none:
 *     2xx                              done; the output is the body
 *     202, where a callback was        accepted: the outcome comes by the callback
 *     offered
 *     408 409 425 429 5xx              retried, after Retry-After; effect unknown
 *     other 4xx                        definite, effect none; {"error": CODE, "message": TEXT} or
 *                                      "Http.404"
 *     3xx                              not retried: redirects are not followed; effect unknown
 *     not connected                    retried; effect none
 *     timed out, reset, broken off     retried; effect unknown
 * Texts are borrowed from the result or new in the arena. */
void http_message_outcome(const struct http_result *result, struct arena *arena,
                          struct http_message_outcome *ret_outcome);

/* Takes {"error": CODE, "message": TEXT} from the body; what is missing there stays as it is. New
 * in the arena. */
void http_message_error(struct text body, struct arena *arena, struct agent_failure *failure);

#endif
