/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSV by RFC 4180 as a stream: quotes, doubled quotes, delimiters and line ends within
 * quotes, CRLF or LF, a byte order mark at the start. Memory is bounded by CSV_ROW_BYTES_MAX.
 *
 * Lenient in one point: a quote inside an unquoted field stands for itself. Of a row that cannot be
 * read only the first line is skipped: lines after a quote that is never closed are read again. */
#ifndef CLI_IMPORT_CSV_H
#define CLI_IMPORT_CSV_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSV_ROW_BYTES_MAX = 1 << 20, CSV_FIELDS_MAX = 1024 };

struct csv_reader;

struct csv_row {
    const struct text *fields; /* unquoted; borrowed until the next call */
    size_t count;
    int64_t line; /* where it begins; from 1 */
};

/* New. `in` is borrowed and read from its present position. */
struct csv_reader *csv_reader_new(FILE *in, char delimiter);
void csv_reader_free(struct csv_reader *reader);

enum csv_result {
    CSV_ROW,
    CSV_END,
    CSV_BAD_ROW,   /* REJECT; ret_row->line is set, the next row can be read */
    CSV_UNREADABLE /* the file cannot be read (any more) */
};
/* The next row that is not empty. */
enum csv_result csv_reader_next(struct csv_reader *reader, struct csv_row *ret_row,
                                struct error *ret_error);

/* Writes one field, quoted where it must be (delimiter ','). */
void csv_write_field(FILE *out, struct text field);

#endif
