/* SPDX-License-Identifier: Apache-2.0 */
/* See header_lines.h. */
#include "platform/http/header_lines.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const reserved[] = {
    "accept", "connection",      "content-length", "content-type",      "expect",
    "host",   "idempotency-key", "traceparent",    "transfer-encoding", "upgrade"};

static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return size > 0 && size <= 100;
}

static bool is_reserved(const char *name, size_t size)
{
    if (size >= 6 && strncasecmp(name, "reeve-", 6) == 0)
        return true;
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (strlen(reserved[i]) == size && strncasecmp(name, reserved[i], size) == 0)
            return true;
    return false;
}

static bool is_value(const char *text)
{
    size_t blanks = strspn(text, " \t");
    for (const char *at = text; *at != '\0'; at++)
        if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    return text[blanks] != '\0';
}

static enum error_class check_line(const char *setting, const char *line, uint32_t number,
                                   struct error *ret_error)
{
    size_t size = strcspn(line, ":");
    if (line[size] == '\0' || !is_name(line, size) || !is_value(line + size + 1))
        return error_set(ret_error, CODE_CONFIG, "%s: header %u is not a line like NAME: VALUE",
                         setting, number);
    if (is_reserved(line, size))
        return error_set(ret_error, CODE_CONFIG, "%s: %.*s is set by reeve itself: remove it",
                         setting, (int)size, line);
    return ERROR_OK;
}

enum error_class header_lines_parse(const char *setting, const char *text,
                                    struct header_lines *ret_headers, struct error *ret_error)
{
    struct header_lines headers = {.text = strdup(text)};
    enum error_class class = ERROR_OK;
    assert(headers.text != NULL);
    char *rest = headers.text;
    for (char *line; class == ERROR_OK && (line = strsep(&rest, "\n")) != NULL;) {
        size_t size = strlen(line);
        if (size > 0 && line[size - 1] == '\r')
            line[--size] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (headers.count == HEADER_LINES_MAX)
            class = error_set(ret_error, CODE_CONFIG, "%s has more than %d headers", setting,
                              HEADER_LINES_MAX);
        else
            class = check_line(setting, line, headers.count + 1, ret_error);
        if (class == ERROR_OK)
            headers.lines[headers.count++] = line;
    }
    if (class != ERROR_OK) {
        header_lines_deinit(&headers);
        return class;
    }
    *ret_headers = headers;
    return ERROR_OK;
}

void header_lines_deinit(struct header_lines *headers)
{
    free(headers->text);
    *headers = (struct header_lines){.text = NULL};
}
