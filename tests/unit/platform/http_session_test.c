/* SPDX-License-Identifier: Apache-2.0 */
/* Logins of browsers. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_SIZE = 256, FILE_SIZE = 4096 };

TestSuite(http_session, .init = access_kit_open, .fini = access_kit_close);

/* Of the latest answer, as a header that a page sends back. */
static void keep_cookie(char ret_head[HEAD_SIZE])
{
    static const char set[] = "\r\nSet-Cookie: ";
    const char *cookie = strstr(http_kit_answer, set);
    cr_assert(cookie != NULL, "%s", http_kit_answer);
    cookie += strlen(set);
    snprintf(ret_head, HEAD_SIZE, "X-Reeve-Request: 1\r\nCookie: theme=dark; %.*s\r\n",
             (int)strcspn(cookie, ";"), cookie);
}

static void log_in(enum http_role role, char ret_head[HEAD_SIZE])
{
    access_kit_log_in(access_kit_tokens[role], "Origin: http://localhost\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    keep_cookie(ret_head);
}

Test(http_session, logs_browsers_in_and_out)
{
    char head[HEAD_SIZE];
    char id[HEAD_SIZE];
    char other[2 * HEAD_SIZE];
    log_in(HTTP_ROLE_OPERATOR, head);
    cr_assert(strstr(http_kit_answer, "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict\r\n") !=
                  NULL,
              "%s", http_kit_answer);
    cr_assert_eq(sscanf(strstr(head, "theme"), "theme=dark; %255s", id), 1);
    cr_assert_eq(access_kit_ask("GET", "/view", head), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello operator");
    cr_assert_eq(access_kit_ask("POST", "/operate", head), 200);
    snprintf(other, sizeof(other), "Cookie: %s\r\n", id);
    cr_assert_eq(access_kit_ask("POST", "/operate", other), 403, "a form could send the cookie");
    cr_assert(strstr(http_kit_answer, "HeaderMissing") != NULL, "%s", http_kit_answer);
    snprintf(other, sizeof(other), "Cookie: theme=dark\r\nCookie: %s; a=b\r\n", id);
    cr_assert_eq(access_kit_ask("GET", "/view", other), 200, "as some proxies send cookies");
    snprintf(other, sizeof(other), "Cookie: x%s\r\n", id);
    cr_assert_eq(access_kit_ask("GET", "/view", other), 401, "another cookie");
    cr_assert_eq(access_kit_ask("DELETE", "/api/session", head), 204);
    cr_assert(strstr(http_kit_answer, "=; Path=/; Max-Age=0;") != NULL, "%s", http_kit_answer);
    cr_assert_eq(access_kit_ask("GET", "/view", head), 401, "a copy of the cookie");
    access_kit_log_in("wrong", "");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 401"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "Set-Cookie") == NULL);
}

Test(http_session, keeps_the_token_out_of_the_cookie)
{
    char first[HEAD_SIZE];
    char second[HEAD_SIZE];
    char other[HEAD_SIZE];
    log_in(HTTP_ROLE_VIEWER, first);
    cr_expect(strstr(http_kit_answer, access_kit_tokens[HTTP_ROLE_VIEWER]) == NULL, "%s",
              http_kit_answer);
    log_in(HTTP_ROLE_VIEWER, second);
    cr_expect_str_neq(first, second, "each login has an id of its own");
    static const char *const names[] = {"reeve_token", "reeve_session"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(other, sizeof(other), "Cookie: %s=%s\r\n", names[i],
                 access_kit_tokens[HTTP_ROLE_VIEWER]);
        cr_expect_eq(access_kit_ask("GET", "/view", other), 401, "a token is not an id");
    }
    cr_expect_eq(access_kit_ask("GET", "/view", first), 200);
    cr_expect_eq(access_kit_ask("GET", "/view", second), 200);
}

Test(http_session, ends_a_login_when_the_browser_logs_in_again)
{
    char first[HEAD_SIZE];
    char second[HEAD_SIZE];
    log_in(HTTP_ROLE_VIEWER, first);
    const char *cookie = strstr(first, "Cookie: ");
    access_kit_log_in(access_kit_tokens[HTTP_ROLE_OPERATOR], cookie);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    keep_cookie(second);
    cr_expect_eq(access_kit_ask("GET", "/view", first), 401);
    cr_expect_eq(access_kit_ask("POST", "/operate", second), 200);
}

/* ---- the end of a login ---- */

static bool is_refused(void *ctx)
{
    return access_kit_ask("GET", "/view", ctx) == 401;
}

static bool is_stream_closed(void *ctx)
{
    (void)ctx;
    return access_kit_stream_closed;
}

static bool has_stream(void *ctx)
{
    (void)ctx;
    return access_kit_stream != NULL;
}

static int begin_request(const char *target, const char *head)
{
    char request[ACCESS_KIT_REQUEST_SIZE];
    int fd = http_kit_dial();
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HTTP_KIT_HOST "%s\r\n", target, head);
    http_kit_send_text(fd, request);
    return fd;
}

Test(http_session, ends_what_a_login_follows_when_it_ends)
{
    char head[HEAD_SIZE];
    log_in(HTTP_ROLE_VIEWER, head);
    int following = begin_request("/stream", head);
    cr_assert(loop_run_until(http_kit_loop, has_stream, NULL, HTTP_KIT_WAIT_MS));
    int waiting = begin_request("/hold", head);
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(access_kit_ask("DELETE", "/api/session", head), 204);
    cr_assert(loop_run_until(http_kit_loop, is_stream_closed, NULL, HTTP_KIT_WAIT_MS));
    http_respond(http_kit_held, 200, "text/plain", TEXT("a secret"));
    http_kit_held = NULL;
    http_kit_expect_answer(waiting);
    cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 401"), "%s", http_kit_answer);
    cr_expect(strstr(http_kit_answer, "a secret") == NULL);
    close(following);
    close(waiting);
}

static void read_file(char ret_content[FILE_SIZE])
{
    FILE *file = fopen(access_kit_path, "r");
    size_t size = fread(ret_content, 1, FILE_SIZE - 1, file);
    fclose(file);
    ret_content[size] = '\0';
}

static void write_file(const char *content)
{
    FILE *file = fopen(access_kit_path, "w");
    fputs(content, file);
    fclose(file);
    http_access_reload(access_kit_access);
}

/* Of the token that is back, nothing is known but that it was away. */
Test(http_session, stays_ended_when_its_token_is_back)
{
    char head[HEAD_SIZE];
    char other[HEAD_SIZE];
    char content[FILE_SIZE];
    struct error error = {0};
    log_in(HTTP_ROLE_VIEWER, head);
    log_in(HTTP_ROLE_OPERATOR, other);
    read_file(content);
    cr_assert(http_tokens_revoke(access_kit_path, TEXT("viewer"), &error) == ERROR_OK);
    cr_assert(loop_run_until(http_kit_loop, is_refused, head, HTTP_KIT_WAIT_MS));
    write_file(content);
    cr_expect_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
    cr_expect_eq(access_kit_ask("GET", "/view", head), 401);
    cr_expect_eq(access_kit_ask("GET", "/view", other), 200, "of another token");
}

Test(http_session, follows_the_line_of_its_token)
{
    static const struct {
        const char *from, *to;
        int expected;
    } changes[] = {{"\nsubmitter submitter ", "\nsubmitted submitter ", 401},
                   {"\nsubmitter submitter ", "\nsubmitter operator ", 403},
                   {":00.000Z\nagent ", ":00.000Z 2010-12-02\nagent ", 401},
                   {":00.000Z\nagent ", ":00.000Z 2999-01-01\nagent ", 200},
                   {"\nagent agent ", "\n# a comment\nagent agent ", 200}};
    char content[FILE_SIZE];
    read_file(content);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char head[HEAD_SIZE];
        char changed[FILE_SIZE + HEAD_SIZE];
        write_file(content);
        log_in(HTTP_ROLE_SUBMITTER, head);
        const char *at = strstr(content, changes[i].from);
        cr_assert(at != NULL, "%s in %s", changes[i].from, content);
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - content), content, changes[i].to,
                 at + strlen(changes[i].from));
        write_file(changed);
        cr_expect_eq(access_kit_ask("POST", "/submit", head), changes[i].expected, "%s", changed);
    }
}

