/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as CSV of RFC 4180, lines ending with a newline alone: the columns of a table, but each with
 * the value at its path rather than what a table shows of it. */
#ifndef CLI_OUTPUT_CSV_H
#define CLI_OUTPUT_CSV_H

#include "cli/output.h"

void output_csv_titles(FILE *out, const struct output_column *columns);
void output_csv_row(FILE *out, const struct output_column *columns, const json_t *row);
/* The value of the first column, and a newline. */
void output_id(FILE *out, const struct output_column *columns, const json_t *row);

#endif
