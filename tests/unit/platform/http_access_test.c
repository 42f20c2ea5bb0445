/* SPDX-License-Identifier: Apache-2.0 */
/* Roles, tokens that come and go, logins of browsers, proxies. */
#include "tests/unit/platform/http_server_kit.h"

#include "platform/http/access_internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOW = 1291191960, PATH_SIZE = 256, REQUEST_SIZE = 1024 };

static char folder[] = "/tmp/reeve-access-XXXXXX";
static char path[PATH_SIZE];
static char tokens[HTTP_ROLE_COUNT][HTTP_TOKEN_SIZE];
static struct http_access *access_of_server;
static struct http_stream *stream;
static bool stream_closed;

static void answer(struct http_exchange *exchange, void *userdata)
{
    char text[HTTP_USER_MAX + 16];
    (void)userdata;
    snprintf(text, sizeof(text), "hello %s%s", http_user(exchange),
             http_may(exchange, HTTP_CALL_BACK) ? ", call back" : "");
    http_respond(exchange, 200, "text/plain", text_of(text));
}

static void on_closed(void *ctx)
{
    (void)ctx;
    stream_closed = true;
    stream = NULL;
}

static void begin_stream(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    stream = http_respond_stream(exchange, "text/event-stream", on_closed, NULL);
}

/* One path for each permission. */
static void add_routes(void)
{
    static const char *const paths[HTTP_PERMISSION_COUNT] = {"/open", "/view", "/operate",
                                                             "/submit", "/call-back"};
    for (int i = 0; i < HTTP_PERMISSION_COUNT; i++)
        http_server_route(http_kit_server, i > HTTP_VIEW ? "POST" : "GET", paths[i],
                          (enum http_permission)i, 0, answer, NULL);
    http_server_route(http_kit_server, "POST", "/open-post", HTTP_OPEN, 0, answer, NULL);
    http_server_route(http_kit_server, "GET", "/stream", HTTP_VIEW, 0, begin_stream, NULL);
    http_session_add_routes(http_kit_server);
}

static void listen_with(struct http_access_options options)
{
    struct error error = {0};
    struct http_access *before = access_of_server;
    options.token_file = path;
    options.user_header = "X-Forwarded-User";
    struct metrics *metrics = metrics_new();
    cr_assert(http_access_new(http_kit_loop, metrics, &options, &access_of_server, &error) ==
                  ERROR_OK,
              "%s", error.message);
    http_kit_listen((struct http_server_options){.access = access_of_server, .metrics = metrics});
    http_access_free(before);
    add_routes();
}

static void add_token(const char *name, enum http_role role, int64_t expires_ms,
                      char ret_token[HTTP_TOKEN_SIZE])
{
    struct error error = {0};
    cr_assert(http_tokens_add(path, text_of(name), role, NOW * INT64_C(1000), expires_ms, ret_token,
                              &error) == ERROR_OK,
              "%s", error.message);
}

static void open_kit(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/tokens", folder);
    for (int i = 0; i < HTTP_ROLE_COUNT; i++)
        add_token(http_role_name((enum http_role)i), (enum http_role)i, 0, tokens[i]);
    http_kit_open();
    listen_with((struct http_access_options){.authenticates = true});
}

static void close_kit(void)
{
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    http_access_free(access_of_server);
    http_kit_close();
    unlink(path);
    rmdir(folder);
}

TestSuite(http_access, .init = open_kit, .fini = close_kit);

/* `head`: further lines. Returns the status. */
static int ask(const char *method, const char *target, const char *head)
{
    char request[REQUEST_SIZE];
    snprintf(request, sizeof(request),
             "%s %s HTTP/1.1\r\n" HTTP_KIT_HOST "%sConnection: close\r\n%s\r\n", method, target,
             head, strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : "");
    return (int)strtol(http_kit_ask(request) + strlen("HTTP/1.1 "), NULL, 10);
}

