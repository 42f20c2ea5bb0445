/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what on a server. Every route needs a permission; a request has those of the role of
 * its token, which it sends as `Authorization: Bearer TOKEN`. A browser logs in with it once, and
 * then sends a cookie (session.c). Without authentication a request has all permissions, but it
 * must come from this machine, or through a trusted proxy that says who the user is.
 *
 * | role      | view | operate | submit | call back |
 * | viewer    | yes  |         |        |           |
 * | operator  | yes  | yes     |        |           |
 * | submitter |      |         | yes    |           |
 * | agent     |      |         |        | yes       | */
#ifndef PLATFORM_HTTP_ACCESS_H
#define PLATFORM_HTTP_ACCESS_H

#include "base/error.h"
#include "platform/http/tokens.h"
#include "platform/loop.h"
#include "platform/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_USER_MAX = 64,        /* bytes of a user's name */
    HTTP_PROXIES_MAX = 64,     /* addresses and networks of trusted proxies */
    HTTP_TOKEN_SENT_MAX = 256, /* bytes of a token that a request sends */
    HTTP_FAILURES_MAX = 10,    /* of one address within HTTP_FAILURES_SECONDS; then 429 */
    HTTP_FAILURES_SECONDS = 60,
    HTTP_ACCESS_CHECK_MS = 1000 /* how often the file is looked at */
};

#define HTTP_READ_ONLY_MESSAGE "this server only answers requests that read"

enum http_permission {
    HTTP_OPEN = 1, /* everyone, without a token */
    HTTP_VIEW,
    HTTP_OPERATE,
    HTTP_SUBMIT,
    HTTP_CALL_BACK,
    HTTP_PERMISSION_COUNT
};

bool http_role_permits(enum http_role role, enum http_permission permission);

struct http_access_options {
    bool authenticates;     /* false: no tokens are asked for */
    const char *token_file; /* "" = none: then no token is right */
    const char *group_file; /* "" or NULL = none: then no user is in a group */
    bool read_only;         /* nothing that changes something is permitted */
    /* Addresses or networks, such as 10.1.2.3 or 10.0.0.0/8. */
    const char *const *proxies;
    size_t proxy_count;
    const char *user_header; /* in which a trusted proxy passes on the user's name */
};

struct http_access;

/* Reads the files of tokens and groups, and follows their changes. REJECT, code Config: a file or
 * a network is malformed. `loop`, `metrics` (may be NULL) and the options' strings are borrowed. */
enum error_class http_access_new(struct loop *loop, struct metrics *metrics,
                                 const struct http_access_options *options,
                                 struct http_access **ret_access, struct error *ret_error);
/* After the server that uses it. */
void http_access_free(struct http_access *access);
/* Reads the files now (SIGHUP). If one is malformed or missing, what was read before stays; the
 * log, /readyz and reeve_http_tokens_outdated or reeve_http_groups_outdated report it. */
void http_access_reload(struct http_access *access);

#endif
