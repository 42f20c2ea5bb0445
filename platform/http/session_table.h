/* SPDX-License-Identifier: Apache-2.0 */
/* The logins of browsers. A browser holds a random id; the table holds the hash of it and of the
 * token that logged in, which is looked up each time: a login never outlives its token and has the
 * rights that it has now. It ends HTTP_SESSION_SECONDS after it began, or with the process.
 *
 * The table is bounded. When it is full, a new login takes the place of the one that was used
 * longest ago, of the token that has the most: a token cannot push out the logins of one that has
 * fewer. */
#ifndef PLATFORM_HTTP_SESSION_TABLE_H
#define PLATFORM_HTTP_SESSION_TABLE_H

#include "platform/http/tokens.h"

enum {
    HTTP_SESSIONS_MAX = 1024,
    HTTP_SESSION_SECONDS = 12 * 3600,
    HTTP_SESSION_BYTES = 32, /* of an id */
    HTTP_SESSION_ID_SIZE = BASE64_SIZE(HTTP_SESSION_BYTES) + 1
};

struct http_session {
    uint8_t id[HTTP_TOKEN_HASH_SIZE];    /* its hash */
    uint8_t token[HTTP_TOKEN_HASH_SIZE]; /* its hash */
    int64_t ends_ms;                     /* monotonic */
    uint64_t used;                       /* grows with each use of the table */
};

/* All zero = empty. */
struct http_sessions {
    struct http_session of[HTTP_SESSIONS_MAX];
    size_t count;
    uint64_t uses;
};

/* *ret_id, with its NUL, is stored nowhere. `now_ms` is monotonic, here and below. */
void http_sessions_begin(struct http_sessions *sessions, const uint8_t token[HTTP_TOKEN_HASH_SIZE],
                         int64_t now_ms, char ret_id[HTTP_SESSION_ID_SIZE]);
/* The login whose id has that hash and which has not ended, or NULL; borrowed until the table
 * changes. Counts as a use. Takes the same time wherever in the table it is, and however much of
 * the hash is right. */
const struct http_session *http_sessions_find(struct http_sessions *sessions,
                                              const uint8_t id[HTTP_TOKEN_HASH_SIZE],
                                              int64_t now_ms);
/* Without such a login, nothing happens. */
void http_sessions_end(struct http_sessions *sessions, const uint8_t id[HTTP_TOKEN_HASH_SIZE]);
/* Ends the logins of tokens that are gone, or have another name. One that comes back later brings
 * none back. */
void http_sessions_follow(struct http_sessions *sessions, const struct http_tokens *before,
                          const struct http_tokens *after);

#endif