static int ask_as(const char *method, const char *target, const char *token)
{
    char head[REQUEST_SIZE / 2];
    snprintf(head, sizeof(head), "Authorization: Bearer %s\r\n", token);
    return ask(method, target, head);
}

static void send_as(int fd, const char *target, const char *token)
{
    char request[REQUEST_SIZE];
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\n" HTTP_KIT_HOST "Authorization: Bearer %s\r\n\r\n", target, token);
    http_kit_send_text(fd, request);
}

/* ---- roles ---- */

Test(http_access, gives_each_role_its_permissions)
{
    static const char *const targets[HTTP_PERMISSION_COUNT] = {"/open", "/view", "/operate",
                                                               "/submit", "/call-back"};
    static const int expected[HTTP_ROLE_COUNT][HTTP_PERMISSION_COUNT] = {
        {200, 200, 403, 403, 403},
        {200, 200, 200, 403, 403},
        {200, 403, 403, 200, 403},
        {200, 403, 403, 403, 200},
    };
    for (int role = 0; role < HTTP_ROLE_COUNT; role++) {
        for (int i = 0; i < HTTP_PERMISSION_COUNT; i++) {
            const char *method = i > HTTP_VIEW ? "POST" : "GET";
            int status = ask_as(method, targets[i], tokens[role]);
            cr_expect_eq(status, expected[role][i], "%s %s: %d",
                         http_role_name((enum http_role)role), targets[i], status);
        }
    }
    cr_assert_eq(ask_as("GET", "/livez", "wrong"), 200);
    cr_assert_eq(ask_as("GET", "/metrics", tokens[HTTP_ROLE_SUBMITTER]), 403);
    cr_assert_eq(ask_as("GET", "/metrics", tokens[HTTP_ROLE_VIEWER]), 200);
}

Test(http_access, knows_who_asks)
{
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_OPERATOR]), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello operator");
    cr_assert_eq(ask_as("GET", "/open", tokens[HTTP_ROLE_AGENT]), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello agent, call back");
    cr_assert_eq(ask("GET", "/open", ""), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello ");
}

Test(http_access, refuses_missing_and_wrong_tokens)
{
    static const char *const wrong[] = {
        "Authorization: Bearer reeve_\r\n", "Authorization: Bearer viewer\r\n",
        "Authorization: Basic dmlld2VyOng=\r\n", "Authorization: \r\n",
        "Cookie: a=b; reeve_token=reeve_x\r\n"};
    cr_assert_eq(ask("GET", "/view", ""), 401);
    cr_assert(strstr(http_kit_answer, "\r\nWWW-Authenticate: Bearer realm=\"reeve\"\r\n") != NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(ask("GET", "/view", wrong[i]), 401, "%s", wrong[i]);
        cr_expect(strstr(http_kit_answer, "invalid_token") != NULL, "%s", http_kit_answer);
    }
    cr_assert_eq(ask("GET", "/nowhere", ""), 404);
}

Test(http_access, slows_down_who_tries_tokens)
{
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 200);
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(ask_as("GET", "/view", "wrong"), 401);
    cr_assert_eq(ask_as("GET", "/view", "wrong"), 429);
    const char *after = strstr(http_kit_answer, "\r\nRetry-After: ");
    cr_assert(after != NULL, "%s", http_kit_answer);
    long seconds = strtol(after + strlen("\r\nRetry-After: "), NULL, 10);
    cr_assert(seconds > 0 && seconds <= HTTP_FAILURES_SECONDS, "%ld", seconds);
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 200, "others share the address");
    cr_assert_eq(ask("GET", "/view", ""), 401, "a token was not tried");
}

static void log_in(const char *token, const char *head);

