/* SPDX-License-Identifier: Apache-2.0 */
/* See oauth_token.h. */
#include "kafka/oauth_token.h"

#include "base/base64.h"
#include "base/rfc3339.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Year 9999: later times do not fit into what librdkafka computes with. */
static const double expires_s_max = 253402300799.0;

static struct text trim(struct text content)
{
    while (content.size > 0 && strchr(" \t\r\n", content.data[0]) != NULL) {
        content.data++;
        content.size--;
    }
    while (content.size > 0 && strchr(" \t\r\n", content.data[content.size - 1]) != NULL)
        content.size--;
    return content;
}

/* The characters of RFC 6750, section 2.1. */
static bool is_token(struct text text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("-._~+/=", c) == NULL))
            return false;
    }
    return text.size > 0;
}

/* The second of the parts between dots, decoded; NULL: this is not a JSON web token. */
static json_t *read_claims(struct text token)
{
    const char *first = memchr(token.data, '.', token.size);
    if (first == NULL)
        return NULL;
    const char *begin = first + 1;
    size_t left = (size_t)(token.data + token.size - begin);
    const char *end = memchr(begin, '.', left);
    if (end == NULL)
        return NULL;
    char *bytes = malloc(token.size);
    uint32_t size = 0;
    assert(bytes != NULL);
    json_t *claims = NULL;
    if (base64_decode((struct text){begin, (uint32_t)(end - begin)}, bytes, token.size, &size))
        claims = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    explicit_bzero(bytes, token.size);
    free(bytes);
    return claims;
}

static void take_claims(const json_t *claims, struct kafka_token *token)
{
    const json_t *expires = json_object_get(claims, "exp");
    const char *subject = json_string_value(json_object_get(claims, "sub"));
    if (json_is_number(expires)) {
        double seconds = json_number_value(expires);
        token->expires_ms = (int64_t)(fmin(fmax(seconds, 0), expires_s_max) * 1000);
    }
    if (subject != NULL)
        snprintf(token->principal, sizeof(token->principal), "%s", subject);
}

enum error_class kafka_token_parse(struct text content, int64_t now_ms, int64_t lifetime_ms,
                                   struct kafka_token *ret_token, struct error *ret_error)
{
    struct text text = trim(content);
    struct kafka_token token = {.expires_ms = now_ms + lifetime_ms, .principal = "unknown"};
    if (text.size == 0)
        return error_set(ret_error, CODE_TOKEN, "gave no token");
    if (!is_token(text))
        return error_set(ret_error, CODE_TOKEN,
                         "gave more than a token, or something else: expected only letters, digits "
                         "and -._~+/=");
    json_t *claims = read_claims(text);
    take_claims(claims, &token);
    json_decref(claims);
    if (token.expires_ms <= now_ms) {
        char when[RFC3339_TEXT_SIZE];
        rfc3339_format(token.expires_ms, when);
        return error_set(ret_error, CODE_TOKEN, "gave a token that expired at %s", when);
    }
    token.value = strndup(text.data, text.size);
    assert(token.value != NULL);
    *ret_token = token;
    return ERROR_OK;
}

void kafka_token_copy(const struct kafka_token *token, struct kafka_token *ret_token)
{
    *ret_token = *token;
    if (token->value == NULL)
        return;
    ret_token->value = strdup(token->value);
    assert(ret_token->value != NULL);
}

void kafka_token_deinit(struct kafka_token *token)
{
    if (token->value != NULL)
        explicit_bzero(token->value, strlen(token->value));
    free(token->value);
    *token = (struct kafka_token){.value = NULL};
}
