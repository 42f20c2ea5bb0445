/* SPDX-License-Identifier: Apache-2.0 */
/* How long logins last, and which ones make room. */
#include "platform/http/session_table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { HOURS_12_MS = 12 * 3600 * 1000 };

static struct http_sessions sessions;

static const uint8_t *token(int number)
{
    static uint8_t hash[HTTP_TOKEN_HASH_SIZE];
    memset(hash, 0, sizeof(hash));
    memcpy(hash, &number, sizeof(number));
    return hash;
}

struct id {
    char text[HTTP_SESSION_ID_SIZE];
};

static struct id begin(int number, int64_t now_ms)
{
    struct id id;
    http_sessions_begin(&sessions, token(number), now_ms, id.text);
    cr_assert_eq(strlen(id.text), 43);
    return id;
}

static bool lives(const struct id *id, int64_t now_ms)
{
    uint8_t hash[HTTP_TOKEN_HASH_SIZE];
    http_token_hash(text_of(id->text), hash);
    return http_sessions_find(&sessions, hash, now_ms) != NULL;
}

Test(http_session_table, ends_logins_after_twelve_hours)
{
    struct id id = begin(1, 5);
    cr_expect(lives(&id, HOURS_12_MS + 4));
    cr_expect(!lives(&id, HOURS_12_MS + 5));
    begin(1, HOURS_12_MS + 5);
    cr_expect_eq(sessions.count, 1, "the ended one has made room");
}

Test(http_session_table, keeps_no_id)
{
    struct id id = begin(1, 0);
    cr_expect(memmem(&sessions, sizeof(sessions), id.text, 8) == NULL);
}

Test(http_session_table, replaces_the_login_that_was_used_longest_ago)
{
    struct id first = begin(1, 0);
    struct id second = begin(1, 0);
    while (sessions.count < HTTP_SESSIONS_MAX)
        begin(1, 0);
    cr_assert(lives(&first, 0), "a use");
    begin(1, 0);
    cr_expect_eq(sessions.count, HTTP_SESSIONS_MAX);
    cr_expect(!lives(&second, 0));
    cr_expect(lives(&first, 0));
}

Test(http_session_table, keeps_the_logins_of_other_tokens)
{
    enum { OTHERS = 10 };
    struct id ids[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        ids[i] = begin(100 + i, 0);
    for (int i = 0; i < 2 * HTTP_SESSIONS_MAX; i++)
        begin(1, 0);
    for (int i = 0; i < OTHERS; i++)
        cr_expect(lives(&ids[i], 0), "%d", i);
    struct id late = begin(2, 0);
    for (int i = 0; i < HTTP_SESSIONS_MAX; i++)
        begin(1, 0);
    cr_expect(lives(&late, 0), "there is room for a token that comes late");
}

Test(http_session_table, lets_each_token_log_in)
{
    static struct id ids[HTTP_TOKENS_MAX];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < HTTP_TOKENS_MAX; i++)
            ids[i] = begin(i, 0);
    for (int i = 0; i < HTTP_TOKENS_MAX; i++)
        cr_expect(lives(&ids[i], 0), "%d", i);
}