/* What is tried beyond the limit is answered in the same way whether it is right or not. */
Test(http_access, does_not_tell_a_right_guess_beyond_the_limit)
{
    char cookie[REQUEST_SIZE / 4];
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(ask_as("POST", "/open-post", "wrong"), 200, "counts as well");
    cr_expect_eq(ask_as("GET", "/view", "wrong"), 429);
    cr_expect_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_OPERATOR]), 429);
    cr_expect_eq(ask_as("GET", "/api/session", tokens[HTTP_ROLE_OPERATOR]), 429);
    cr_expect_eq(ask_as("GET", "/open", tokens[HTTP_ROLE_AGENT]), 200);
    cr_expect_str_eq(http_kit_body(http_kit_answer), "hello ", "not known");
    snprintf(cookie, sizeof(cookie), "Cookie: reeve_token=%s\r\n", tokens[HTTP_ROLE_OPERATOR]);
    cr_expect_eq(ask("GET", "/view", cookie), 429);
    log_in(tokens[HTTP_ROLE_OPERATOR], "");
    cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 429"), "%s", http_kit_answer);
    cr_expect(strstr(http_kit_answer, "Set-Cookie") == NULL);
    int fd = http_kit_dial_from(2);
    send_as(fd, "/view", tokens[HTTP_ROLE_OPERATOR]);
    http_kit_expect_answer(fd);
    cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "from another address");
    close(fd);
}

Test(http_access, only_reads_where_that_is_set)
{
    listen_with((struct http_access_options){.authenticates = true, .read_only = true});
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_OPERATOR]), 200);
    cr_assert_eq(ask_as("POST", "/operate", tokens[HTTP_ROLE_OPERATOR]), 403);
    cr_assert(strstr(http_kit_answer, "ReadOnly") != NULL, "%s", http_kit_answer);
    cr_assert_eq(ask_as("GET", "/api/session", tokens[HTTP_ROLE_OPERATOR]), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     "{\"authentication\":true,\"read_only\":true,\"user\":\"operator\","
                     "\"role\":\"operator\",\"permissions\":[\"view\"]}");
}

/* ---- changes of the file ---- */

static bool is_refused(void *ctx)
{
    return ask_as("GET", "/view", ctx) == 401;
}

Test(http_access, follows_the_file_of_tokens)
{
    struct error error = {0};
    char late[HTTP_TOKEN_SIZE];
    add_token("late", HTTP_ROLE_VIEWER, 0, late);
    cr_assert_eq(ask_as("GET", "/view", late), 401, "not read again yet");
    http_access_reload(access_of_server);
    cr_assert_eq(ask_as("GET", "/view", late), 200);
    cr_assert(http_tokens_revoke(path, TEXT("late"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(loop_run_until(http_kit_loop, is_refused, late, HTTP_KIT_WAIT_MS),
              "the file was not looked at");
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 200);
}

static bool shows(void *ctx)
{
    http_kit_ask("GET /readyz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    return strcmp(http_kit_body(http_kit_answer), ctx) == 0;
}

static bool has_gauge(const char *value)
{
    char line[64];
    snprintf(line, sizeof(line), "\nreeve_http_tokens_outdated %s\n", value);
    cr_assert_eq(ask_as("GET", "/metrics", tokens[HTTP_ROLE_VIEWER]), 200);
    return strstr(http_kit_answer, line) != NULL;
}

/* Tokens that were revoked since are still accepted then. */
Test(http_access, says_that_the_file_of_tokens_cannot_be_read)
{
    static char ready[] = "ok\n";
    static char outdated[] = "degraded: http.tokens.file cannot be read again: tokens that were "
                             "revoked since are still accepted; see the log\n";
    char aside[PATH_SIZE + sizeof(".aside")];
    snprintf(aside, sizeof(aside), "%s.aside", path);
    cr_assert(shows(ready) && has_gauge("0"));
    cr_assert(rename(path, aside) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, outdated, HTTP_KIT_WAIT_MS), "%s",
              http_kit_answer);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "it does its work");
    cr_assert(has_gauge("1"));
    cr_assert(rename(aside, path) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, ready, HTTP_KIT_WAIT_MS));
    cr_assert(has_gauge("0"));
    cr_assert(chmod(path, 0666) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, outdated, HTTP_KIT_WAIT_MS));
    FILE *file = fopen(path, "a");
    fputs("broken\n", file);
    fclose(file);
    cr_assert(chmod(path, 0600) == 0);
    http_access_reload(access_of_server);
    cr_assert(shows(outdated) && has_gauge("1"));
}

