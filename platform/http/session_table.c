/* SPDX-License-Identifier: Apache-2.0 */
/* See session_table.h. */
#include "platform/http/session_table.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <string.h>

static struct http_session *find(struct http_sessions *sessions, const uint8_t *id)
{
    struct http_session *found = NULL;
    for (size_t i = 0; i < sessions->count; i++) {
        if (gnutls_memcmp(sessions->of[i].id, id, HTTP_TOKEN_HASH_SIZE) == 0)
            found = &sessions->of[i];
    }
    return found;
}

static void remove_session(struct http_sessions *sessions, struct http_session *session)
{
    assert(sessions->count > 0);
    *session = sessions->of[--sessions->count];
}

static bool is_of(const struct http_session *session, const uint8_t *token)
{
    return memcmp(session->token, token, HTTP_TOKEN_HASH_SIZE) == 0;
}

static size_t count_of(const struct http_sessions *sessions, const uint8_t *token)
{
    size_t count = 0;
    for (size_t i = 0; i < sessions->count; i++)
        count += is_of(&sessions->of[i], token);
    return count;
}

/* Of all tokens the one that has the most logins, `newcomer` with one more and first among equals:
 * borrowed. */
static const uint8_t *largest(const struct http_sessions *sessions, const uint8_t *newcomer)
{
    const uint8_t *token = newcomer;
    size_t most = count_of(sessions, newcomer) + 1;
    for (size_t i = 0; i < sessions->count; i++) {
        size_t count = count_of(sessions, sessions->of[i].token);
        if (count > most) {
            most = count;
            token = sessions->of[i].token;
        }
    }
    return token;
}

static void make_room(struct http_sessions *sessions, const uint8_t *newcomer)
{
    const uint8_t *token = largest(sessions, newcomer);
    struct http_session *oldest = NULL;
    for (size_t i = 0; i < sessions->count; i++) {
        struct http_session *session = &sessions->of[i];
        if (is_of(session, token) && (oldest == NULL || session->used < oldest->used))
            oldest = session;
    }
    assert(oldest != NULL); /* a full table of fewer tokens: one has two logins */
    remove_session(sessions, oldest);
}
_Static_assert((int)HTTP_SESSIONS_MAX > (int)HTTP_TOKENS_MAX, "each token may log in");

static void drop_ended(struct http_sessions *sessions, int64_t now_ms)
{
    for (size_t i = sessions->count; i-- > 0;) {
        if (sessions->of[i].ends_ms <= now_ms)
            remove_session(sessions, &sessions->of[i]);
    }
}

void http_sessions_begin(struct http_sessions *sessions, const uint8_t token[HTTP_TOKEN_HASH_SIZE],
                         int64_t now_ms, char ret_id[HTTP_SESSION_ID_SIZE])
{
    uint8_t bytes[HTTP_SESSION_BYTES];
    int rc = gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof(bytes));
    assert(rc == 0);
    base64_encode((struct text){(const char *)bytes, sizeof(bytes)}, ret_id);
    drop_ended(sessions, now_ms);
    if (sessions->count == HTTP_SESSIONS_MAX)
        make_room(sessions, token);
    struct http_session *session = &sessions->of[sessions->count++];
    http_token_hash(text_of(ret_id), session->id);
    memcpy(session->token, token, HTTP_TOKEN_HASH_SIZE);
    session->ends_ms = now_ms + HTTP_SESSION_SECONDS * INT64_C(1000);
    session->used = ++sessions->uses;
}

const struct http_session *http_sessions_find(struct http_sessions *sessions,
                                              const uint8_t id[HTTP_TOKEN_HASH_SIZE],
                                              int64_t now_ms)
{
    struct http_session *found = find(sessions, id);
    if (found == NULL || found->ends_ms <= now_ms)
        return NULL;
    found->used = ++sessions->uses;
    return found;
}

void http_sessions_end(struct http_sessions *sessions, const uint8_t id[HTTP_TOKEN_HASH_SIZE])
{
    struct http_session *found = find(sessions, id);
    if (found != NULL)
        remove_session(sessions, found);
}

void http_sessions_follow(struct http_sessions *sessions, const struct http_tokens *before,
                          const struct http_tokens *after)
{
    for (size_t i = sessions->count; i-- > 0;) {
        if (!http_tokens_agree(before, after, sessions->of[i].token))
            remove_session(sessions, &sessions->of[i]);
    }
}
