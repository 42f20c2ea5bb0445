/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by access.c (tokens and trusted proxies), access_check.c (requests), session.c (logins of
 * browsers) and server.c. */
#ifndef PLATFORM_HTTP_ACCESS_INTERNAL_H
#define PLATFORM_HTTP_ACCESS_INTERNAL_H

#include "platform/files.h"
#include "platform/http/access.h"
#include "platform/http/groups.h"
#include "platform/http/session_table.h"

enum { HTTP_ADDRESS_SIZE = 16, HTTP_FAILURE_SLOTS = 1024, HTTP_KNOWN_MAX = 8 };

#define HTTP_COOKIE_NAME "reeve_session"
#define HTTP_CHALLENGE "Bearer realm=\"reeve\"" /* of WWW-Authenticate */
/* Pages must send it with each request that changes something: other sites' pages cannot. */
#define HTTP_PAGE_HEADER "X-Reeve-Request"

struct http_network {
    uint8_t address[HTTP_ADDRESS_SIZE]; /* IPv4 as the mapped IPv6 address */
    uint32_t bits;
};

/* Of one address, or of some that share a slot. */
struct http_failures {
    int64_t since_ms;
    uint32_t count;
    /* Hashes of tokens that were right there, the latest ones: those that are used go on. */
    uint8_t known[HTTP_KNOWN_MAX][HTTP_TOKEN_HASH_SIZE];
    uint32_t next_known;
};

struct http_access;

/* One of the files that say who may do what. It is followed: what was read before stays if it
 * cannot be read again. */
struct http_access_file {
    const struct http_access_file_kind *kind;
    const char *path;            /* "" = none */
    struct files_version seen;   /* the file that was read */
    bool outdated;               /* it could not be read again */
    struct metrics_gauge *gauge; /* NULL: without metrics, or without a file */
};

enum { HTTP_TOKEN_FILE, HTTP_GROUP_FILE, HTTP_ACCESS_FILE_COUNT };

struct http_access {
    struct loop *loop;
    struct http_access_options options;
    struct http_network networks[HTTP_PROXIES_MAX];
    size_t network_count;
    struct http_tokens tokens;
    struct http_groups groups;
    struct http_sessions sessions;
    struct http_access_file files[HTTP_ACCESS_FILE_COUNT];
    struct loop_timer timer;
    void (*check)(void *ctx); /* the server's; NULL = none */
    void *check_ctx;
    struct http_failures failures[HTTP_FAILURE_SLOTS];
    struct metrics_counter *failures_total; /* NULL: without metrics */
};

/* Who sent a request. */
struct http_identity {
    char user[HTTP_USER_MAX + 1]; /* "" = not known */
    /* Without authentication: neither from this machine nor with a user of a trusted proxy. */
    bool outsider;
    bool has_token;
    bool wrong_token;                   /* there is one, but it is not right */
    bool ended_session;                 /* its cookie is not that of a login, or not any more */
    int64_t wait_s;                     /* there were too many wrong ones: it was not looked at */
    enum http_role role;                /* of that token */
    uint8_t hash[HTTP_TOKEN_HASH_SIZE]; /* of that token */
    struct http_bindings bindings;      /* of that token */
    bool has_session;                   /* the token is that of a login */
    uint8_t session[HTTP_TOKEN_HASH_SIZE]; /* the hash of its id */
};

/* ---- access.c ---- */

bool http_address_parse(const char *text, uint8_t ret_address[HTTP_ADDRESS_SIZE], bool *ret_ipv4);
bool http_address_is_loopback(const uint8_t *address);
bool http_access_trusts(const struct http_access *access, const uint8_t *address);
/* What operators should know of a file (HTTP_TOKEN_FILE, ...), for /readyz; NULL = nothing. */
const char *http_access_degraded(const struct http_access *access, int file);
/* Whether there were too many wrong tokens of the address: the seconds to wait, or 0. A token that
 * was right there before does not have to wait. */
int64_t http_access_wait_s(struct http_access *access, const uint8_t *address,
                           const uint8_t hash[HTTP_TOKEN_HASH_SIZE]);
/* Notes whether a token was right. */
void http_access_note(struct http_access *access, const uint8_t *address,
                      const uint8_t hash[HTTP_TOKEN_HASH_SIZE], bool right);
/* Called every HTTP_ACCESS_CHECK_MS, if tokens are asked for or there are groups. NULL: no more. */
void http_access_on_check(struct http_access *access, void (*check)(void *ctx), void *ctx);

/* ---- access_check.c ---- */

struct http_exchange;

/* Of the client: behind a trusted proxy, what that added to X-Forwarded-For. */
void http_client_address(const struct http_exchange *exchange,
                         uint8_t ret_address[HTTP_ADDRESS_SIZE]);
/* Sets the exchange's identity, and its refusal if it may not use its route. */
void http_access_check(struct http_exchange *exchange);
/* False: the token of the request has been revoked or has expired, or its login has ended. */
bool http_access_still_valid(const struct http_exchange *exchange);
/* Sets the exchange's identity by a token that is tried: a wrong one counts if `counts`, and after
 * too many of the client's none is looked at. False: see its wrong_token and wait_s. */
bool http_access_identify(struct http_exchange *exchange, struct text token, bool counts);
/* The refusal by the identity: no token, a wrong one, or too many. */
void http_access_refuse(struct http_exchange *exchange);

/* ---- session.c ---- */

/* What the request's cookie holds, or "". */
struct text http_session_id(const struct http_exchange *exchange);

#endif
