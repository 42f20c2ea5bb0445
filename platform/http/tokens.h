/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens that a server accepts: a text file with one line for each, which holds a hash of the
 * token and not the token.
 *
 *     NAME ROLE sha256:HEX CREATED [EXPIRES] [KEY=VALUE ...]   (bindings.h)
 *
 * Empty lines and lines that begin with # are skipped. Times are those of RFC 3339. A token is 32
 * random bytes, so that a hash without a salt does not help to guess it. */
#ifndef PLATFORM_HTTP_TOKENS_H
#define PLATFORM_HTTP_TOKENS_H

#include "base/base64.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/http/bindings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_TOKEN_PREFIX "reeve_"

enum {
    HTTP_TOKENS_MAX = 1000,
    HTTP_TOKEN_FILE_MAX = 512 * 1024,
    HTTP_TOKEN_NAME_MAX = 64, /* bytes */
    HTTP_TOKEN_BYTES = 32,
    HTTP_TOKEN_SIZE = (int)(sizeof(HTTP_TOKEN_PREFIX) + BASE64_SIZE(HTTP_TOKEN_BYTES)),
    HTTP_TOKEN_HASH_SIZE = 32
};

enum http_role {
    HTTP_ROLE_VIEWER,
    HTTP_ROLE_OPERATOR,
    HTTP_ROLE_SUBMITTER,
    HTTP_ROLE_AGENT,
    HTTP_ROLE_COUNT
};

const char *http_role_name(enum http_role role);
bool http_role_parse(struct text text, enum http_role *ret_role);

/* For messages: "the name must be " HTTP_TOKEN_NAME_EXPECTED. */
#define HTTP_TOKEN_NAME_EXPECTED "1 to 64 letters, digits, '.', '_', '-', '@' or '+'"

struct http_token {
    char name[HTTP_TOKEN_NAME_MAX + 1];
    enum http_role role;
    uint8_t hash[HTTP_TOKEN_HASH_SIZE];
    int64_t created_ms; /* wall clock */
    int64_t expires_ms; /* 0 = never */
    struct http_bindings bindings;
};

struct http_tokens {
    struct http_token *of;
    size_t count;
};

/* Errors are of class REJECT, code Config, and name the file and the line. A file that others than
 * its owner may write is refused. Freed by
 * http_tokens_deinit(). */
enum error_class http_tokens_read(const char *path, struct http_tokens *ret_tokens,
                                  struct error *ret_error);
void http_tokens_deinit(struct http_tokens *tokens);

/* Whether clients can send it as RFC 6750 says: nothing in it ends the header, and it has at most
 * HTTP_BEARER_MAX bytes. A proxy may ask for longer tokens than our servers do. */
enum { HTTP_BEARER_MAX = 4096 };
bool http_token_can_be_sent(const char *token);

void http_token_hash(struct text token, uint8_t ret_hash[HTTP_TOKEN_HASH_SIZE]);
/* The token with that hash that has not expired at `now_ms`, or NULL; borrowed. Takes the same time
 * wherever in the file it is, and however much of the hash is right. */
const struct http_token *http_tokens_find(const struct http_tokens *tokens,
                                          const uint8_t hash[HTTP_TOKEN_HASH_SIZE], int64_t now_ms);

/* Whether both have the token with that hash, under the same name. */
bool http_tokens_agree(const struct http_tokens *one, const struct http_tokens *other,
                       const uint8_t hash[HTTP_TOKEN_HASH_SIZE]);

/* Adds a line to the file, which is made (mode 0640) if it does not exist; its owner and mode stay.
 * It must not be a link. `expires_ms`: 0 = never.
 * *ret_token, with its NUL, is shown nowhere else. REJECT: the name is malformed or taken; code
 * BadBinding: the bindings do not fit the role. */
enum error_class http_tokens_add_bound(const char *path, struct text name, enum http_role role,
                                       const struct http_bindings *bindings, int64_t now_ms,
                                       int64_t expires_ms, char ret_token[HTTP_TOKEN_SIZE],
                                       struct error *ret_error);
/* For tests: without bindings. */
enum error_class http_tokens_add(const char *path, struct text name, enum http_role role,
                                 int64_t now_ms, int64_t expires_ms,
                                 char ret_token[HTTP_TOKEN_SIZE], struct error *ret_error);
/* REJECT: there is no token of that name. */
enum error_class http_tokens_revoke(const char *path, struct text name, struct error *ret_error);

#endif
