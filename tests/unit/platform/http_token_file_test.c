/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that come, go and change while the server runs. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(http_token_file, .init = access_kit_open, .fini = access_kit_close);

static bool is_refused(void *ctx)
{
    return access_kit_ask_as("GET", "/view", ctx) == 401;
}

Test(http_token_file, follows_the_file_of_tokens)
{
    struct error error = {0};
    char late[HTTP_TOKEN_SIZE];
    access_kit_add_token("late", HTTP_ROLE_VIEWER, 0, late);
    cr_assert_eq(access_kit_ask_as("GET", "/view", late), 401, "not read again yet");
    http_access_reload(access_kit_access);
    cr_assert_eq(access_kit_ask_as("GET", "/view", late), 200);
    cr_assert(http_tokens_revoke(access_kit_path, TEXT("late"), &error) == ERROR_OK, "%s",
              error.message);
    cr_assert(loop_run_until(http_kit_loop, is_refused, late, HTTP_KIT_WAIT_MS),
              "the file was not looked at");
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
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
    cr_assert_eq(access_kit_ask_as("GET", "/metrics", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
    return strstr(http_kit_answer, line) != NULL;
}

/* Tokens that were revoked since are still accepted then. */
Test(http_token_file, says_that_the_file_of_tokens_cannot_be_read)
{
    static char ready[] = "ok\n";
    static char outdated[] = "degraded: http.tokens.file cannot be read again: tokens that were "
                             "revoked since are still accepted; see the log\n";
    char aside[ACCESS_KIT_PATH_SIZE + sizeof(".aside")];
    snprintf(aside, sizeof(aside), "%s.aside", access_kit_path);
    cr_assert(shows(ready) && has_gauge("0"));
    cr_assert(rename(access_kit_path, aside) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, outdated, HTTP_KIT_WAIT_MS), "%s",
              http_kit_answer);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "it does its work");
    cr_assert(has_gauge("1"));
    cr_assert(rename(aside, access_kit_path) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, ready, HTTP_KIT_WAIT_MS));
    cr_assert(has_gauge("0"));
    cr_assert(chmod(access_kit_path, 0666) == 0);
    cr_assert(loop_run_until(http_kit_loop, shows, outdated, HTTP_KIT_WAIT_MS));
    FILE *file = fopen(access_kit_path, "a");
    fputs("broken\n", file);
    fclose(file);
    cr_assert(chmod(access_kit_path, 0600) == 0);
    http_access_reload(access_kit_access);
    cr_assert(shows(outdated) && has_gauge("1"));
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

Test(http_token_file, ends_what_a_revoked_token_follows)
{
    struct error error = {0};
    int following = http_kit_dial();
    int waiting = http_kit_dial();
    access_kit_send_as(following, "/stream", access_kit_tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, has_stream, NULL, HTTP_KIT_WAIT_MS));
    access_kit_send_as(waiting, "/hold", access_kit_tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    cr_assert(http_tokens_revoke(access_kit_path, TEXT("viewer"), &error) == ERROR_OK);
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
    FILE *file = fopen(access_kit_path, "r");
    size_t size = fread(content, 1, sizeof(content) - 1, file);
    fclose(file);
    char *at = strstr(content, from);
    cr_assert(size > 0 && at != NULL && strlen(from) == strlen(to));
    memcpy(at, to, strlen(to));
    file = fopen(access_kit_path, "w");
    fputs(content, file);
    fclose(file);
}

Test(http_token_file, ends_what_a_token_of_another_role_follows)
{
    int following = http_kit_dial();
    replace_in_file("viewer viewer", "watch1 viewer");
    http_access_reload(access_kit_access);
    access_kit_send_as(following, "/stream", access_kit_tokens[HTTP_ROLE_VIEWER]);
    cr_assert(loop_run_until(http_kit_loop, has_stream, NULL, HTTP_KIT_WAIT_MS));
    replace_in_file("watch1 viewer", "watch1  agent");
    cr_assert(loop_run_until(http_kit_loop, is_stream_closed, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 403);
    close(following);
}

Test(http_token_file, refuses_expired_tokens)
{
    char old[HTTP_TOKEN_SIZE];
    char young[HTTP_TOKEN_SIZE];
    int64_t now_ms = clock_wall_ms(clock_real());
    access_kit_add_token("old", HTTP_ROLE_VIEWER, now_ms - 1, old);
    access_kit_add_token("young", HTTP_ROLE_VIEWER, now_ms + 3600 * 1000, young);
    http_access_reload(access_kit_access);
    cr_assert_eq(access_kit_ask_as("GET", "/view", old), 401);
    cr_assert_eq(access_kit_ask_as("GET", "/view", young), 200);
}

Test(http_token_file, keeps_its_tokens_when_the_file_breaks)
{
    FILE *file = fopen(access_kit_path, "a");
    fputs("half a line\n", file);
    fclose(file);
    http_access_reload(access_kit_access);
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
    unlink(access_kit_path);
    http_access_reload(access_kit_access);
    cr_assert_eq(access_kit_ask_as("GET", "/view", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
}