static bool is_stream_closed(void *ctx)
{
    (void)ctx;
    return stream_closed;
}

static bool has_stream(void *ctx)
{
    (void)ctx;
    return stream != NULL;
}

Test(http_access, ends_what_a_revoked_token_follows)
{
    struct error error = {0};
    int following = http_kit_dial();
    int waiting = http_kit_dial();
    send_as(following, "/stream", tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, has_stream, NULL, HTTP_KIT_WAIT_MS));
    send_as(waiting, "/hold", tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    cr_assert(http_tokens_revoke(path, TEXT("viewer"), &error) == ERROR_OK);
    cr_assert(loop_run_until(http_kit_loop, is_stream_closed, NULL, HTTP_KIT_WAIT_MS));
    http_set_header(http_kit_held, "ETag", "a secret");
    http_respond(http_kit_held, 200, "text/plain", TEXT("a secret"));
    http_kit_held = NULL;
    http_kit_expect_answer(waiting);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 401"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "\r\nWWW-Authenticate: Bearer ") != NULL);
    cr_assert(strstr(http_kit_answer, "a secret") == NULL);
    close(following);
    close(waiting);
}

static void replace_in_file(const char *from, const char *to)
{
    char content[4096] = "";
    FILE *file = fopen(path, "r");
    size_t size = fread(content, 1, sizeof(content) - 1, file);
    fclose(file);
    char *at = strstr(content, from);
    cr_assert(size > 0 && at != NULL && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
    file = fopen(path, "w");
    fputs(content, file);
    fclose(file);
}

Test(http_access, ends_what_a_token_of_another_role_follows)
{
    int following = http_kit_dial();
    replace_in_file("viewer viewer", "watch1 viewer");
    http_access_reload(access_of_server);
    send_as(following, "/stream", tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, has_stream, NULL, HTTP_KIT_WAIT_MS));
    replace_in_file("watch1 viewer", "watch1  agent");
    cr_assert(loop_run_until(http_kit_loop, is_stream_closed, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 403);
    close(following);
}

Test(http_access, refuses_expired_tokens)
{
    char old[HTTP_TOKEN_SIZE];
    char young[HTTP_TOKEN_SIZE];
    int64_t now_ms = clock_wall_ms(clock_real());
    add_token("old", HTTP_ROLE_VIEWER, now_ms - 1, old);
    add_token("young", HTTP_ROLE_VIEWER, now_ms + 3600 * 1000, young);
    http_access_reload(access_of_server);
    cr_assert_eq(ask_as("GET", "/view", old), 401);
    cr_assert_eq(ask_as("GET", "/view", young), 200);
}

Test(http_access, keeps_its_tokens_when_the_file_breaks)
{
    FILE *file = fopen(path, "a");
    fputs("half a line\n", file);
    fclose(file);
    http_access_reload(access_of_server);
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 200);
    unlink(path);
    http_access_reload(access_of_server);
    cr_assert_eq(ask_as("GET", "/view", tokens[HTTP_ROLE_VIEWER]), 200);
}

/* ---- tricks ---- */

Test(http_access, asks_for_a_token_whatever_the_path_looks_like)
{
    static const char *const targets[] = {"//view",
                                          "/view/",
                                          "/./view",
                                          "/x/../view",
                                          "/%76iew",
                                          "/view%2f",
                                          "/view;a",
                                          "/view?",
                                          "/view#",
                                          "/open/../view",
                                          "/open/%2e%2e/view",
                                          "/VIEW",
                                          "/open?/view",
                                          "/open%3f/..",
                                          "/open/..%2fview",
                                          "view",
                                          "*",
                                          "/view?a",
                                          "/\\view",
                                          "/view%20",
                                          "http://localhost/view",
                                          "/open;/view"};
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "get", "TRACE"};
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
        for (size_t m = 0; m < sizeof(methods) / sizeof(methods[0]); m++) {
            int status = ask(methods[m], targets[t],
                             "X-HTTP-Method-Override: GET\r\nX-Original-URL: /view\r\n"
                             "X-Forwarded-User: operator\r\nX-Forwarded-For: 127.0.0.1\r\n");
            bool open = strcmp(targets[t], "/open?/view") == 0 && m < 2;
            cr_expect(open ? status == 200 : status >= 400, "%s %s: %d", methods[m], targets[t],
                      status);
        }
    }
}

