/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/counts.h"

#include <assert.h>
#include <stdlib.h>

/* A handful of workflows: rows sorted by name, the last one looked up is tried first. */
struct counts {
    struct counts_row *rows;
    uint32_t count;
    uint32_t last;
    uint64_t by_state[ORDER_STATE_COUNT];
};

struct counts *counts_new(void)
{
    struct counts *counts = calloc(1, sizeof(*counts));
    assert(counts != NULL);
    return counts;
}

void counts_free(struct counts *counts)
{
    if (counts == NULL)
        return;
    free(counts->rows);
    free(counts);
}

void counts_clear(struct counts *counts)
{
    free(counts->rows);
    *counts = (struct counts){.rows = NULL};
}

/* The row, or where it would be. */
static uint32_t place_of(const struct counts *counts, struct text workflow, bool *ret_found)
{
    uint32_t from = 0;
    uint32_t until = counts->count;
    while (from < until) {
        uint32_t middle = from + (until - from) / 2;
        int order = text_compare(text_of(counts->rows[middle].workflow), workflow);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            from = middle + 1;
        else
            until = middle;
    }
    *ret_found = false;
    return from;
}

static struct counts_row *row_of(struct counts *counts, struct text workflow)
{
    bool found = counts->last < counts->count &&
                 text_equal(text_of(counts->rows[counts->last].workflow), workflow);
    if (found)
        return &counts->rows[counts->last];
    uint32_t place = place_of(counts, workflow, &found);
    counts->last = place;
    if (found)
        return &counts->rows[place];
    assert(workflow.size <= NAME_BYTES_MAX);
    counts->rows = reallocarray(counts->rows, counts->count + 1, sizeof(counts->rows[0]));
    assert(counts->rows != NULL);
    struct counts_row *row = &counts->rows[place];
    memmove(row + 1, row, (counts->count - place) * sizeof(*row));
    counts->count++;
    *row = (struct counts_row){.workflow = ""};
    if (workflow.size > 0)
        memcpy(row->workflow, workflow.data, workflow.size);
    return row;
}

void counts_add(struct counts *counts, struct text workflow, enum order_state state, int64_t by)
{
    struct counts_row *row = row_of(counts, workflow);
    assert((unsigned)state < ORDER_STATE_COUNT);
    assert(by >= 0 || row->by_state[state] >= (uint64_t)-by);
    row->by_state[state] += (uint64_t)by;
    counts->by_state[state] += (uint64_t)by;
}

void counts_merge(struct counts *counts, const struct counts *more)
{
    for (uint32_t i = 0; i < more->count; i++) {
        struct text workflow = text_of(more->rows[i].workflow);
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            counts_add(counts, workflow, (enum order_state)state,
                       (int64_t)more->rows[i].by_state[state]);
    }
}

const uint64_t *counts_by_state(const struct counts *counts)
{
    return counts->by_state;
}

uint64_t counts_of_workflow(const struct counts *counts, struct text workflow)
{
    bool found = false;
    uint64_t sum = 0;
    uint32_t place = place_of(counts, workflow, &found);
    for (int state = 0; found && state < ORDER_STATE_COUNT; state++)
        sum += counts->rows[place].by_state[state];
    return sum;
}

const struct counts_row *counts_at(struct counts *counts, uint32_t index)
{
    return index < counts->count ? &counts->rows[index] : NULL;
}
