/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print: JSON, JSON lines, YAML, CSV or ids for programs, and for operators a table
 * of the same rows, in which each column shows what is at its path. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

#include <jansson.h>

enum { OUTPUT_CELL_SIZE = 1024 };

/* What a cell shows of a value (NULL: the row has none): new; NULL and null are an empty cell. */
typedef json_t *output_format(const json_t *value);

/* A table of columns ends with a row without a title. */
struct output_column {
    const char *title; /* "ORDER" */
    const char *path;  /* in the row: "a.b" is b within a, "a.0" the first of a; "" is the row */
    output_format *format;
    bool right; /* numbers are aligned to the right */
};

/* What is at the path, borrowed; NULL: nothing. */
const json_t *output_at(const json_t *row, const char *path);
/* As it is: text, a number, yes or no. */
json_t *output_value(const json_t *value);
/* As JSON in one line, with all its digits; an empty cell for an empty object. */
json_t *output_data(const json_t *data);
/* Of a time of the API. */
json_t *output_time(const json_t *time);                /* "2010-12-01 08:26:03" (UTC) */
json_t *output_time_ms(const json_t *time);             /* "2010-12-01 08:26:03.123" */
json_t *output_age(const json_t *time);                 /* "12s", "5m", "3h", "4d"; "in 12s" */
json_t *output_age_at(const json_t *time, int64_t now); /* for tests */
/* Of milliseconds: "350ms", "12s", "5m", "3h", "4d" */
json_t *output_duration(const json_t *ms);
/* "CODE: MESSAGE" of two texts in an object, one of them, or "". */
json_t *output_pair(const json_t *object, const char *code, const char *message);
/* A time of the API, in milliseconds since the epoch. False: it is not one, such as null. */
bool output_read_time(const json_t *time, int64_t *ret_ms);

struct output;

/* New. `columns` (borrowed) are what a table and CSV show, NULL without one; JSON and YAML show
 * whole rows. With --fields, those are the columns, and the fields of rows. Borrows `cli`. */
struct output *output_new(const struct cli *cli, const struct output_column *columns);
/* The table leaves the column out. */
void output_hide(struct output *output, const char *title);
/* The column is at least this wide: for rows that are printed one by one, before the next is
 * known. */
void output_width(struct output *output, const char *title, size_t width);
/* The rows that follow are of another kind: other columns under the same titles. */
void output_columns(struct output *output, const struct output_column *columns);
/* There will be one row: JSON is that object rather than a list, a table shows its fields one below
 * the other. */
void output_single(struct output *output);
/* A table leaves out columns that are empty in all rows, and shortens its widest texts until a line
 * has at most `line_columns` columns. All rows stay in memory until output_finish(). */
void output_compact(struct output *output, size_t line_columns);
/* A table without rows prints nothing, rather than its titles. */
void output_omit_empty(struct output *output);
/* A JSON object, stolen; NULL (json_pack failed: text that is not UTF-8) shows an empty one. Unless
 * it is compact, a table is printed in pieces of some hundred rows, so that a long one begins at
 * once and takes little memory. */
void output_row(struct output *output, json_t *row);
/* All of a JSON list. */
void output_rows(struct output *output, const json_t *list);
/* Prints what is pending, so that a follower sees it now. */
void output_flush(struct output *output);
/* Frees. If `code` is not EXIT_CODE_OK and there was no row, nothing is printed: neither titles nor
 * an empty list. Returns `code`, or EXIT_CODE_INTERNAL if not everything could be written. NULL
 * does nothing. */
int output_finish(struct output *output, int code);

/* A list and nothing else; the exit code. */
int output_list(const struct cli *cli, const struct output_column *columns, const json_t *list);
/* The one row, stolen: an object, or its fields one below the other. The exit code. */
int output_one(const struct cli *cli, const struct output_column *columns, json_t *row);
/* What a table shows in a column of the row; it is safe on a terminal. */
void output_cell(const struct output_column *column, const json_t *row,
                 char ret_cell[OUTPUT_CELL_SIZE]);
/* Of a row, the fields that are not empty, one below the other: titles have `width` columns. */
void output_fields(const struct cli *cli, const struct output_column *fields, int width,
                   const json_t *row);

/* Text from elsewhere, safe on a terminal: control characters are shown as '?'. Writes at most
 * `width` columns, with "..." where it was cut; 0: at most OUTPUT_CELL_SIZE - 1 bytes. */
void output_text(FILE *out, const char *text, size_t width);
/* The same, all of it. */
void output_whole_text(FILE *out, const char *text);
/* `text` as one word of a POSIX shell. */
void output_quoted(FILE *out, const char *text);

#endif
