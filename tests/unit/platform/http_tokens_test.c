/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tokens: what is read, and what a change leaves alone. */
#include "platform/http/tokens.h"

#include "platform/files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOW = 1291191960, PATH_SIZE = 256, USER = 12345, GROUP = 23456 };

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
    cr_assert(chmod(path, 0640) == 0); /* whatever the umask */
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
        {"ann submitter " HASH " 2026-01-01 topic=x", "a token is bound by"},
        {"ann submitter " HASH " 2026-01-01 reply-to=", "a reply topic and an id prefix have"},
        {"ann submitter " HASH " 2026-01-01 id-prefix=a/b", "a reply topic and an id prefix have"},
        {"ann submitter " HASH " 2026-01-01 id-prefix=a id-prefix=b", "is bound once"},
        {"ann agent " HASH " 2026-01-01 agents=a,,b", "agents must be names"},
        {"ann agent " HASH " 2026-01-01 agents=a,", "agents must be names"},
        {"ann agent " HASH " 2026-01-01 agents=..", "agents must be names"},
        {"ann agent " HASH " 2026-01-01 id-prefix=a", "reply-to and id-prefix are for submitters"},
        {"ann viewer " HASH " 2026-01-01 agents=a", "agents is for the role agent"},
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
    cr_assert_eq(error.code, CODE_NOT_FOUND);
    cr_assert(http_tokens_add(path, TEXT("ann"), HTTP_ROLE_AGENT, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_assert_eq(error.code, CODE_EXISTS);
    cr_assert(http_tokens_add(path, TEXT("a b"), HTTP_ROLE_AGENT, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_assert_eq(error.code, CODE_BAD_NAME);
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

Test(http_tokens, keeps_what_a_token_is_bound_to)
{
    struct error error = {0};
    char token[HTTP_TOKEN_SIZE];
    struct http_bindings shop = {{"orders.replies.shop", "shop-", ""}};
    struct http_bindings pay = {{"", "", "pay,stock"}};
    cr_assert(http_tokens_add_bound(path, TEXT("a"), HTTP_ROLE_SUBMITTER, &shop, 0,
                                    NOW * INT64_C(1000), token, &error) == ERROR_OK);
    cr_assert(http_tokens_add_bound(path, TEXT("b"), HTTP_ROLE_AGENT, &pay, 0, 0, token, &error) ==
              ERROR_OK);
    cr_assert(http_tokens_add_bound(path, TEXT("c"), HTTP_ROLE_AGENT, &shop, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_assert_eq(error.code, CODE_BAD_BINDING);
    struct http_tokens read = {0};
    cr_assert(http_tokens_read(path, &read, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(read.count, 2);
    cr_assert_eq(read.of[0].expires_ms, NOW * INT64_C(1000));
    cr_assert_eq(memcmp(&read.of[0].bindings, &shop, sizeof(shop)), 0);
    cr_assert_eq(memcmp(&read.of[1].bindings, &pay, sizeof(pay)), 0);
    http_tokens_deinit(&read);
}

Test(http_tokens, permits_what_a_token_is_bound_to_alone)
{
    static const struct http_bindings none;
    static const struct http_bindings bound = {{"p.replies.shop", "shop-", "pay,stock"}};
    static const struct {
        enum http_binding binding;
        const char *value;
        bool permitted;
    } cases[] = {
        {HTTP_BOUND_REPLY_TO, "p.replies.shop", true},
        {HTTP_BOUND_REPLY_TO, "p.replies.shop2", false},
        {HTTP_BOUND_REPLY_TO, "", true},
        {HTTP_BOUND_ID_PREFIX, "shop-1", true},
        {HTTP_BOUND_ID_PREFIX, "shop", false},
        {HTTP_BOUND_ID_PREFIX, "web-1", false},
        {HTTP_BOUND_AGENTS, "stock", true},
        {HTTP_BOUND_AGENTS, "pay", true},
        {HTTP_BOUND_AGENTS, "pa", false},
        {HTTP_BOUND_AGENTS, "pay,stock", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text value = text_of(cases[i].value);
        cr_expect_eq(http_binding_permits(&bound, cases[i].binding, value), cases[i].permitted,
                     "%s", cases[i].value);
        cr_expect(http_binding_permits(&none, cases[i].binding, value));
    }
}

/* ---- the file and its owner ---- */

/* Linked with -Wl,--wrap: what is renamed to the file, at that moment. */
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static struct stat renamed;

int __wrap_rename(const char *from, const char *to)
{
    cr_assert(lstat(from, &renamed) == 0);
    return __real_rename(from, to);
}

/* Later, the name may be that of another file. */
Test(http_tokens, gives_the_new_file_its_owner_and_mode_before_it_has_the_name)
{
    struct error error = {0};
    char token[HTTP_TOKEN_SIZE];
    write_file("bob operator " HASH " 2026-01-01T00:00:00Z\n");
    if (geteuid() == 0)
        cr_assert(chown(path, USER, GROUP) == 0);
    cr_assert(chmod(path, 0440) == 0);
    struct stat before;
    cr_assert(stat(path, &before) == 0);
    cr_assert(http_tokens_add(path, TEXT("ann"), HTTP_ROLE_AGENT, 0, 0, token, &error) == ERROR_OK,
              "%s", error.message);
    cr_assert_eq(renamed.st_uid, before.st_uid);
    cr_assert_eq(renamed.st_gid, before.st_gid);
    cr_assert_eq(renamed.st_mode & 07777, 0440);
    cr_assert(http_tokens_revoke(path, TEXT("bob"), &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(renamed.st_uid, before.st_uid);
    cr_assert_eq(renamed.st_mode & 07777, 0440);
}

static void expect_refusal(const char *why)
{
    struct error error = {0};
    char token[HTTP_TOKEN_SIZE] = "";
    cr_expect(http_tokens_add(path, TEXT("ann"), HTTP_ROLE_AGENT, 0, 0, token, &error) ==
              ERROR_REJECT);
    cr_expect(strstr(error.message, why) != NULL, "%s", error.message);
    cr_expect_eq(error.code, CODE_CONFIG);
    cr_expect_str_eq(token, "");
    cr_expect(http_tokens_revoke(path, TEXT("bob"), &error) == ERROR_REJECT);
    cr_expect(strstr(error.message, why) != NULL, "%s", error.message);
}

/* Any user that may write into the folder may have made the link, to something that only the
 * present user owns. */
Test(http_tokens, does_not_change_links)
{
    char target[PATH_SIZE];
    char content[] = "bob operator " HASH " 2026-01-01T00:00:00Z\n";
    struct http_tokens read = {0};
    struct error error = {0};
    struct stat info;
    snprintf(target, sizeof(target), "%s/target", folder);
    cr_assert(symlink(target, path) == 0);
    expect_refusal("is a symbolic link");
    cr_assert(stat(target, &info) != 0, "a target that did not exist was made");
    cr_assert(files_write_atomic(target, text_of(content), &error) == ERROR_OK);
    expect_refusal("is a symbolic link");
    cr_assert(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    cr_assert(http_tokens_read(path, &read, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(read.count, 1, "mounted secrets are links");
    http_tokens_deinit(&read);
    unlink(path);
    cr_assert(link(target, path) == 0);
    expect_refusal("has another name");
    unlink(path);
    cr_assert(mkdir(path, 0700) == 0);
    expect_refusal("is not a file");
    rmdir(path);
    unlink(target);
}

Test(http_tokens, refuses_files_that_others_may_write)
{
    static const mode_t modes[] = {0660, 0602, 0666};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct http_tokens read = {0};
        struct error error = {0};
        write_file("bob operator " HASH " 2026-01-01T00:00:00Z\n");
        cr_assert(chmod(path, modes[i]) == 0);
        cr_expect(http_tokens_read(path, &read, &error) == ERROR_REJECT, "%o", modes[i]);
        cr_expect(strstr(error.message, "chmod go-w") != NULL, "%s", error.message);
        cr_expect_eq(read.count, 0);
        expect_refusal("chmod go-w");
    }
}
