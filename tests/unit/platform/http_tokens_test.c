/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tokens: what is read, and what a change leaves alone. */
#include "platform/http/tokens.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOW = 1291191960, PATH_SIZE = 256 };

static char folder[] = "/tmp/reeve-tokens-XXXXXX";
static char path[PATH_SIZE];

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/tokens", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(http_tokens, .init = make_folder, .fini = remove_folder);

static void write_file(const char *content)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(content, file);
    fclose(file);
}

#define HASH "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER_HASH "sha256:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

Test(http_tokens, names_the_line_that_is_malformed)
{
    static const struct {
        const char *line;
        const char *why;
    } cases[] = {
        {"ann viewer " HASH, "expected NAME ROLE"},
        {"ann viewer " HASH " 2026-01-01 2027-01-01 more", "expected NAME ROLE"},
        {"a/b viewer " HASH " 2026-01-01", "the name must be"},
        {"ann admin " HASH " 2026-01-01", "the role must be"},
        {"ann viewer sha256:00 2026-01-01", "the hash must be"},
        {"ann viewer " HASH " yesterday", "times must be"},
        {"ann viewer " HASH " 2026-01-01 never", "times must be"},
        {"bob viewer " HASH " 2026-01-01", "another line has the same name"},
        {"ann viewer " HASH " 2026-01-01", "another line has the same hash"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char content[512];
        struct http_tokens read = {0};
        struct error error = {0};
        snprintf(content, sizeof(content), "# who\n\n bob\toperator " HASH " 2026-01-01\r\n%s\n",
                 cases[i].line);
        write_file(content);
        cr_expect(http_tokens_read(path, &read, &error) == ERROR_REJECT, "%s", cases[i].line);
        cr_expect(strstr(error.message, "line 4: ") != NULL, "%s", error.message);
        cr_expect(strstr(error.message, cases[i].why) != NULL, "%s", error.message);
        cr_expect_eq(read.count, 0);
    }
}

Test(http_tokens, changes_only_the_line_of_a_token)
{
    struct error error = {0};
    char token[HTTP_TOKEN_SIZE] = "";
    struct stat info;
    write_file("# kept\nbob operator " HASH " 2026-01-01T00:00:00Z\n\nann viewer " OTHER_HASH
               " 2026-01-02T00:00:00Z # not a comment");
    cr_assert(http_tokens_revoke(path, TEXT("bob"), &error) == ERROR_REJECT, "line 4 is malformed");
    write_file("# kept\nbob operator " HASH " 2026-01-01T00:00:00Z\n\nann viewer " OTHER_HASH
               " 2026-01-02T00:00:00Z");
    cr_assert(chmod(path, 0604) == 0);
    cr_assert(http_tokens_revoke(path, TEXT("bob"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(http_tokens_revoke(path, TEXT("bob"), &error) == ERROR_REJECT);
    cr_assert_str_eq(error.code, "NotFound");
    cr_assert(http_tokens_add(path, TEXT("ann"), HTTP_ROLE_AGENT, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_assert_str_eq(error.code, "Exists");
    cr_assert(http_tokens_add(path, TEXT("a b"), HTTP_ROLE_AGENT, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_assert_str_eq(error.code, "BadName");
    cr_assert_str_eq(token, "");
    cr_assert(http_tokens_add(path, TEXT("cat"), HTTP_ROLE_AGENT, NOW * INT64_C(1000),
                              (NOW + 1) * INT64_C(1000), token, &error) == ERROR_OK,
              "%s", error.message);
    cr_assert(stat(path, &info) == 0);
    cr_assert_eq(info.st_mode & 0777, 0604, "the service must still be able to read it");
    struct http_tokens read = {0};
    cr_assert(http_tokens_read(path, &read, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(read.count, 2);
    cr_assert_str_eq(read.of[0].name, "ann");
    cr_assert_str_eq(read.of[1].name, "cat");
    cr_assert_eq(read.of[1].role, HTTP_ROLE_AGENT);
    cr_assert_eq(read.of[1].created_ms, NOW * INT64_C(1000));
    cr_assert_eq(read.of[1].expires_ms, (NOW + 1) * INT64_C(1000));
    http_tokens_deinit(&read);
}
