/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that are made when a command runs: of --fields, or of what a row has. */
#ifndef CLI_OUTPUT_CHOSEN_H
#define CLI_OUTPUT_CHOSEN_H

#include "cli/output.h"

struct output_chosen {
    struct output_column *columns; /* ends with a row without a title; owned, as all of it */
    size_t count;
    bool *found; /* for each, whether some row had it */
    char *names;
};

/* New: a column for each path in "order_id,steps.0.name". */
struct output_chosen *output_chosen_new(const char *fields);
/* New: a column for each field of the row. */
struct output_chosen *output_chosen_of(const json_t *row);
/* NULL does nothing. */
void output_chosen_free(struct output_chosen *chosen);
/* New: the fields of the row that are chosen, by their paths. */
json_t *output_chosen_row(struct output_chosen *chosen, const json_t *row);
/* Warns of fields that no row had: mistyped, or something that other rows have. */
void output_chosen_check(const struct output_chosen *chosen, const struct cli *cli);

#endif
