/* SPDX-License-Identifier: Apache-2.0 */
/* See groups.h. */
#include "platform/http/groups.h"

#include "base/names.h"
#include "base/utf8.h"
#include "platform/http/access.h"
#include "platform/http/access_lines.h"

#include <assert.h>
#include <stdlib.h>

static const struct access_lines_kind group_lines = {HTTP_GROUP_FILE_MAX, "any group"};

static int compare(const void *one, const void *other)
{
    const struct http_member *a = one, *b = other;
    int order = text_compare(a->user, b->user);
    return order != 0 ? order : text_compare(a->group, b->group);
}

static void add(struct http_groups *groups, size_t *capacity, struct http_member member)
{
    if (groups->count == *capacity) {
        *capacity = *capacity == 0 ? 64 : 2 * *capacity;
        groups->of = reallocarray(groups->of, *capacity, sizeof(member));
        assert(groups->of != NULL);
    }
    groups->of[groups->count++] = member;
}

/* NULL, or what is wrong. */
static const char *read_line(struct text line, struct http_groups *groups, size_t *capacity)
{
    struct text group = access_field_take(&line);
    struct text user = access_field_take(&line);
    if (!name_valid(group))
        return "the group must be " NAME_EXPECTED;
    if (text_empty(user))
        return "expected GROUP NAME [NAME ...]: no name follows the group";
    for (; !text_empty(user); user = access_field_take(&line)) {
        if (user.size > HTTP_USER_MAX || !utf8_printable(user))
            return "a name must be 1 to 64 printable bytes";
        if (groups->count == HTTP_MEMBERS_MAX)
            return "the groups have more than 20000 names together";
        add(groups, capacity, (struct http_member){user, group});
    }
    return NULL;
}
_Static_assert(HTTP_MEMBERS_MAX == 20000 && HTTP_USER_MAX == 64, "as in the messages");

/* A user who is named twice in a group is in it once. */
static void sort(struct http_groups *groups)
{
    size_t count = 0;
    if (groups->count > 0)
        qsort(groups->of, groups->count, sizeof(groups->of[0]), compare);
    for (size_t i = 0; i < groups->count; i++) {
        if (count == 0 || compare(&groups->of[count - 1], &groups->of[i]) != 0)
            groups->of[count++] = groups->of[i];
    }
    groups->count = count;
}

static enum error_class parse(const char *path, struct text content, struct http_groups *groups,
                              struct error *ret_error)
{
    size_t capacity = 0;
    for (unsigned number = 1; content.size > 0; number++) {
        struct text line = access_line_take(&content);
        const char *wrong =
            access_line_is_skipped(line) ? NULL : read_line(line, groups, &capacity);
        if (wrong != NULL)
            return error_set(ret_error, CODE_CONFIG, "%s, line %u: %s", path, number, wrong);
    }
    sort(groups);
    for (size_t i = USER_GROUPS_MAX; i < groups->count; i++) {
        if (text_equal(groups->of[i].user, groups->of[i - USER_GROUPS_MAX].user))
            return error_set(ret_error, CODE_CONFIG, "%s: %.*s is in more than %d groups", path,
                             TEXT_ARG(groups->of[i].user), USER_GROUPS_MAX);
    }
    return ERROR_OK;
}

enum error_class http_groups_read(const char *path, struct http_groups *ret_groups,
                                  struct error *ret_error)
{
    struct http_groups groups = {0};
    struct files_owner owner;
    size_t size = 0;
    if (access_lines_read(&group_lines, path, false, &groups.content, &size, &owner, ret_error) !=
        ERROR_OK)
        return ERROR_REJECT;
    enum error_class class =
        parse(path, (struct text){groups.content, (uint32_t)size}, &groups, ret_error);
    if (class == ERROR_OK)
        *ret_groups = groups;
    else
        http_groups_deinit(&groups);
    return class;
}

void http_groups_deinit(struct http_groups *groups)
{
    free(groups->content);
    free(groups->of);
    *groups = (struct http_groups){0};
}

uint32_t http_groups_of_user(const struct http_groups *groups, const char *user,
                             struct text ret_groups[USER_GROUPS_MAX])
{
    size_t first = 0;
    uint32_t count = 0;
    struct text name = text_of(user);
    for (size_t end = groups->count; first < end;) { /* the first that is not before it */
        size_t middle = first + (end - first) / 2;
        if (text_compare(groups->of[middle].user, name) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    for (size_t i = first; i < groups->count && text_equal(groups->of[i].user, name); i++) {
        assert(count < USER_GROUPS_MAX); /* it was checked when the file was read */
        ret_groups[count++] = groups->of[i].group;
    }
    return count;
}
