/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/http/access_lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum error_class access_lines_read(const struct access_lines_kind *kind, const char *path,
                                   bool change, char **ret_content, size_t *ret_size,
                                   struct files_owner *ret_owner, struct error *ret_error)
{
    struct error error;
    if (files_read_owned(path, change, kind->bytes_max, ret_content, ret_size, ret_owner, &error) !=
        ERROR_OK)
        return error_set(ret_error, CODE_CONFIG, "%s", error.message);
    if ((ret_owner->mode & (S_IWGRP | S_IWOTH)) == 0)
        return ERROR_OK;
    free(*ret_content);
    *ret_content = NULL;
    return error_set(ret_error, CODE_CONFIG,
                     "%s: others than its owner may write it (mode %04o), and so give themselves "
                     "%s: chmod go-w",
                     path, (unsigned)ret_owner->mode, kind->danger);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct text access_line_take(struct text *rest)
{
    const char *end = memchr(rest->data, '\n', rest->size);
    uint32_t size = end != NULL ? (uint32_t)(end - rest->data) : rest->size;
    struct text line = {rest->data, size};
    *rest = text_from(*rest, size + (end != NULL));
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

bool access_line_is_skipped(struct text line)
{
    struct text field = access_field_take(&line);
    return text_empty(field) || field.data[0] == '#';
}

struct text access_field_take(struct text *line)
{
    uint32_t begin = 0;
    while (begin < line->size && is_blank(line->data[begin]))
        begin++;
    uint32_t end = begin;
    while (end < line->size && !is_blank(line->data[end]))
        end++;
    struct text field = {line->data + begin, end - begin};
    *line = text_from(*line, end);
    return field;
}
