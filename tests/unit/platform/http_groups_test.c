/* SPDX-License-Identifier: Apache-2.0 */
/* The file of groups: what is read, and who is in which. */
#include "platform/http/groups.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 256 };

static char folder[] = "/tmp/reeve-groups-XXXXXX";
static char path[PATH_SIZE];

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/groups", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(http_groups, .init = make_folder, .fini = remove_folder);

static FILE *begin_file(void)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fchmod(fileno(file), 0640) == 0);
    return file;
}

static void write_file(const char *content)
{
    FILE *file = begin_file();
    fputs(content, file);
    fclose(file);
}

static struct http_groups read_file(void)
{
    struct http_groups groups = {0};
    struct error error = {0};
    cr_assert(http_groups_read(path, &groups, &error) == ERROR_OK, "%s", error.message);
    return groups;
}

static void expect_groups(const struct http_groups *groups, const char *user, const char *expected)
{
    struct text of[USER_GROUPS_MAX];
    char list[USER_GROUPS_MAX * 66] = "";
    uint32_t count = http_groups_of_user(groups, user, of);
    for (uint32_t i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.*s", i > 0 ? " " : "",
                 TEXT_ARG(of[i]));
    cr_expect_str_eq(list, expected, "%s: %s", user, list);
}

Test(http_groups, knows_who_is_in_which_group)
{
    write_file("# who may decide\n\nmanagers ann bob@example.org\r\n"
               "\tunderwriters  zo\xc3\xab  ann\t\nmanagers zo\xc3\xab ann\nowners ann");
    struct http_groups groups = read_file();
    expect_groups(&groups, "ann", "managers owners underwriters");
    expect_groups(&groups, "bob@example.org", "managers");
    expect_groups(&groups, "zo\xc3\xab", "managers underwriters");
    expect_groups(&groups, "an", "");
    expect_groups(&groups, "anna", "");
    expect_groups(&groups, "managers", "");
    expect_groups(&groups, "", "");
    http_groups_deinit(&groups);
    expect_groups(&groups, "ann", "");
}

Test(http_groups, names_what_is_malformed)
{
    static const struct {
        const char *line;
        const char *why;
    } cases[] = {
        {"managers", "line 2: expected GROUP NAME [NAME ...]: no name follows the group"},
        {"managers: ann", "line 2: the group must be 1 to 64 letters, digits, '.', '_' or '-'"},
        {"a/b ann", "line 2: the group must be "},
        {"managers ann\x01", "line 2: a name must be 1 to 64 printable bytes"},
        {"managers \xff", "line 2: a name must be 1 to 64 printable bytes"},
        {"managers 0123456789012345678901234567890123456789012345678901234567890123x",
         "line 2: a name must be 1 to 64 printable bytes"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char content[512];
        struct http_groups groups = {0};
        struct error error = {0};
        snprintf(content, sizeof(content), "ok bob ann\n%s\n", cases[i].line);
        write_file(content);
        cr_expect(http_groups_read(path, &groups, &error) == ERROR_REJECT, "%s", cases[i].line);
        cr_expect_eq(error.code, CODE_CONFIG);
        cr_expect(strstr(error.message, path) != NULL, "%s", error.message);
        cr_expect(strstr(error.message, cases[i].why) != NULL, "%s", error.message);
        cr_expect_eq(groups.count, 0);
    }
}

/* ann is in `count` groups, and bob in one of them. */
static enum error_class read_groups_of_ann(int count, struct error *ret_error)
{
    struct http_groups groups = {0};
    struct text of[USER_GROUPS_MAX];
    FILE *file = begin_file();
    for (int i = 0; i < count; i++)
        fprintf(file, "group%02d ann%s\ngroup%02d ann\n", i, i == 7 ? " bob" : "", i);
    fclose(file);
    enum error_class class = http_groups_read(path, &groups, ret_error);
    if (class == ERROR_OK) {
        cr_expect_eq(http_groups_of_user(&groups, "ann", of), (uint32_t)count);
        expect_groups(&groups, "bob", "group07");
    }
    http_groups_deinit(&groups);
    return class;
}

Test(http_groups, has_a_limit_on_the_groups_of_a_user)
{
    struct error error = {0};
    cr_expect(read_groups_of_ann(USER_GROUPS_MAX, &error) == ERROR_OK, "%s", error.message);
    cr_expect(read_groups_of_ann(USER_GROUPS_MAX + 1, &error) == ERROR_REJECT);
    cr_expect(strstr(error.message, ": ann is in more than 32 groups") != NULL, "%s",
              error.message);
}

static enum error_class read_members(int count, struct error *ret_error)
{
    struct http_groups groups = {0};
    FILE *file = begin_file();
    fputs("all", file);
    for (int i = 0; i < count; i++)
        fprintf(file, " user%05d", i);
    fclose(file);
    enum error_class class = http_groups_read(path, &groups, ret_error);
    if (class == ERROR_OK)
        expect_groups(&groups, "user19999", "all");
    http_groups_deinit(&groups);
    return class;
}

Test(http_groups, has_a_limit_on_all_members)
{
    struct error error = {0};
    cr_expect(read_members(HTTP_MEMBERS_MAX, &error) == ERROR_OK, "%s", error.message);
    cr_expect(read_members(HTTP_MEMBERS_MAX + 1, &error) == ERROR_REJECT);
    cr_expect(strstr(error.message, "line 1: the groups have more than 20000 names") != NULL, "%s",
              error.message);
}

Test(http_groups, refuses_files_that_are_missing_or_that_others_may_write)
{
    struct http_groups groups = {0};
    struct error error = {0};
    cr_expect(http_groups_read(path, &groups, &error) == ERROR_REJECT);
    write_file("managers ann\n");
    cr_assert(chmod(path, 0660) == 0);
    cr_expect(http_groups_read(path, &groups, &error) == ERROR_REJECT);
    cr_expect(strstr(error.message, "so give themselves any group: chmod go-w") != NULL, "%s",
              error.message);
}
