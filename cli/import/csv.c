/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as a stream. See csv.h.
 *
 * The buffer always holds the row that is being read from its first byte on: it is scanned for its
 * end first, without touching it, and unquoted in place afterwards. */
#include "cli/import/csv.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BUFFER_SIZE = 64 * 1024 };

struct csv_reader {
    FILE *in;
    char delimiter;
    bool at_end; /* `in` is read to its end */
    bool began;  /* past a byte order mark */
    char *buffer;
    size_t capacity;
    size_t from; /* of the row */
    size_t size; /* of what is in the buffer */
    int64_t line;
    struct text fields[CSV_FIELDS_MAX];
};

/* How a row ends, as offsets from its start. */
struct extent {
    size_t size; /* without its line end */
    size_t next; /* where the next row begins */
    int64_t lines;
    const char *mistake; /* NULL = none */
};

struct csv_reader *csv_reader_new(FILE *in, char delimiter)
{
    struct csv_reader *reader = calloc(1, sizeof(*reader));
    assert(reader != NULL);
    reader->in = in;
    reader->delimiter = delimiter;
    reader->line = 1;
    reader->capacity = BUFFER_SIZE;
    reader->buffer = malloc(reader->capacity);
    assert(reader->buffer != NULL);
    return reader;
}

void csv_reader_free(struct csv_reader *reader)
{
    if (reader == NULL)
        return;
    free(reader->buffer);
    free(reader);
}

/* More bytes behind those that are there. False: the file cannot be read. */
static bool fill(struct csv_reader *reader)
{
    assert(reader->from <= reader->size && reader->size <= reader->capacity);
    if (reader->from > 0) {
        memmove(reader->buffer, reader->buffer + reader->from, reader->size - reader->from);
        reader->size -= reader->from;
        reader->from = 0;
    }
    if (reader->size == reader->capacity) {
        reader->capacity *= 2;
        reader->buffer = realloc(reader->buffer, reader->capacity);
        assert(reader->buffer != NULL);
    }
    size_t got =
        fread(reader->buffer + reader->size, 1, reader->capacity - reader->size, reader->in);
    reader->size += got;
    reader->at_end = got == 0;
    return got > 0 || ferror(reader->in) == 0;
}

static void skip_byte_order_mark(struct csv_reader *reader)
{
    if (reader->size >= 3 && memcmp(reader->buffer, "\xef\xbb\xbf", 3) == 0)
        reader->from = 3;
    reader->began = true;
}

/* Whether a carriage return belongs to the line end (if that is in the buffer). */
static bool ends_line(const char *row, size_t at, size_t left)
{
    return row[at] == '\r' && (at + 1 == left || row[at + 1] == '\n');
}

/* Ends the row at the first line end that is not within quotes. False: it is not in the buffer. */
static bool scan_row(const struct csv_reader *reader, struct extent *ret_extent)
{
    const char *row = reader->buffer + reader->from;
    size_t left = reader->size - reader->from;
    struct extent extent = {.lines = 1};
    bool quoted = false, field_start = true, closed = false;
    size_t at = 0;
    for (; at < left && (quoted || row[at] != '\n'); at++) {
        char c = row[at];
        if (quoted) {
            bool doubled = c == '"' && at + 1 < left && row[at + 1] == '"';
            extent.lines += c == '\n';
            quoted = c != '"' || doubled;
            closed = !quoted;
            at += doubled;
        } else if (field_start && c == '"') {
            quoted = true;
        } else if (closed && c != reader->delimiter && !ends_line(row, at, left)) {
            extent.mistake = "text after a closing quote";
        } else {
            closed = closed && c == '\r';
        }
        field_start = !quoted && c == reader->delimiter;
    }
    if (at == left && !reader->at_end)
        return false;
    if (quoted)
        extent.mistake = "a quote is never closed";
    else if (at > CSV_ROW_BYTES_MAX)
        extent.mistake = "the row is too long";
    extent.next = at < left ? at + 1 : at;
    extent.size = at > 0 && row[at - 1] == '\r' && !quoted ? at - 1 : at;
    *ret_extent = extent;
    return true;
}

