/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request of a command that has nothing else to do but wait for its answer. (Services make
 * theirs inside their loop: platform/http/client.h.) Proxies of the environment are not used, and
 * redirects are not followed, so that a token goes nowhere else. */
#ifndef CLI_HTTP_CALL_H
#define CLI_HTTP_CALL_H

#include "base/error.h"
#include "replica/service/credentials.h"

#include <stddef.h>

enum { HTTP_CALL_ANSWER_MAX = 256 << 20 };

struct http_reply {
    int status;
    char *body; /* terminated; owned by the reply */
    size_t size;
};

/* `json` NULL: GET, else it is POSTed. Any status is an answer. RETRY "NoAnswer": nothing listens,
 * the answer broke off, is larger than HTTP_CALL_ANSWER_MAX or was not complete in time; REJECT
 * "Config": a certificate or a file of `credentials` is not right. The message names the cause. */
enum error_class http_call(const struct service_credentials *credentials, const char *url,
                           const char *json, long seconds, struct http_reply *ret_reply,
                           struct error *ret_error);
void http_reply_deinit(struct http_reply *reply);

#endif
