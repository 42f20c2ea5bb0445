/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP calls from inside the loop (libcurl multi): thousands in flight, connections kept and
 * reused.
 *
 * The outcome tells whether the server may have seen the request. NOT_SENT is certain: no byte of
 * the request left on any connection. Every doubtful case is MAYBE_SENT. The client does not follow
 * redirects and ignores the proxies of the environment. */
#ifndef PLATFORM_HTTP_CLIENT_H
#define PLATFORM_HTTP_CLIENT_H

#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;

enum http_outcome {
    HTTP_ANSWERED,   /* a whole answer with a status (the body may have been cut, see body_cut) */
    HTTP_NOT_SENT,   /* refused, no such host, TLS failed, connect timed out: nothing was sent */
    HTTP_MAYBE_SENT, /* timed out, reset, or the answer broke off: uncertain */
    HTTP_OUTCOME_COUNT
};

struct http_result {
    enum http_outcome outcome;
    bool timed_out;
    bool body_cut; /* the answer's body was longer than response_max */
    int status;    /* of the answer, also of a broken off one; 0 = none came */
    struct text body;
    const char *content_type; /* "" = none */
    int64_t retry_after_ms;   /* of a Retry-After header in seconds; -1 = none */
    int64_t elapsed_us;
    const char *message; /* what went wrong, for operators; "" = nothing */
};

/* The result and all it points to are borrowed for the time of the call. */
typedef void (*http_client_callback)(const struct http_result *result, void *userdata);

struct http_client_options {
    size_t connections_max;     /* kept for reuse; 0 = 1000. Calls are not bounded here */
    int64_t connect_timeout_ms; /* 0 = 3000 */
    size_t response_max;        /* bytes of body kept; 0 = 256 KiB */
    const char *ca_file;        /* PEM; NULL = the system's */
    const char *cert_file;      /* PEM; NULL = no client certificate */
    const char *key_file;       /* PEM, of that certificate */
    const char *user;           /* of basic authentication; NULL = none */
    const char *password;       /* of that user; NULL = empty */
    bool close_idle;            /* never reuse a connection */
};

struct http_request {
    const char *method; /* NULL = POST */
    const char *url;    /* http or https */
    /* An IP address to connect to instead of those that the URL's host has; NULL = none. The Host
     * header and the certificate are those of the URL. */
    const char *address;
    /* "Name: value" lines, NULL-terminated; may be NULL. A body without Content-Type is JSON. */
    const char *const *headers;
    struct text body;
    int64_t timeout_ms; /* of the whole call, connecting included; > 0 */
    /* After this time the request is not sent any more; an answer to one that was sent earlier may
     * still come. 0 = no limit. */
    int64_t send_within_ms;
};

enum error_class http_client_new(struct loop *loop, const struct http_client_options *options,
                                 struct http_client **ret_client, struct error *ret_error);
/* Calls in flight are cancelled, without callbacks. Not from a callback. */
void http_client_free(struct http_client *client);
size_t http_client_in_flight(const struct http_client *client); /* for tests */

/* Ends the calls with this userdata, without callbacks, and the connections that they are on. Not
 * from a callback. */
void http_client_cancel(struct http_client *client, const void *userdata);

/* Copies all of `request`. The callback runs exactly once, from the loop, never from here; the
 * call is freed before it. Fails only for a malformed URL (REJECT), without a callback. */
enum error_class http_client_send(struct http_client *client, const struct http_request *request,
                                  http_client_callback callback, void *userdata,
                                  struct error *ret_error);

#endif