/* Of a bad row only the first line is skipped. */
static void skip_line(struct csv_reader *reader)
{
    const char *end = NULL;
    for (bool more = true; more && end == NULL;) {
        const char *at = reader->buffer + reader->from;
        end = memchr(at, '\n', reader->size - reader->from);
        reader->from = end != NULL ? (size_t)(end + 1 - reader->buffer) : reader->size;
        more = end == NULL && !reader->at_end && fill(reader);
    }
    reader->line += 1;
}

/* Unquotes the row in place. False: too many fields. */
static bool split_row(struct csv_reader *reader, const struct extent *extent, size_t *ret_count)
{
    char *at = reader->buffer + reader->from, *end = at + extent->size;
    size_t count = 0;
    for (bool more = true; more; count++) {
        if (count == CSV_FIELDS_MAX)
            return false;
        char *field = at, *to = at;
        if (at < end && *at == '"') {
            for (at++; *at != '"' || (at + 1 < end && at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            at++;
        } else {
            while (at < end && *at != reader->delimiter)
                at++;
            to = at;
        }
        reader->fields[count] = (struct text){field, (uint32_t)(to - field)};
        more = at < end;
        at++;
    }
    *ret_count = count;
    return true;
}

/* Reads on until the row's end is in the buffer. */
static enum csv_result find_row(struct csv_reader *reader, struct extent *ret_extent,
                                struct error *ret_error)
{
    for (;;) {
        if (reader->began && (reader->size > reader->from || reader->at_end) &&
            scan_row(reader, ret_extent))
            return ret_extent->next == 0 ? CSV_END : CSV_ROW;
        if (reader->size - reader->from > CSV_ROW_BYTES_MAX) {
            error_set(ret_error, CODE_BAD_CSV,
                      "the row is longer than %d bytes: check for a quote that is never closed",
                      CSV_ROW_BYTES_MAX);
            return CSV_BAD_ROW;
        }
        if (!fill(reader)) {
            error_set_as(ret_error, ERROR_FATAL, CODE_UNREADABLE,
                         "cannot read the file to its end: %s", strerror(errno));
            return CSV_UNREADABLE;
        }
        if (!reader->began)
            skip_byte_order_mark(reader);
    }
}

static enum csv_result take_row(struct csv_reader *reader, const struct extent *extent,
                                struct csv_row *row, struct error *ret_error)
{
    const char *mistake = extent->mistake;
    if (mistake == NULL && !split_row(reader, extent, &row->count))
        mistake = "too many fields";
    if (mistake != NULL) {
        error_set(ret_error, CODE_BAD_CSV, "not CSV: %s", mistake);
        skip_line(reader);
        return CSV_BAD_ROW;
    }
    assert(row->count <= CSV_FIELDS_MAX && reader->from + extent->next <= reader->size);
    row->fields = reader->fields;
    reader->from += extent->next;
    reader->line += extent->lines;
    return CSV_ROW;
}

enum csv_result csv_reader_next(struct csv_reader *reader, struct csv_row *ret_row,
                                struct error *ret_error)
{
    for (;;) {
        struct extent extent = {0};
        enum csv_result result = find_row(reader, &extent, ret_error);
        ret_row->line = reader->line;
        if (result == CSV_BAD_ROW)
            skip_line(reader);
        if (result != CSV_ROW)
            return result;
        if (extent.size > 0 || extent.mistake != NULL)
            return take_row(reader, &extent, ret_row, ret_error);
        reader->from += extent.next;
        reader->line += extent.lines;
    }
}

void csv_write_field(FILE *out, struct text field)
{
    bool plain = true;
    for (uint32_t i = 0; i < field.size && plain; i++)
        plain = strchr("\",\r\n", field.data[i]) == NULL && field.data[i] != '\0';
    if (plain) {
        fprintf(out, "%.*s", TEXT_ARG(field));
        return;
    }
    fputc('"', out);
    for (uint32_t i = 0; i < field.size; i++) {
        if (field.data[i] == '"')
            fputc('"', out);
        fputc(field.data[i], out);
    }
    fputc('"', out);
}
