/* SPDX-License-Identifier: Apache-2.0 */
/* See journal.h. */
#include "kafka/embedded/journal.h"

#include "platform/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 256 << 20, LONG_AT_LEAST = 4 << 20, LONG_FACTOR = 4 };

static enum error_class read_lines(const char *path, const char *content, size_t size,
                                   void (*each)(void *ctx, const json_t *line), void *ctx,
                                   struct error *ret_error)
{
    const char *end;
    int number = 1;
    for (const char *at = content; (end = memchr(at, '\n', size)) != NULL; at = end + 1) {
        json_error_t where;
        json_t *line = json_loadb(at, (size_t)(end - at), 0, &where);
        size -= (size_t)(end + 1 - at);
        if (!json_is_object(line)) {
            json_decref(line);
            return error_set_as(ret_error, ERROR_FATAL, CODE_EMBEDDED,
                                "%s is damaged at line %d: restore it, or delete the state", path,
                                number);
        }
        each(ctx, line);
        json_decref(line);
        number++;
    }
    return ERROR_OK;
}

static bool open_file(struct journal *journal)
{
    journal->fd = open(journal->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    return journal->fd >= 0;
}

enum error_class journal_open(struct journal *journal, const char *path,
                              void (*each)(void *ctx, const json_t *line), void *ctx,
                              struct error *ret_error)
{
    char *content = NULL;
    size_t size = 0;
    enum error_class class = ERROR_OK;
    *journal = (struct journal){.fd = -1};
    if (path == NULL)
        return ERROR_OK;
    if (files_exists(path))
        class = files_read(path, FILE_MAX, &content, &size, ret_error);
    if (class == ERROR_OK && content != NULL)
        class = read_lines(path, content, size, each, ctx, ret_error);
    free(content);
    if (class != ERROR_OK)
        return class;
    journal->path = strdup(path);
    assert(journal->path != NULL);
    return ERROR_OK;
}

bool journal_add(struct journal *journal, json_t *line)
{
    struct buffer text = {0};
    journal_print(&text, line);
    bool done =
        journal->path == NULL || write(journal->fd, text.data, text.size) == (ssize_t)text.size;
    if (done)
        journal->size += text.size;
    else if (ftruncate(journal->fd, (off_t)journal->size) != 0)
        done = false; /* the rest of a line is cut off at the next start */
    buffer_deinit(&text);
    return done;
}

bool journal_is_long(const struct journal *journal)
{
    return journal->size > LONG_AT_LEAST && journal->size / LONG_FACTOR > journal->rewritten_size;
}

void journal_print(struct buffer *lines, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    assert(text != NULL);
    buffer_append(lines, text, strlen(text));
    buffer_append(lines, "\n", 1);
    free(text);
    json_decref(line);
}

enum error_class journal_rewrite(struct journal *journal, const struct buffer *lines,
                                 struct error *ret_error)
{
    if (journal->path == NULL)
        return ERROR_OK;
    enum error_class class = files_write_atomic(
        journal->path, (struct text){(const char *)lines->data, (uint32_t)lines->size}, ret_error);
    if (class != ERROR_OK)
        return class;
    if (journal->fd >= 0)
        close(journal->fd);
    journal->size = lines->size;
    journal->rewritten_size = lines->size;
    if (!open_file(journal))
        return error_set_as(ret_error, ERROR_FATAL, CODE_EMBEDDED, "cannot open %s: %s",
                            journal->path, strerror(errno));
    return ERROR_OK;
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->path);
    *journal = (struct journal){.fd = -1};
}
