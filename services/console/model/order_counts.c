/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/order_counts.h"

#include "base/names.h"

#include <assert.h>
#include <stdlib.h>

struct text order_counts_name(const struct order_counts_row *row)
{
    return (struct text){row->workflow, row->workflow_size};
}

static int compare(const struct order_counts_row *row, struct text workflow, uint32_t version)
{
    int order = text_compare(order_counts_name(row), workflow);
    return order != 0 ? order : (row->version > version) - (row->version < version);
}

/* The first row that is not before the version's. */
static uint32_t row_place(const struct order_counts *counts, struct text workflow, uint32_t version)
{
    uint32_t low = 0;
    uint32_t high = counts->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&counts->rows[middle], workflow, version) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool row_is_at(const struct order_counts *counts, uint32_t at, struct text workflow,
                      uint32_t version)
{
    return at < counts->row_count && compare(&counts->rows[at], workflow, version) == 0;
}

void order_counts_add(struct order_counts *counts, struct text workflow, uint32_t version,
                      enum order_state state, int64_t by)
{
    uint32_t at = row_place(counts, workflow, version);
    assert(workflow.size <= BODY_NAME_BYTES_MAX && (unsigned)state < ORDER_STATE_COUNT);
    if (!row_is_at(counts, at, workflow, version)) {
        counts->rows = reallocarray(counts->rows, counts->row_count + 1, sizeof(counts->rows[0]));
        assert(counts->rows != NULL);
        memmove(&counts->rows[at + 1], &counts->rows[at],
                (counts->row_count++ - at) * sizeof(counts->rows[0]));
        counts->rows[at] =
            (struct order_counts_row){.workflow_size = workflow.size, .version = version};
        if (workflow.size > 0)
            memcpy(counts->rows[at].workflow, workflow.data, workflow.size);
    }
    struct order_counts_row *row = &counts->rows[at];
    assert(by >= 0 || row->by_state[state] >= (uint64_t)-by);
    row->by_state[state] += (uint64_t)by;
    uint64_t *all = workflow_name_is_body(workflow) ? counts->suborders : counts->by_state;
    all[state] += (uint64_t)by;
}

void order_counts_merge(struct order_counts *counts, const struct order_counts *more)
{
    for (uint32_t i = 0; i < more->row_count; i++)
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            order_counts_add(counts, order_counts_name(&more->rows[i]), more->rows[i].version,
                             (enum order_state)state, (int64_t)more->rows[i].by_state[state]);
    counts->open_alerts += more->open_alerts;
}

const struct order_counts_row *order_counts_find(const struct order_counts *counts,
                                                 struct text workflow, uint32_t version)
{
    uint32_t at = row_place(counts, workflow, version);
    return row_is_at(counts, at, workflow, version) ? &counts->rows[at] : NULL;
}

uint64_t order_counts_of_workflow(const struct order_counts *counts, struct text workflow)
{
    uint64_t sum = 0;
    for (uint32_t i = row_place(counts, workflow, 0);
         i < counts->row_count && text_equal(order_counts_name(&counts->rows[i]), workflow); i++)
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            sum += counts->rows[i].by_state[state];
    return sum;
}

void order_counts_deinit(struct order_counts *counts)
{
    free(counts->rows);
    *counts = (struct order_counts){.rows = NULL};
}

uint64_t order_counts_unfinished(const uint64_t by_state[ORDER_STATE_COUNT])
{
    return by_state[ORDER_PENDING] + by_state[ORDER_PROCESSING] + by_state[ORDER_HELD] +
           by_state[ORDER_COMPENSATING] + by_state[ORDER_ERROR];
}