/* A connection is not a login: each request is asked again. */
Test(http_access, asks_every_request_of_a_connection)
{
    const char *sent[] = {tokens[HTTP_ROLE_VIEWER], "wrong", tokens[HTTP_ROLE_AGENT],
                          tokens[HTTP_ROLE_OPERATOR]};
    static const char *const expected[] = {"HTTP/1.1 200", "HTTP/1.1 401", "HTTP/1.1 403",
                                           "HTTP/1.1 200"};
    int fd = http_kit_dial();
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        send_as(fd, "/view", sent[i]);
        http_kit_expect_answer(fd);
        cr_expect(http_kit_starts(http_kit_answer, expected[i]), "%zu: %s", i, http_kit_answer);
    }
    close(fd);
}

/* An operator may hash a text of any kind and put it into the file. */
Test(http_access, refuses_tokens_that_no_header_can_hold)
{
    enum { LONG = 700 };
    static char long_token[LONG + 1];
    const char *const bad[] = {long_token, "a;b", "a b", "a,b", "a\\u000d\\u000aX-A: 1", "\\u00e9"};
    memset(long_token, 'a', LONG);
    FILE *file = fopen(path, "a");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t hash[HTTP_TOKEN_HASH_SIZE];
        const char *token = i == 4 ? "a\r\nX-A: 1" : i == 5 ? "\xc3\xa9" : bad[i];
        http_token_hash(text_of(token), hash);
        fprintf(file, "bad%zu viewer sha256:", i);
        for (size_t at = 0; at < sizeof(hash); at++)
            fprintf(file, "%02x", hash[at]);
        fprintf(file, " 2026-01-01\n");
    }
    fclose(file);
    http_access_reload(access_of_server);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char body[REQUEST_SIZE];
        char request[2 * REQUEST_SIZE];
        int size = snprintf(body, sizeof(body), "{\"token\": \"%s\"}", bad[i]);
        snprintf(request, sizeof(request),
                 "POST /api/session HTTP/1.1\r\n" HTTP_KIT_HOST
                 "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                 size, body);
        cr_expect(http_kit_starts(http_kit_ask(request), "HTTP/1.1 401"), "%s: %s", bad[i],
                  http_kit_answer);
    }
}

Test(http_access, slows_down_who_asks_the_session_about_tokens)
{
    cr_assert_eq(ask_as("GET", "/api/session", tokens[HTTP_ROLE_VIEWER]), 200);
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(ask_as("GET", "/api/session", "wrong"), 200);
    cr_assert_eq(ask_as("GET", "/api/session", "wrong"), 429);
    cr_assert(strstr(http_kit_answer, "\r\nRetry-After: ") != NULL, "%s", http_kit_answer);
    cr_assert_eq(ask("GET", "/api/session", ""), 200);
    cr_assert_eq(ask_as("GET", "/livez", "wrong"), 200);
}

/* Proxies add the client's address at the end or in a header of its own. */
Test(http_access, counts_by_the_address_that_the_proxy_adds)
{
    static const char *const forms[] = {"X-Forwarded-For: 10.0.%d.%d, 192.0.2.7\r\n",
                                        "X-Forwarded-For: 10.0.%d.%d\r\n"
                                        "X-Forwarded-For: 192.0.2.7\r\n"};
    char head[REQUEST_SIZE / 2];
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        listen_with((struct http_access_options){.authenticates = true,
                                                 .proxies = (const char *const[]){"127.0.0.1"},
                                                 .proxy_count = 1});
        for (int i = 0; i <= HTTP_FAILURES_MAX; i++) {
            int size = snprintf(head, sizeof(head), "Authorization: Bearer wrong\r\n");
            snprintf(head + size, sizeof(head) - (size_t)size, forms[f], i, i);
            cr_expect_eq(ask("GET", "/view", head), i < HTTP_FAILURES_MAX ? 401 : 429, "%s", head);
        }
        cr_expect_eq(ask_as("GET", "/view", "wrong"), 401, "the proxy itself");
    }
}