Test(http_session, ends_when_its_token_expires)
{
    char head[HEAD_SIZE];
    char token[HTTP_TOKEN_SIZE];
    access_kit_add_token("short", HTTP_ROLE_VIEWER, clock_wall_ms(clock_real()) + 2000, token);
    http_access_reload(access_kit_access);
    access_kit_log_in(token, "");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    keep_cookie(head);
    cr_assert(loop_run_until(http_kit_loop, is_refused, head, HTTP_KIT_WAIT_MS));
}

/* After a restart, the browsers behind one address come with the ids of before. */
Test(http_session, does_not_count_ended_logins_as_wrong_tokens)
{
    for (int i = 0; i <= HTTP_FAILURES_MAX; i++) {
        cr_assert_eq(access_kit_ask("GET", "/view", "Cookie: reeve_session=before\r\n"), 401);
        cr_assert(strstr(http_kit_answer, "invalid_token") != NULL, "%s", http_kit_answer);
        cr_assert_eq(access_kit_ask("GET", "/api/session", "Cookie: reeve_session=before\r\n"),
                     200);
        cr_assert(strstr(http_kit_answer, "\"user\":null") != NULL, "%s", http_kit_answer);
    }
    char head[HEAD_SIZE];
    log_in(HTTP_ROLE_VIEWER, head);
    cr_assert_eq(access_kit_ask("GET", "/view", head), 200);
}

Test(http_session, slows_down_who_asks_the_session_about_tokens)
{
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", access_kit_tokens[HTTP_ROLE_VIEWER]),
                 200);
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(access_kit_ask_as("GET", "/api/session", "wrong"), 200);
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", "wrong"), 429);
    cr_assert(strstr(http_kit_answer, "\r\nRetry-After: ") != NULL, "%s", http_kit_answer);
    cr_assert_eq(access_kit_ask("GET", "/api/session", ""), 200);
    cr_assert_eq(access_kit_ask_as("GET", "/livez", "wrong"), 200);
}

Test(http_session, takes_no_parameters)
{
    char head[HEAD_SIZE];
    log_in(HTTP_ROLE_VIEWER, head);
    cr_assert_eq(access_kit_ask("GET", "/api/session?token=x", head), 400);
    cr_assert_eq(access_kit_ask("POST", "/api/session?token=x", head), 400);
    cr_assert_eq(access_kit_ask("DELETE", "/api/session?id=x", head), 400);
    cr_assert(strstr(http_kit_answer, "unknown parameter id: this path takes no") != NULL, "%s",
              http_kit_answer);
    cr_assert_eq(access_kit_ask("GET", "/view", head), 200, "the session goes on");
}
