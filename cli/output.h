/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print: a table for operators, JSON or JSON lines for programs, from the same rows;
 * and how times of the API are shown in tables. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

#include <jansson.h>

struct output_column {
    const char *key;   /* in the row's object; "a.b" is b within a */
    const char *title; /* "ORDER" */
    bool right;        /* numbers are aligned to the right */
};

struct output;

/* New. `columns` are what a table shows (borrowed); JSON shows the whole rows. */
struct output *output_new(FILE *out, enum cli_output format, const struct output_column *columns,
                          size_t column_count);
/* The column is at least this wide: for rows that are printed one by one, before the next is
 * known. */
void output_width(struct output *output, const char *key, size_t width);
/* There will be one row: JSON is that object rather than a list, a table shows its fields one below
 * the other. */
void output_single(struct output *output);
/* A table leaves out columns that are empty in all rows, and shortens its widest texts until a line
 * has at most `line_columns` columns. All rows stay in memory until output_finish(). */
void output_compact(struct output *output, size_t line_columns);
/* A JSON object, stolen; NULL (json_pack failed: text that is not UTF-8) shows an empty one. Unless
 * it is compact, a table is printed in pieces of some hundred rows, so that a long one begins at
 * once and takes little memory. */
void output_row(struct output *output, json_t *row);
/* Prints what is pending, so that a follower sees it now. */
void output_flush(struct output *output);
/* Frees. If `code` is not EXIT_CODE_OK and there was no row, nothing is printed: neither titles nor
 * an empty list. Returns `code`, or EXIT_CODE_INTERNAL if not everything could be written. NULL
 * does nothing. */
int output_finish(struct output *output, int code);

/* All of a JSON list: its items as they are, or in a table the rows that are made of them now.
 * The exit code. */
int output_list(const struct cli *cli, const struct output_column *columns, size_t column_count,
                const json_t *list, json_t *(*row_of)(const json_t *item, int64_t now));

/* Text from elsewhere, safe on a terminal: control characters are shown as '?'. Writes at most
 * `width` columns (0 = all), with "..." where it was cut. */
void output_text(FILE *out, const char *text, size_t width);

/* A time of the API, in milliseconds since the epoch. False: it is none, such as null. */
bool output_read_time(const json_t *time, int64_t *ret_ms);
/* The same for people. All new; "" if it is none. */
json_t *output_time(const json_t *time);             /* "2010-12-01 08:26:03" (UTC) */
json_t *output_time_ms(const json_t *time);          /* "2010-12-01 08:26:03.123" */
json_t *output_age(const json_t *time, int64_t now); /* "12s", "5m", "3h", "4d"; "in 12s" */
/* "350ms", "12s", "5m", "3h", "4d" */
json_t *output_duration(int64_t ms);

#endif
