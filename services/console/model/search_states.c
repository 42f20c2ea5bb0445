/* SPDX-License-Identifier: Apache-2.0 */
/* Counts by state. The states of few orders are counted first, as each has an index of its own;
 * then all orders that match, which often needs no look at the orders themselves. The state of the
 * most orders is the difference: to count it would mean to read nearly all of them. */
#include "services/console/model/search.h"

#include <assert.h>

enum { COUNTS = ORDER_STATE_COUNT + 1 /* each state, and all */ };

struct counting {
    struct console_partition *const *partitions;
    int32_t partition_count;
    const struct search *search;
    int64_t until_us; /* of the search's clock */
    int left;         /* counts that share the rest of the time */
};

static struct search_number count(struct counting *counting, const struct search *asked)
{
    struct search search = *asked;
    struct search_number number;
    assert(counting->left > 0);
    if (search.clock != NULL) {
        int64_t rest_us = counting->until_us - clock_mono_us(search.clock);
        search.budget_us = rest_us > counting->left ? rest_us / counting->left : 1;
    }
    counting->left--;
    number.orders =
        search_count(counting->partitions, counting->partition_count, &search, &number.exact);
    return number;
}

static struct search_number count_state(struct counting *counting, enum order_state state)
{
    struct search search = *counting->search;
    search.has_state = true;
    search.state = state;
    return count(counting, &search);
}

static enum order_state most_frequent(const struct counting *counting)
{
    uint64_t orders[ORDER_STATE_COUNT] = {0};
    int most = 0;
    for (int32_t i = 0; i < counting->partition_count; i++) {
        const struct order_counts *counts = console_partition_counts(counting->partitions[i]);
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            orders[state] +=
                (counting->search->without[SEARCH_ROOTS] ? 0 : counts->by_state[state]) +
                (counting->search->without[SEARCH_SUBORDERS] ? 0 : counts->suborders[state]);
    }
    for (int state = 1; state < ORDER_STATE_COUNT; state++)
        most = orders[state] > orders[most] ? state : most;
    return (enum order_state)most;
}

static struct search_number sum_of_others(const struct search_numbers *numbers,
                                          enum order_state without)
{
    struct search_number sum = {0, true};
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        if (state == (int)without)
            continue;
        sum.orders += numbers->by_state[state].orders;
        sum.exact = sum.exact && numbers->by_state[state].exact;
    }
    return sum;
}

/* What the others leave of all; at least that, if there may be more in all. */
static struct search_number difference(const struct search_number *all, uint64_t others)
{
    if (all->orders < others) /* a partition was dropped meanwhile, or the time was over */
        return (struct search_number){0, false};
    return (struct search_number){all->orders - others, all->exact};
}

void search_count_states(struct console_partition *const partitions[], int32_t partition_count,
                         const struct search *search, struct search_numbers *ret_numbers)
{
    struct counting counting = {partitions, partition_count, search, 0, COUNTS};
    enum order_state most = search->has_state ? search->state : most_frequent(&counting);
    struct search_number *all = &ret_numbers->all;
    struct search_number *rest = &ret_numbers->by_state[most];
    if (search->clock != NULL)
        counting.until_us = clock_mono_us(search->clock) + SEARCH_BUDGET_US;
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        ret_numbers->by_state[state] = (struct search_number){0, true};
        if (state != (int)most && !search->has_state)
            ret_numbers->by_state[state] = count_state(&counting, (enum order_state)state);
    }
    struct search_number others = sum_of_others(ret_numbers, most);
    counting.left = others.exact ? 1 : 2;
    *all = count(&counting, search);
    if (others.exact)
        *rest = difference(all, others.orders);
    else
        *rest = count_state(&counting, most);
    if (!all->exact && all->orders < others.orders + rest->orders)
        all->orders = others.orders + rest->orders;
}
