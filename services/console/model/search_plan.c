/* SPDX-License-Identifier: Apache-2.0 */
/* Every filter but a range of times and a version has an index of its own. The one with the fewest
 * orders is walked; the others are checked on the orders that it leads to.
 *
 * How many orders a filter matches is known for states and workflows, and counted for the others
 * as long as they are few. Of many it is enough to know that they are. */
#include "services/console/model/search_plan.h"

#include <assert.h>

enum {
    PROBE_MAX = 100, /* orders counted of one filter in one partition */
    /* A filter that matches more is taken to match this part of all orders. */
    PART_OF_VALUE = 8,
    PART_OF_RANGE = 4,
    CANDIDATES_MAX = 8 + SEARCH_ATTRIBUTES_MAX + 3
};

struct filter_index {
    struct search_plan plan;
    uint64_t orders; /* that it leads to, in all partitions */
};

struct filter_indexes {
    struct filter_index items[CANDIDATES_MAX];
    uint32_t count;
    uint32_t filters;
};

/* ---- the filters ---- */

static void add(struct filter_indexes *candidates, enum search_sort sort, enum store_index index,
                const struct text *value)
{
    assert(candidates->count < CANDIDATES_MAX);
    struct search_plan *plan = &candidates->items[candidates->count++].plan;
    struct text parts[] = {INDEX_SUBORDER, value != NULL ? *value : TEXT("")};
    *plan = (struct search_plan){.sort = sort, .index = index};
    index_value_of(parts + 1, 1, &plan->values[SEARCH_ROOTS]);
    index_value_of(parts, 2, &plan->values[SEARCH_SUBORDERS]);
}

static void list_candidates(const struct search *search, struct filter_indexes *ret_candidates)
{
    const struct text open = TEXT("open");
    const struct text state = text_of(order_state_name(search->state));
    *ret_candidates = (struct filter_indexes){.count = 0};
    if (search->alert_open)
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_ALERT, &open);
    if (search->paused)
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_PAUSED, NULL);
    if (!text_empty(search->step))
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_STEP, &search->step);
    if (!text_empty(search->waiting_for))
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_STEP, &search->waiting_for);
    if (!text_empty(search->group))
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_GROUP, &search->group);
    if (!text_empty(search->error))
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_ERROR, &search->error);
    if (search->has_state)
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_STATE, &state);
    if (!text_empty(search->workflow))
        add(ret_candidates, SEARCH_BY_CHANGE, INDEX_WORKFLOW, &search->workflow);
    if (!text_empty(search->customer))
        add(ret_candidates, SEARCH_BY_SUBMISSION, INDEX_CUSTOMER, &search->customer);
    for (uint32_t i = 0; i < search->attribute_count; i++)
        add(ret_candidates, SEARCH_BY_SUBMISSION, INDEX_ATTRIBUTE, &search->attributes[i]);
    if (!text_empty(search->id_prefix))
        add(ret_candidates, SEARCH_BY_ID, 0, NULL);
    ret_candidates->filters = ret_candidates->count;
    ret_candidates->filters += search->workflow_version != 0;
    ret_candidates->filters += !text_empty(search->waiting_for); /* its step may run instead */
    if (!search->has_since && !search->has_until)
        return;
    add(ret_candidates, SEARCH_BY_SUBMISSION, INDEX_SUBMITTED, NULL);
    ret_candidates->filters++;
}

/* All orders, by the sort of the cursor: the filters have other sorts. */
static void add_whole(const struct search *search, struct filter_indexes *candidates)
{
    enum search_sort sort = search->has_after ? search->after.sort : SEARCH_BY_CHANGE;
    add(candidates, sort, sort == SEARCH_BY_CHANGE ? INDEX_TIME : INDEX_SUBMITTED, NULL);
}

static void keep_sort(enum search_sort sort, struct filter_indexes *candidates)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < candidates->count; i++)
        if (candidates->items[i].plan.sort == sort)
            candidates->items[kept++] = candidates->items[i];
    candidates->count = kept;
}

/* Whether orders of another kind may have this value: that of a root may begin as those of
 * sub-orders do. */
static bool mixes_kinds(const struct search *search, const struct search_plan *plan)
{
    const struct index_value *root = &plan->values[SEARCH_ROOTS];
    if (plan->sort == SEARCH_BY_ID)
        return search->without[SEARCH_ROOTS] || search->without[SEARCH_SUBORDERS];
    return (plan->index == INDEX_CUSTOMER || plan->index == INDEX_ATTRIBUTE) &&
           (!search->without[SEARCH_SUBORDERS] || (root->size > 0 && root->data[0] == '~'));
}

/* Whether orders that the plan leads to may not match. */
static bool needs_checks(const struct search *search, const struct search_plan *plan,
                         uint32_t filters)
{
    bool whole =
        plan->sort == SEARCH_BY_ID ? text_empty(search->id_prefix) : plan->index == INDEX_TIME;
    bool range = search->has_since || search->has_until;
    uint32_t covered = whole ? 0 : 1;
    /* Walks by submission keep to the range: it is covered, and the index's own filter. */
    if (plan->sort == SEARCH_BY_SUBMISSION)
        covered = (uint32_t)(plan->index != INDEX_SUBMITTED) + range;
    assert(covered <= filters);
    return filters > covered || mixes_kinds(search, plan) ||
           !index_value_is_exact(&plan->values[SEARCH_ROOTS]) ||
           !index_value_is_exact(&plan->values[SEARCH_SUBORDERS]);
}

