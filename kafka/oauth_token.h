/* SPDX-License-Identifier: Apache-2.0 */
/* One OAUTHBEARER token: what librdkafka needs to know about it. Only oauth.c and tests include
 * this. */
#ifndef KAFKA_OAUTH_TOKEN_H
#define KAFKA_OAUTH_TOKEN_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

enum { KAFKA_TOKEN_BYTES_MAX = 64 * 1024, KAFKA_PRINCIPAL_SIZE = 256 };

struct kafka_token {
    char *value; /* new; secret. NULL: none */
    int64_t expires_ms;
    char principal[KAFKA_PRINCIPAL_SIZE];
};

/* Reads `content`, a token and perhaps blanks around it. Lifetime and principal are the claims
 * `exp` and `sub` of a JSON web token; without `exp`, the token lives `lifetime_ms` from now. The
 * broker checks the signature. REJECT "Token", without showing any of it, if it is empty, has
 * characters that no token has, or is expired; the message continues a sentence about its source.
 */
enum error_class kafka_token_parse(struct text content, int64_t now_ms, int64_t lifetime_ms,
                                   struct kafka_token *ret_token, struct error *ret_error);
/* *ret_token is new. */
void kafka_token_copy(const struct kafka_token *token, struct kafka_token *ret_token);
void kafka_token_deinit(struct kafka_token *token);

#endif
