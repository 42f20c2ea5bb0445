/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "kafka/oauth_token.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { NOW_MS = 1000000, LIFETIME_MS = 300000, SIZE = 512 };

/* A JSON web token with these claims. */
static const char *token_of(const char *claims)
{
    static char token[SIZE + 32];
    char body[SIZE];
    base64_encode(text_of(claims), body);
    snprintf(token, sizeof(token), "eyJhbGciOiJub25lIn0.%s.", body);
    return token;
}

static struct kafka_token parse(const char *content)
{
    struct kafka_token token;
    struct error error = {.message = ""};
    cr_assert_eq(kafka_token_parse(text_of(content), NOW_MS, LIFETIME_MS, &token, &error), ERROR_OK,
                 "%s", error.message);
    return token;
}

static void assert_rejects(const char *content, const char *message)
{
    struct kafka_token token;
    struct error error = {.message = ""};
    cr_assert_eq(kafka_token_parse(text_of(content), NOW_MS, LIFETIME_MS, &token, &error),
                 ERROR_REJECT);
    cr_assert_neq(strstr(error.message, message), NULL, "%s", error.message);
}

Test(oauth_token, takes_lifetime_and_principal_from_the_claims)
{
    char padded[SIZE + 64];
    snprintf(padded, sizeof(padded), " %s\r\n", token_of("{\"sub\": \"reeve\", \"exp\": 1234.5}"));
    struct kafka_token token = parse(padded);
    cr_assert_str_eq(token.value, token_of("{\"sub\": \"reeve\", \"exp\": 1234.5}"));
    cr_assert_eq(token.expires_ms, 1234500);
    cr_assert_str_eq(token.principal, "reeve");
    struct kafka_token copied;
    kafka_token_copy(&token, &copied);
    kafka_token_deinit(&token);
    cr_assert_eq(token.value, NULL);
    cr_assert_eq(copied.expires_ms, 1234500);
    kafka_token_deinit(&copied);
}

Test(oauth_token, gives_a_lifetime_to_tokens_that_name_none)
{
    static const char *const contents[] = {"opaque", "a.b", "a.b.c", "a.~.c", "a.e30.c"};
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        struct kafka_token token = parse(contents[i]);
        cr_assert_eq(token.expires_ms, NOW_MS + LIFETIME_MS, "%s", contents[i]);
        cr_assert_str_eq(token.principal, "unknown");
        kafka_token_deinit(&token);
    }
}

Test(oauth_token, bounds_claims_that_make_no_sense)
{
    struct kafka_token token = parse(token_of("{\"exp\": 1e300, \"sub\": 7}"));
    cr_assert_eq(token.expires_ms, INT64_C(253402300799000));
    cr_assert_str_eq(token.principal, "unknown");
    kafka_token_deinit(&token);
    assert_rejects(token_of("{\"exp\": -1e300}"), "expired at 1970-01-01T00:00:00.000Z");
}

Test(oauth_token, rejects_what_no_broker_would_accept_and_shows_none_of_it)
{
    assert_rejects("", "gave no token");
    assert_rejects(" \n", "gave no token");
    assert_rejects("{\"access_token\": \"canary\"}", "gave more than a token");
    assert_rejects("canary canary", "gave more than a token");
    assert_rejects(token_of("{\"exp\": 1000}"), "expired at 1970-01-01T00:16:40.000Z");
    struct kafka_token token;
    struct error error;
    kafka_token_parse(text_of("canary canary"), NOW_MS, LIFETIME_MS, &token, &error);
    cr_assert_eq(strstr(error.message, "canary"), NULL);
}
