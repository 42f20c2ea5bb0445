/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of commands: a table for people, JSON or JSON lines for programs, from the same rows. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

#include <jansson.h>

struct output_column {
    const char *key;   /* in the row's object; "a.b" is b within a */
    const char *title; /* "ORDER" */
    bool right;        /* numbers stand at the right */
};

struct output;

/* New. `columns` are what a table shows (borrowed); JSON shows the whole rows. */
struct output *output_new(FILE *out, enum cli_output format, const struct output_column *columns,
                          size_t column_count);
/* The column is at least so wide: for rows that come one by one, as none sees the next. */
void output_width(struct output *output, const char *key, size_t width);
/* There will be one row: JSON is that object rather than a list, a table has its fields one below
 * the other. */
void output_single(struct output *output);
/* A JSON object, stolen; NULL (json_pack failed: text that is not UTF-8) shows an empty one. Tables
 * come in pieces of some hundred rows, so a long answer begins at once and takes little memory. */
void output_row(struct output *output, json_t *row);
/* Prints what is pending, so that a follower sees it now. */
void output_flush(struct output *output);
/* Frees. False: not everything could be written. */
bool output_finish(struct output *output);

/* All of a JSON list: its items as they are, or in a table the rows that are made of them now.
 * The exit code. */
int output_list(const struct cli *cli, const struct output_column *columns, size_t column_count,
                const json_t *list, json_t *(*row_of)(const json_t *item, int64_t now));

/* Texts from elsewhere, safe on a terminal: control characters as '?'. Writes at most `width`
 * columns (0 = all), with "..." where it was cut. */
void output_text(FILE *out, const char *text, size_t width);

#endif
