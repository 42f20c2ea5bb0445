/* SPDX-License-Identifier: Apache-2.0 */
/* See orders_file.h. */
#include "cli/submit/orders_file.h"

#include "base/heap_arena.h"
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct orders_file {
    FILE *in;
    bool lines;
    bool began;
    char *line; /* getdelim's */
    size_t capacity;
    ssize_t size; /* of the line that waits, -1 = none */
    int64_t number;
    int64_t bytes;
    struct heap_arena heap;  /* of what is canonical */
    struct text document;    /* the whole file, unless it is JSON lines */
    struct json_items items; /* of the document, if it is a list */
    int64_t taken;           /* orders of the document */
};

FILE *orders_file_open(const char *path, struct error *ret_error)
{
    struct stat status;
    FILE *in = fopen(path, "re");
    if (in != NULL && fstat(fileno(in), &status) == 0 && S_ISDIR(status.st_mode)) {
        fclose(in);
        in = NULL;
        errno = EISDIR;
    }
    if (in == NULL)
        error_set(ret_error, CODE_NO_FILE, "cannot read %.200s: %s", path, strerror(errno));
    return in;
}

struct orders_file *orders_file_new(FILE *in, bool lines)
{
    struct orders_file *file = calloc(1, sizeof(*file));
    assert(file != NULL);
    file->in = in;
    file->lines = lines;
    heap_arena_init(&file->heap, 64 * 1024);
    return file;
}

void orders_file_free(struct orders_file *file)
{
    if (file == NULL)
        return;
    heap_arena_deinit(&file->heap);
    free(file->line);
    free(file);
}

int64_t orders_file_bytes(const struct orders_file *file)
{
    return file->bytes;
}

/* Reads up to a line end, bounded. False at the end of the file, or, with *ret_error set, when it
 * cannot be read. */
static bool read_line(struct orders_file *file, struct error *ret_error)
{
    errno = 0;
    file->size = 0;
    for (int c; (c = getc_unlocked(file->in)) != EOF;) {
        if ((size_t)file->size + 1 >= file->capacity) {
            file->capacity = file->capacity > 0 ? 2 * file->capacity : 4096;
            file->line = realloc(file->line, file->capacity);
            assert(file->line != NULL);
        }
        if (file->size < ORDERS_FILE_LINE_MAX)
            file->line[file->size++] = (char)c;
        file->bytes++;
        if (c == '\n')
            break;
    }
    if (ferror(file->in))
        error_set_as(ret_error, ERROR_FATAL, CODE_UNREADABLE, "cannot read the file to its end: %s",
                     strerror(errno));
    if (file->size == 0)
        return false;
    file->number++;
    return true;
}

static bool is_blank(const struct orders_file *file)
{
    bool blank = true;
    for (ssize_t i = 0; i < file->size && blank; i++)
        blank = strchr(" \t\r\n", file->line[i]) != NULL && file->line[i] != '\0';
    return blank;
}

static bool parse(struct orders_file *file, struct text json, struct text *ret_text,
                  struct error *ret_error)
{
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    heap_arena_reset(&file->heap);
    if (json_envelope(json, &file->heap.arena, ret_text, &problem))
        return true;
    json_problem_format(&problem, "order", line);
    error_set(ret_error, CODE_BAD_JSON, "not JSON: %s", line);
    return false;
}

static enum orders_file_result parse_line(struct orders_file *file, struct text *ret_order,
                                          struct error *ret_error)
{
    if (file->size >= ORDERS_FILE_LINE_MAX) {
        error_set(ret_error, CODE_BAD_JSON, "the line is longer than %d bytes",
                  ORDERS_FILE_LINE_MAX);
        return ORDERS_FILE_BAD;
    }
    struct text line = {file->line, (uint32_t)file->size};
    return parse(file, line, ret_order, ret_error) ? ORDERS_FILE_ORDER : ORDERS_FILE_BAD;
}