/* ---- browsers ---- */

static void log_in(const char *token, const char *head)
{
    char request[REQUEST_SIZE];
    char body[128];
    int size = snprintf(body, sizeof(body), "{\"token\": \"%s\"}", token);
    snprintf(request, sizeof(request),
             "POST /api/session HTTP/1.1\r\n" HTTP_KIT_HOST "%sX-Reeve-Request: 1\r\n"
             "Content-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s",
             head, size, body);
    http_kit_ask(request);
}

Test(http_access, logs_browsers_in_and_out)
{
    char cookie[REQUEST_SIZE / 4];
    log_in(tokens[HTTP_ROLE_OPERATOR], "Origin: http://localhost\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    snprintf(cookie, sizeof(cookie),
             "\r\nSet-Cookie: reeve_token=%s; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict\r\n",
             tokens[HTTP_ROLE_OPERATOR]);
    cr_assert(strstr(http_kit_answer, cookie) != NULL, "%s", http_kit_answer);
    cr_assert(strstr(http_kit_body(http_kit_answer), tokens[HTTP_ROLE_OPERATOR]) == NULL);
    snprintf(cookie, sizeof(cookie), "Cookie: theme=dark; reeve_token=%s\r\n",
             tokens[HTTP_ROLE_OPERATOR]);
    cr_assert_eq(ask("GET", "/view", cookie), 200);
    cr_assert_eq(ask("POST", "/operate", cookie), 403, "a form could send the cookie");
    cr_assert(strstr(http_kit_answer, "HeaderMissing") != NULL, "%s", http_kit_answer);
    snprintf(cookie, sizeof(cookie), "X-Reeve-Request: 1\r\nCookie: reeve_token=%s\r\n",
             tokens[HTTP_ROLE_OPERATOR]);
    cr_assert_eq(ask("POST", "/operate", cookie), 200);
    snprintf(cookie, sizeof(cookie), "Cookie: theme=dark\r\nCookie: reeve_token=%s; a=b\r\n",
             tokens[HTTP_ROLE_VIEWER]);
    cr_assert_eq(ask("GET", "/view", cookie), 200, "as some proxies send cookies");
    snprintf(cookie, sizeof(cookie), "X-Reeve-Request: 1\r\nCookie: xreeve_token=%s\r\n",
             tokens[HTTP_ROLE_VIEWER]);
    cr_assert_eq(ask("GET", "/view", cookie), 401, "another cookie");
    cr_assert_eq(ask("DELETE", "/api/session", cookie), 204);
    cr_assert(strstr(http_kit_answer, "\r\nSet-Cookie: reeve_token=; Path=/; Max-Age=0;") != NULL,
              "%s", http_kit_answer);
    log_in("wrong", "");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 401"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "Set-Cookie") == NULL);
}

/* ---- without authentication ---- */

