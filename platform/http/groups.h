/* SPDX-License-Identifier: Apache-2.0 */
/* The groups that users are in: a text file with a line for each group, or several.
 *
 *     GROUP NAME [NAME ...]
 *
 * A NAME is that of a token, or a user of a trusted proxy; blanks separate names, so a name with a
 * blank can be in no group. Empty lines and lines that begin with # are skipped. */
#ifndef PLATFORM_HTTP_GROUPS_H
#define PLATFORM_HTTP_GROUPS_H

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_GROUP_FILE_MAX = 1024 * 1024, /* bytes */
    HTTP_MEMBERS_MAX = 20000           /* users of all groups together; of each: USER_GROUPS_MAX */
};

struct http_member {
    struct text user; /* of `content` */
    struct text group;
};

/* All zero = no groups. */
struct http_groups {
    char *content;
    struct http_member *of; /* by user, then by group */
    size_t count;
};

/* Errors are of class REJECT, code Config, and name the file, and the line or the user. A file that
 * others than its owner may write is refused. Freed by http_groups_deinit(). */
enum error_class http_groups_read(const char *path, struct http_groups *ret_groups,
                                  struct error *ret_error);
void http_groups_deinit(struct http_groups *groups);

/* How many, sorted; borrowed from `groups`. */
uint32_t http_groups_of_user(const struct http_groups *groups, const char *user,
                             struct text ret_groups[USER_GROUPS_MAX]);

#endif
