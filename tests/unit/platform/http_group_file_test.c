/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of those who ask, and a file of groups that changes while the server runs. */
#include "tests/unit/platform/http_access_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char group_path[ACCESS_KIT_PATH_SIZE + sizeof(".groups")];

static void write_groups(const char *content)
{
    FILE *file = fopen(group_path, "w");
    cr_assert(file != NULL && fchmod(fileno(file), 0640) == 0);
    fputs(content, file);
    fclose(file);
}

static void open_kit(void)
{
    access_kit_open();
    snprintf(group_path, sizeof(group_path), "%s.groups", access_kit_path);
    write_groups("managers viewer ann\nauditors operator viewer\n");
    access_kit_listen(
        (struct http_access_options){.authenticates = true, .group_file = group_path});
}

static void close_kit(void)
{
    unlink(group_path);
    access_kit_close();
}

TestSuite(http_group_file, .init = open_kit, .fini = close_kit);

static bool is_in(enum http_role role, const char *groups)
{
    char expected[128];
    snprintf(expected, sizeof(expected), "\"groups\":[%s],", groups);
    cr_assert_eq(access_kit_ask_as("GET", "/api/session", access_kit_tokens[role]), 200);
    return strstr(http_kit_answer, expected) != NULL;
}

Test(http_group_file, knows_the_groups_of_a_token)
{
    cr_expect(is_in(HTTP_ROLE_VIEWER, "\"auditors\",\"managers\""), "%s", http_kit_answer);
    cr_expect(is_in(HTTP_ROLE_OPERATOR, "\"auditors\""), "%s", http_kit_answer);
    cr_expect(is_in(HTTP_ROLE_SUBMITTER, ""), "%s", http_kit_answer);
    access_kit_ask("GET", "/api/session", "");
    cr_expect(strstr(http_kit_answer, "\"groups\":[],") != NULL, "%s", http_kit_answer);
    access_kit_ask("GET", "/api/session",
                   "X-Forwarded-User: ann\r\nX-Forwarded-Groups: managers\r\n");
    cr_expect(strstr(http_kit_answer, "\"groups\":[],") != NULL, "%s", http_kit_answer);
}

Test(http_group_file, knows_the_groups_of_a_user_whom_a_trusted_proxy_names)
{
    struct http_access_options options = {
        .proxies = (const char *const[]){"127.0.0.1"}, .proxy_count = 1, .group_file = group_path};
    access_kit_listen(options);
    access_kit_ask("GET", "/api/session", "X-Forwarded-User: ann\r\n");
    cr_expect(strstr(http_kit_answer, "\"groups\":[\"managers\"],") != NULL, "%s", http_kit_answer);
    options.proxies = (const char *const[]){"10.0.0.0/8"};
    access_kit_listen(options);
    access_kit_ask("GET", "/api/session", "X-Forwarded-User: ann\r\n");
    cr_expect(strstr(http_kit_answer, "\"groups\":[],") != NULL, "%s", http_kit_answer);
}

static bool is_moved(void *ctx)
{
    (void)ctx;
    return is_in(HTTP_ROLE_VIEWER, "") && is_in(HTTP_ROLE_SUBMITTER, "\"managers\"");
}

static bool shows(void *ctx)
{
    http_kit_ask("GET /readyz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    return strcmp(http_kit_body(http_kit_answer), ctx) == 0;
}

static bool has_gauge(const char *value)
{
    char line[64];
    snprintf(line, sizeof(line), "\nreeve_http_groups_outdated %s\n", value);
    cr_assert_eq(access_kit_ask_as("GET", "/metrics", access_kit_tokens[HTTP_ROLE_VIEWER]), 200);
    return strstr(http_kit_answer, line) != NULL;
}

Test(http_group_file, follows_the_file)
{
    write_groups("managers submitter\n");
    cr_expect(loop_run_until(http_kit_loop, is_moved, NULL, HTTP_KIT_WAIT_MS), "%s",
              http_kit_answer);
    write_groups("managers viewer\n");
    http_access_reload(access_kit_access);
    cr_expect(is_in(HTTP_ROLE_VIEWER, "\"managers\""), "%s", http_kit_answer);
}

Test(http_group_file, says_that_the_file_cannot_be_read)
{
    static char ready[] = "ok\n";
    static char outdated[] = "degraded: http.groups.file cannot be read again: users who were "
                             "taken out of a group since are still in it; see the log\n";
    static char both[] = "degraded: http.tokens.file cannot be read again: tokens that were "
                         "revoked since are still accepted; see the log; http.groups.file cannot "
                         "be read again: users who were taken out of a group since are still in "
                         "it; see the log\n";
    cr_assert(shows(ready) && has_gauge("0"));
    write_groups("managers\n");
    cr_assert(loop_run_until(http_kit_loop, shows, outdated, HTTP_KIT_WAIT_MS), "%s",
              http_kit_answer);
    cr_expect(has_gauge("1"));
    cr_expect(is_in(HTTP_ROLE_VIEWER, "\"auditors\",\"managers\""), "%s", http_kit_answer);
    cr_assert(chmod(access_kit_path, 0666) == 0);
    http_access_reload(access_kit_access);
    cr_expect(shows(both), "%s", http_kit_answer);
    cr_assert(chmod(access_kit_path, 0600) == 0);
    write_groups("managers submitter\n");
    http_access_reload(access_kit_access);
    cr_expect(shows(ready) && has_gauge("0"));
    cr_expect(is_in(HTTP_ROLE_SUBMITTER, "\"managers\""), "%s", http_kit_answer);
}

Test(http_group_file, refuses_to_start_with_a_malformed_file)
{
    struct http_access *access = NULL;
    struct error error = {0};
    struct http_access_options options = {
        .token_file = "", .user_header = "X-User", .group_file = group_path};
    write_groups("managers\n");
    cr_expect(http_access_new(http_kit_loop, NULL, &options, &access, &error) == ERROR_REJECT);
    cr_expect_eq(error.code, CODE_CONFIG);
    cr_expect_null(access);
}