Test(http_access, takes_the_user_from_a_trusted_proxy)
{
    listen_with((struct http_access_options){.proxies = (const char *const[]){"127.0.0.0/30"},
                                             .proxy_count = 1});
    cr_assert_eq(ask("GET", "/view", "X-Forwarded-User: ann@shop\r\n"), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello ann@shop, call back");
    cr_assert_eq(ask("GET", "/view", "X-Forwarded-User: a\tb\r\n"), 400);
    cr_assert_eq(ask("GET", "/view", "X-Forwarded-User: \xff\r\n"), 400);
    cr_assert_eq(ask("GET", "/view", "X-Forwarded-User: eve\r\nX-Forwarded-User: ann\r\n"), 400,
                 "the client's, and the proxy's");
    cr_assert_eq(ask("GET", "/api/session", "X-Forwarded-User: ann\r\n"), 200);
    cr_assert(strstr(http_kit_answer, "\"permissions\":[\"view\",\"operate\",") != NULL, "%s",
              http_kit_answer);
    listen_with((struct http_access_options){.proxies = (const char *const[]){"10.0.0.0/8"},
                                             .proxy_count = 1});
    cr_assert_eq(ask("GET", "/view", "X-Forwarded-User: ann\r\n"), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello , call back", "not from a proxy");
}

/* A proxy that let a client through without a login. */
Test(http_access, refuses_requests_of_a_trusted_proxy_without_a_user)
{
    static const char *const heads[] = {"", "X-Forwarded-User:\r\n", "X-Forwarded-User:  \r\n"};
    listen_with((struct http_access_options){.proxies = (const char *const[]){"127.0.0.1"},
                                             .proxy_count = 1});
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        char head[REQUEST_SIZE / 4];
        cr_expect_eq(ask("GET", "/view", heads[i]), 401, "%zu: %s", i, http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\"NoUser\"") != NULL, "%s", http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\r\nWWW-Authenticate: ") != NULL);
        cr_expect_eq(ask("POST", "/operate", heads[i]), 401, "%zu", i);
        cr_expect_eq(ask("GET", "/open", heads[i]), 200, "%zu", i);
        cr_expect_str_eq(http_kit_body(http_kit_answer), "hello ", "may do nothing else");
        snprintf(head, sizeof(head), "%sAuthorization: Bearer x\r\n", heads[i]);
        cr_expect_eq(ask("GET", "/view", head), 401, "%zu", i);
        cr_expect_eq(ask("GET", "/api/session", heads[i]), 200);
        cr_expect(strstr(http_kit_answer, "\"permissions\":[]") != NULL, "%s", http_kit_answer);
    }
    cr_expect_eq(ask("GET", "/livez", ""), 200);
}

Test(http_access, knows_networks)
{
    static const char *const proxies[] = {"10.1.2.3", "192.168.0.0/22", "fd00::/8", "::1"};
    static const struct {
        const char *address;
        bool trusted;
        bool loopback;
    } cases[] = {{"10.1.2.3", true, false},
                 {"10.1.2.4", false, false},
                 {"192.168.3.255", true, false},
                 {"192.168.4.0", false, false},
                 {"fd12::9", true, false},
                 {"fe80::1", false, false},
                 {"::1", true, true},
                 {"127.9.9.9", false, true},
                 {"::ffff:10.1.2.3", true, false}};
    listen_with((struct http_access_options){.proxies = proxies,
                                             .proxy_count = sizeof(proxies) / sizeof(proxies[0])});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t address[HTTP_ADDRESS_SIZE];
        bool ipv4 = false;
        cr_assert(http_address_parse(cases[i].address, address, &ipv4));
        cr_expect_eq(http_access_trusts(access_of_server, address), cases[i].trusted, "%s",
                     cases[i].address);
        cr_expect_eq(http_address_is_loopback(address), cases[i].loopback, "%s", cases[i].address);
    }
}

Test(http_access, rejects_malformed_networks)
{
    static const char *const bad[] = {"",       "proxy",    "10.0.0.0/33", "10.0.0.0/",
                                      "::/129", "10.0.0/8", "10.0.0.0/8x", "0.0.0.0/0",
                                      "::/0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct http_access *access = NULL;
        struct error error = {0};
        const struct http_access_options options = {
            .proxies = &bad[i], .proxy_count = 1, .token_file = "", .user_header = "X-User"};
        cr_expect(http_access_new(http_kit_loop, NULL, &options, &access, &error) == ERROR_REJECT,
                  "%s", bad[i]);
        cr_expect_str_eq(error.code, "Config");
        cr_expect_null(access);
    }
}