/* ---- how many orders ---- */

struct probe {
    const struct search *search;
    uint32_t found;
};

static bool probe_index(void *ctx, int64_t at, struct text order_id)
{
    struct probe *probe = ctx;
    (void)order_id;
    return !search_is_too_old(probe->search, at) && ++probe->found < PROBE_MAX;
}

static bool probe_change(void *ctx, int64_t at, struct text order_id)
{
    struct probe *probe = ctx;
    (void)at;
    (void)order_id;
    return ++probe->found < PROBE_MAX;
}

static bool probe_order(void *ctx, struct text order_id, struct text row)
{
    struct probe *probe = ctx;
    (void)order_id;
    (void)row;
    return ++probe->found < PROBE_MAX;
}

/* At least PROBE_MAX match: how many there may be. */
static uint64_t guess(const struct search *search, const struct search_plan *plan,
                      enum search_kind kind, const struct order_counts *counts)
{
    const uint64_t *by_state = kind == SEARCH_ROOTS ? counts->by_state : counts->suborders;
    uint64_t active = order_counts_unfinished(by_state);
    uint64_t ended = by_state[ORDER_PROCESSED] + by_state[ORDER_COMPENSATED];
    if (plan->sort == SEARCH_BY_ID || plan->index == INDEX_SUBMITTED)
        return (active + ended) / PART_OF_RANGE;
    if (plan->sort == SEARCH_BY_SUBMISSION)
        return (active + ended) / PART_OF_VALUE;
    if (plan->index == INDEX_ALERT)
        return by_state[ORDER_ERROR];
    if (plan->index == INDEX_STATE)
        return by_state[search->state];
    if (plan->index == INDEX_WORKFLOW)
        return order_counts_of_workflow(counts, search->workflow);
    return plan->index == INDEX_ERROR ? active + by_state[ORDER_COMPENSATED] : active;
}

static uint64_t estimate_kind(const struct search *search, const struct search_plan *plan,
                              enum search_kind kind, struct console_partition *partition)
{
    struct error error;
    struct probe probe = {.search = search};
    struct store *store = view_store(console_partition_view(partition));
    enum error_class class =
        plan->sort == SEARCH_BY_ID
            ? store_scan_orders_of(store, search->id_prefix, TEXT(""), probe_order, &probe, &error)
            : store_scan_index(
                  store, plan->index, index_value_text(&plan->values[kind]),
                  plan->sort == SEARCH_BY_SUBMISSION ? search_newest(search) : INT64_MAX, TEXT(""),
                  plan->sort == SEARCH_BY_SUBMISSION ? probe_index : probe_change, &probe, &error);
    if (class == ERROR_OK && probe.found < PROBE_MAX)
        return probe.found;
    uint64_t orders = guess(search, plan, kind, console_partition_counts(partition));
    return orders > PROBE_MAX ? orders : PROBE_MAX; /* the walk reports what is damaged */
}

static uint64_t estimate(const struct search *search, const struct search_plan *plan,
                         struct console_partition *partition)
{
    uint64_t orders = 0;
    for (int kind = 0; kind < SEARCH_KIND_COUNT; kind++)
        if (search_walks(search, plan, (enum search_kind)kind))
            orders += estimate_kind(search, plan, (enum search_kind)kind, partition);
    return orders;
}

bool search_walks(const struct search *search, const struct search_plan *plan,
                  enum search_kind kind)
{
    return plan->sort == SEARCH_BY_ID ? kind == SEARCH_ROOTS : !search->without[kind];
}

int64_t search_newest(const struct search *search)
{
    if (!search->has_until)
        return INT64_MAX;
    return search->until > INT64_MIN ? search->until - 1 : INT64_MIN;
}

void search_plan_make(struct console_partition *const partitions[], int32_t partition_count,
                      const struct search *search, struct search_plan *ret_plan)
{
    struct filter_indexes candidates;
    struct filter_index *best = &candidates.items[0];
    list_candidates(search, &candidates);
    if (search->has_after)
        keep_sort(search->after.sort, &candidates);
    if (candidates.count == 0)
        add_whole(search, &candidates);
    for (int32_t p = 0; p < partition_count && candidates.count > 1; p++) {
        if (!console_partition_settle(partitions[p]))
            continue;
        for (uint32_t i = 0; i < candidates.count; i++)
            candidates.items[i].orders +=
                estimate(search, &candidates.items[i].plan, partitions[p]);
    }
    for (uint32_t i = 1; i < candidates.count; i++)
        if (candidates.items[i].orders < best->orders)
            best = &candidates.items[i];
    *ret_plan = best->plan;
    ret_plan->checks = needs_checks(search, ret_plan, candidates.filters);
}
