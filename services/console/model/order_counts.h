/* SPDX-License-Identifier: Apache-2.0 */
/* How many orders there are, by workflow, version and state: kept in memory by each partition as
 * orders change, so that no answer has to count them. */
#ifndef SERVICES_CONSOLE_MODEL_ORDER_COUNTS_H
#define SERVICES_CONSOLE_MODEL_ORDER_COUNTS_H

#include "engine/order.h"

/* Zeros: none. */
struct order_counts {
    struct order_counts_row {
        char workflow[BODY_NAME_BYTES_MAX + 1];
        uint32_t workflow_size; /* names from the log may hold zeros */
        uint32_t version;
        uint64_t by_state[ORDER_STATE_COUNT];
    } * rows; /* by name, then version */
    uint32_t row_count;
    uint64_t by_state[ORDER_STATE_COUNT];  /* roots, over all workflows */
    uint64_t suborders[ORDER_STATE_COUNT]; /* the others: of bodies */
    uint64_t open_alerts;                  /* of all of them */
};

/* `by` more orders of the version are in this state; negative: fewer. */
void order_counts_add(struct order_counts *counts, struct text workflow, uint32_t version,
                      enum order_state state, int64_t by);
/* Adds all of `more`. */
void order_counts_merge(struct order_counts *counts, const struct order_counts *more);
/* NULL: there never was an order of the version. */
const struct order_counts_row *order_counts_find(const struct order_counts *counts,
                                                 struct text workflow, uint32_t version);
/* Of all its versions. */
uint64_t order_counts_of_workflow(const struct order_counts *counts, struct text workflow);
struct text order_counts_name(const struct order_counts_row *row);
/* Empty afterwards. */
void order_counts_deinit(struct order_counts *counts);

/* Those that have not ended. */
uint64_t order_counts_unfinished(const uint64_t by_state[ORDER_STATE_COUNT]);

#endif