static enum orders_file_result next_line(struct orders_file *file, struct text *ret_order,
                                         int64_t *ret_line, struct error *ret_error)
{
    struct error error = {0};
    do {
        if (!read_line(file, &error)) {
            *ret_line = file->number;
            *ret_error = error;
            return error.class == ERROR_OK ? ORDERS_FILE_END : ORDERS_FILE_UNREADABLE;
        }
    } while (is_blank(file));
    *ret_line = file->number;
    return parse_line(file, ret_order, ret_error);
}

/* ---- one document ---- */

static bool append_rest(struct orders_file *file, char **text, size_t *size)
{
    char piece[64 * 1024];
    size_t got;
    while ((got = fread(piece, 1, sizeof(piece), file->in)) > 0) {
        if (*size + got > ORDERS_FILE_DOCUMENT_MAX)
            return false;
        *text = realloc(*text, *size + got);
        assert(*text != NULL);
        memcpy(*text + *size, piece, got);
        *size += got;
        file->bytes += (int64_t)got;
    }
    return true;
}

/* The first line is not JSON by itself: it begins a document of several lines. */
static enum orders_file_result read_document(struct orders_file *file, struct error *ret_error)
{
    size_t size = (size_t)file->size;
    char *text = malloc(size + 1);
    assert(text != NULL);
    memcpy(text, file->line, size);
    if (!append_rest(file, &text, &size)) {
        error_set(ret_error, CODE_BAD_JSON,
                  "the document is larger than %d MiB: write one order a line instead",
                  ORDERS_FILE_DOCUMENT_MAX >> 20);
        free(text);
        return ORDERS_FILE_BAD;
    }
    bool good = parse(file, (struct text){text, (uint32_t)size}, &file->document, ret_error);
    if (good) /* it may be the text itself */
        file->document = arena_text(&file->heap.arena, file->document);
    free(text);
    return good ? ORDERS_FILE_ORDER : ORDERS_FILE_BAD;
}

static bool is_list(struct text document)
{
    return json_value_kind(json_value_of(document)) == JSON_KIND_LIST;
}

static enum orders_file_result next_of_document(struct orders_file *file, struct text *ret_order,
                                                int64_t *ret_line)
{
    bool list = is_list(file->document);
    if (list ? !json_items_next(&file->items, NULL) : file->taken > 0)
        return ORDERS_FILE_END;
    *ret_order = list ? json_value_text(file->items.value, NULL) : file->document;
    *ret_line = ++file->taken;
    return ORDERS_FILE_ORDER;
}

/* Checks the first line: an object of its own begins JSON lines. */
static enum orders_file_result begin(struct orders_file *file, struct text *ret_order,
                                     int64_t *ret_line, struct error *ret_error)
{
    enum orders_file_result result = next_line(file, ret_order, ret_line, ret_error);
    file->began = true;
    if (file->lines || result == ORDERS_FILE_END || result == ORDERS_FILE_UNREADABLE)
        return result;
    bool whole = result == ORDERS_FILE_ORDER; /* a value of its own */
    if (whole && json_value_kind(json_value_of(*ret_order)) == JSON_KIND_MAP) {
        file->lines = true;
        return result;
    }
    if (whole) {
        file->document = *ret_order;
    } else {
        result = read_document(file, ret_error);
        if (result != ORDERS_FILE_ORDER)
            return result;
    }
    json_items_begin(&file->items, json_value_of(file->document));
    return next_of_document(file, ret_order, ret_line);
}

enum orders_file_result orders_file_next(struct orders_file *file, struct text *ret_order,
                                         int64_t *ret_line, struct error *ret_error)
{
    if (!file->began)
        return begin(file, ret_order, ret_line, ret_error);
    if (file->document.size > 0)
        return next_of_document(file, ret_order, ret_line);
    return next_line(file, ret_order, ret_line, ret_error);
}
