/* SPDX-License-Identifier: Apache-2.0 */
/* How many orders there are, by workflow and state: kept in memory while folding. */
#ifndef SERVICES_CONSOLE_COUNTS_H
#define SERVICES_CONSOLE_COUNTS_H

#include "engine/order.h"

struct counts;

struct counts_row {
    char workflow[NAME_BYTES_MAX + 1];
    uint64_t by_state[ORDER_STATE_COUNT];
};

struct counts *counts_new(void);
void counts_free(struct counts *counts);
void counts_clear(struct counts *counts);

/* An order of the workflow is in this state (1), or no longer is (-1). */
void counts_add(struct counts *counts, struct text workflow, enum order_state state, int64_t by);
/* Adds all of `more`. */
void counts_merge(struct counts *counts, const struct counts *more);

/* Over all workflows. */
const uint64_t *counts_by_state(const struct counts *counts);
uint64_t counts_of_workflow(const struct counts *counts, struct text workflow);
/* Rows by name; NULL when there are no more. Borrowed until the next change. */
const struct counts_row *counts_at(struct counts *counts, uint32_t index);

#endif
