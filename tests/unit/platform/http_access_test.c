/* SPDX-License-Identifier: Apache-2.0 */
/* Roles, and tokens that are missing, wrong or tried. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(http_access, .init = access_kit_open, .fini = access_kit_close);

/* ---- roles ---- */

Test(http_access, gives_each_role_its_permissions)
{
    static const char *const targets[] = {"/open", "/view", "/operate", "/submit", "/call-back"};
    static const int expected[HTTP_ROLE_COUNT][5] = {
        {200, 200, 403, 403, 403},
        {200, 200, 200, 403, 403},
        {200, 403, 403, 200, 403},
        {200, 403, 403, 403, 200},
    };
    for (int role = 0; role < HTTP_ROLE_COUNT; role++) {
        for (int i = 0; i < 5; i++) {
            const char *method = i > 1 ? "POST" : "GET";
            int status = access_kit_ask_as(method, targets[i], access_kit_tokens[role]);
            cr_expect_eq(status, expected[role][i], "%s %s: %d",
                         http_role_name((enum http_role)role), targets[i], status);
        }
    }
    cr_assert_eq(access_kit_ask_as("GET", "/livez", "wrong"), 200);
    cr_assert_eq(access_kit_ask_as("GET", "/metrics", access_kit_tokens[HTTP_ROLE_SUBMITTER]), 403);
    cr_assert_eq(access_kit_ask_as("GET", "/metrics", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
}

Test(http_access, knows_who_asks)
{
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_OPERATOR]), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello operator");
    cr_assert_eq(access_kit_ask_as("GET", "/open", access_kit_tokens[HTTP_ROLE_AGENT]), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello agent, call back");
    cr_assert_eq(access_kit_ask("GET", "/open", ""), 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "hello ");
}

Test(http_access, refuses_missing_and_wrong_tokens)
{
    static const char *const wrong[] = {
        "Authorization: Bearer reeve_\r\n", "Authorization: Bearer viewer\r\n",
        "Authorization: Basic dmlld2VyOng=\r\n", "Authorization: \r\n",
        "Cookie: a=b; reeve_session=reeve_x\r\n"};
    cr_assert_eq(access_kit_ask("GET", "/view", ""), 401);
    cr_assert(strstr(http_kit_answer, "\r\nWWW-Authenticate: Bearer realm=\"reeve\"\r\n") != NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(access_kit_ask("GET", "/view", wrong[i]), 401, "%s", wrong[i]);
        cr_expect(strstr(http_kit_answer, "invalid_token") != NULL, "%s", http_kit_answer);
    }
    cr_assert_eq(access_kit_ask("GET", "/nowhere", ""), 404);
}

Test(http_access, slows_down_who_tries_tokens)
{
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(access_kit_ask_as("GET", "/view", "wrong"), 401);
    cr_assert_eq(access_kit_ask_as("GET", "/view", "wrong"), 429);
    const char *after = strstr(http_kit_answer, "\r\nRetry-After: ");
    cr_assert(after != NULL, "%s", http_kit_answer);
    long seconds = strtol(after + strlen("\r\nRetry-After: "), NULL, 10);
    cr_assert(seconds > 0 && seconds <= HTTP_FAILURES_SECONDS, "%ld", seconds);
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200,
                 "others share the address");
    cr_assert_eq(access_kit_ask("GET", "/view", ""), 401, "a token was not tried");
}

/* What is tried beyond the limit is answered in the same way whether it is right or not. */
Test(http_access, does_not_tell_a_right_guess_beyond_the_limit)
{
    char cookie[ACCESS_KIT_REQUEST_SIZE / 4];
    for (int i = 0; i < HTTP_FAILURES_MAX; i++)
        cr_assert_eq(access_kit_ask_as("POST", "/open-post", "wrong"), 200, "counts as well");
    cr_expect_eq(access_kit_ask_as("GET", "/view", "wrong"), 429);
    cr_expect_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_OPERATOR]), 429);
    cr_expect_eq(access_kit_ask_as("GET", "/api/session", access_kit_tokens[HTTP_ROLE_OPERATOR]),
                 429);
    cr_expect_eq(access_kit_ask_as("GET", "/open", access_kit_tokens[HTTP_ROLE_AGENT]), 200);
    cr_expect_str_eq(http_kit_body(http_kit_answer), "hello ", "not known");
    snprintf(cookie, sizeof(cookie), "Cookie: reeve_session=%s\r\n",
             access_kit_tokens[HTTP_ROLE_OPERATOR]);
    cr_expect_eq(access_kit_ask("GET", "/view", cookie), 401);
    access_kit_log_in(access_kit_tokens[HTTP_ROLE_OPERATOR], "");
    cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 429"), "%s", http_kit_answer);
    cr_expect(strstr(http_kit_answer, "Set-Cookie") == NULL);
    int fd = http_kit_dial_from(2);
    access_kit_send_as(fd, "/view", access_kit_tokens[HTTP_ROLE_OPERATOR]);
    http_kit_expect_answer(fd);
    cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "from another address");
    close(fd);
}

Test(http_access, only_reads_where_that_is_set)
{
    access_kit_listen((struct http_access_options){.authenticates = true, .read_only = true});
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_OPERATOR]), 200);
    cr_assert_eq(access_kit_ask_as("POST", "/operate", access_kit_tokens[HTTP_ROLE_OPERATOR]), 403);
    cr_assert(strstr(http_kit_answer, "ReadOnly") != NULL, "%s", http_kit_answer);
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", access_kit_tokens[HTTP_ROLE_OPERATOR]),
                 200);
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     "{\"authentication\":true,\"read_only\":true,\"user\":\"operator\","
                     "\"role\":\"operator\",\"groups\":[],\"permissions\":[\"view\"]}");
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
            int status =
                access_kit_ask(methods[m], targets[t],
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
    const char *sent[] = {access_kit_tokens[HTTP_ROLE_VIEWER], "wrong",
                          access_kit_tokens[HTTP_ROLE_AGENT],
                          access_kit_tokens[HTTP_ROLE_OPERATOR]};
    static const char *const expected[] = {"HTTP/1.1 200", "HTTP/1.1 401", "HTTP/1.1 403",
                                           "HTTP/1.1 200"};
    int fd = http_kit_dial();
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        access_kit_send_as(fd, "/view", sent[i]);
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
    FILE *file = fopen(access_kit_path, "a");
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
    http_access_reload(access_kit_access);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char body[ACCESS_KIT_REQUEST_SIZE];
        char request[2 * ACCESS_KIT_REQUEST_SIZE];
        int size = snprintf(body, sizeof(body), "{\"token\": \"%s\"}", bad[i]);
        snprintf(request, sizeof(request),
                 "POST /api/session HTTP/1.1\r\n" HTTP_KIT_HOST
                 "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                 size, body);
        cr_expect(http_kit_starts(http_kit_ask(request), "HTTP/1.1 401"), "%s: %s", bad[i],
                  http_kit_answer);
    }
}
