/* SPDX-License-Identifier: Apache-2.0 */
/* Each partition is walked along one index (search_plan.h); the other filters are checked on the
 * orders themselves. The hits of all partitions are then merged.
 *
 * A partition's walk ends at the end of its index, at one hit more than `limit`, or when it has
 * used up its share of the orders or of the time. In the last case nothing is known behind that
 * position, so the page ends there for all of them: the earliest such position is the horizon. */
#include "services/console/model/search.h"

#include "base/bytes.h"
#include "base/names.h"
#include "schemas/details.h"
#include "services/console/model/search_plan.h"

#include <assert.h>
#include <stdlib.h>

enum { TIME_EACH = 64, SCRATCH_BYTES = 16 * 1024 };

/* The walk through one partition. */
struct walk {
    const struct search *search;
    const struct search_plan *plan;
    struct console_partition *partition;
    enum search_kind kind;
    struct search_page *page; /* NULL: hits are only counted */
    struct heap_arena *scratch;
    uint64_t found;
    uint32_t examined;
    uint32_t share;
    int64_t until_us;          /* INT64_MAX: it has all the time */
    bool cut;                  /* by its share */
    struct search_cursor last; /* the last one examined */
    struct error error;
};

/* ---- cursors ---- */

const char *search_sort_name(enum search_sort sort)
{
    switch (sort) {
    case SEARCH_BY_CHANGE:
        return "changed";
    case SEARCH_BY_SUBMISSION:
        return "submitted";
    case SEARCH_BY_ID:
        return "id";
    }
    return "?";
}

void search_cursor_set(struct search_cursor *cursor, enum search_sort sort, int64_t at,
                       struct text order_id)
{
    assert(order_id.size > 0 && order_id.size <= ORDER_ID_BYTES_MAX);
    cursor->sort = sort;
    cursor->at = at;
    memcpy(cursor->id, order_id.data, order_id.size);
    cursor->id_size = order_id.size;
}

void search_cursor_encode(const struct search_cursor *cursor, char ret_text[SEARCH_CURSOR_SIZE])
{
    char bytes[CURSOR_BYTES_MAX] = {(char)cursor->sort};
    bytes_put_be(bytes + 1, (uint64_t)cursor->at, 8);
    memcpy(bytes + 9, cursor->id, cursor->id_size);
    base64_encode((struct text){bytes, 9 + cursor->id_size}, ret_text);
}

bool search_cursor_decode(struct text text, struct search_cursor *ret_cursor)
{
    char bytes[CURSOR_BYTES_MAX];
    struct error error;
    uint32_t size = 0;
    if (!base64_decode(text, bytes, sizeof(bytes), &size) || size < 10 ||
        bytes[0] < SEARCH_BY_CHANGE || bytes[0] > SEARCH_BY_ID)
        return false;
    struct text id = {bytes + 9, size - 9};
    if (order_id_validate(id, &error) != ERROR_OK)
        return false;
    search_cursor_set(ret_cursor, (enum search_sort)bytes[0], (int64_t)bytes_get_be(bytes + 1, 8),
                      id);
    return true;
}

struct text search_cursor_id(const struct search_cursor *cursor)
{
    return (struct text){cursor->id, cursor->id_size};
}

int search_cursor_compare(const struct search_cursor *a, const struct search_cursor *b)
{
    assert(a->sort == b->sort);
    if (a->at != b->at)
        return a->at > b->at ? -1 : 1;
    return text_compare(search_cursor_id(a), search_cursor_id(b));
}

/* ---- filters ---- */

static bool step_matches(const struct order *order, struct text name)
{
    int index = order_ended(order) ? -1 : order_find_step(order, name);
    return index >= 0 && step_is_active(&order->steps[index]);
}

/* Whether a step waits as the search says: the one that it names, for the group that it names. */
static bool wait_matches(const struct search *search, const struct order *order)
{
    bool matches = text_empty(search->waiting_for) && text_empty(search->group);
    for (uint32_t i = 0; i < order->step_count && !order_ended(order) && !matches; i++) {
        const struct step *step = &order->steps[i];
        matches =
            step->state == STEP_WAITING &&
            (text_empty(search->waiting_for) || text_equal(search->waiting_for, step->name)) &&
            (text_empty(search->group) || text_equal(search->group, step_awaited_group(step)));
    }
    return matches;
}

/* Whether "name=value" is what is wanted. Either may hold a '='. */
static bool is_attribute(struct text wanted, struct text name, struct text value)
{
    return (uint64_t)name.size + 1 + value.size == wanted.size && wanted.data[name.size] == '=' &&
           memcmp(wanted.data, name.data, name.size) == 0 &&
           text_equal(text_from(wanted, name.size + 1), value);
}

static bool attribute_matches(const struct order_details *details, struct text wanted)
{
    const struct order_parent *parent = details->parent;
    for (uint32_t i = 0; i < details->attribute_count; i++)
        if (is_attribute(wanted, details->attributes[i].name, details->attributes[i].value))
            return true;
    return parent != NULL && (is_attribute(wanted, ORDER_ROOT_ATTRIBUTE, parent->root) ||
                              is_attribute(wanted, ORDER_PARENT_ATTRIBUTE, parent->order_id));
}

static bool details_match(const struct search *search, const struct order_details *details)
{
    if (!text_empty(search->workflow) && !text_equal(search->workflow, details->workflow))
        return false;
    if (search->workflow_version != 0 && search->workflow_version != details->workflow_version)
        return false;
    if (!text_empty(search->customer) && !text_equal(search->customer, details->customer))
        return false;
    if (details->order_id.size < search->id_prefix.size ||
        !text_equal((struct text){details->order_id.data, search->id_prefix.size},
                    search->id_prefix))
        return false;
    for (uint32_t i = 0; i < search->attribute_count; i++)
        if (!attribute_matches(details, search->attributes[i]))
            return false;
    return true;
}

bool search_matches(const struct search *search, const struct order *order)
{
    if (search->without[order->details.parent != NULL ? SEARCH_SUBORDERS : SEARCH_ROOTS] ||
        (search->has_state && order->state != search->state))
        return false;
    if ((search->alert_open && !order->alert_open) || (search->paused && order->paused_at == 0))
        return false;
    if (search_is_too_old(search, order->accepted_at) ||
        (search->has_until && order->accepted_at >= search->until))
        return false;
    if (!text_empty(search->error) && !text_equal(search->error, order->reason_code))
        return false;
    if (!details_match(search, &order->details) || !wait_matches(search, order))
        return false;
    return text_empty(search->step) || step_matches(order, search->step);
}

/* ---- one partition ---- */

static bool is_out_of_time(const struct walk *walk)
{
    return walk->until_us != INT64_MAX && walk->examined % TIME_EACH == 0 &&
           clock_mono_us(walk->search->clock) >= walk->until_us;
}

/* The order examined is one of those that the plan leads to. False: that is enough. */
static bool take(struct walk *walk, int64_t at, struct text order_id, bool matches)
{
    if (error_is(&walk->error))
        return false;
    struct search_page *page = walk->page;
    bool bounded = page == NULL || walk->plan->checks;
    walk->examined++;
    search_cursor_set(&walk->last, walk->plan->sort, at, order_id);
    walk->found += matches;
    if (matches && page != NULL)
        page->hits[page->count++] = (struct search_hit){walk->last, walk->partition};
    walk->cut = bounded && (walk->examined == walk->share || is_out_of_time(walk));
    return (page == NULL || walk->found <= walk->search->limit) && !walk->cut;
}

static bool matches_row(struct walk *walk, struct text order_id, struct text row)
{
    struct order order;
    struct view *view = console_partition_view(walk->partition);
    heap_arena_reset(walk->scratch);
    return view_decode_row(view, order_id, row, &walk->scratch->arena, &order, &walk->error) ==
               ERROR_OK &&
           search_matches(walk->search, &order);
}

static bool matches_order(struct walk *walk, struct text order_id)
{
    const struct order *order = NULL;
    struct view *view = console_partition_view(walk->partition);
    heap_arena_reset(walk->scratch);
    return view_read_order(view, order_id, &walk->scratch->arena, &order, &walk->error) ==
               ERROR_OK &&
           order != NULL && search_matches(walk->search, order);
}

static bool visit_order(void *ctx, struct text order_id, struct text row)
{
    struct walk *walk = ctx;
    return take(walk, 0, order_id, !walk->plan->checks || matches_row(walk, order_id, row));
}

static bool visit_entry(void *ctx, int64_t at, struct text order_id)
{
    struct walk *walk = ctx;
    if (walk->plan->sort == SEARCH_BY_SUBMISSION && search_is_too_old(walk->search, at))
        return false;
    return take(walk, at, order_id, !walk->plan->checks || matches_order(walk, order_id));
}

static enum error_class scan(struct walk *walk, struct error *ret_error)
{
    const struct search *search = walk->search;
    struct store *store = view_store(console_partition_view(walk->partition));
    struct text after = search->has_after ? search_cursor_id(&search->after) : TEXT("");
    if (walk->plan->sort == SEARCH_BY_ID)
        return store_scan_orders_of(store, search->id_prefix, after, visit_order, walk, ret_error);
    int64_t before = walk->plan->sort == SEARCH_BY_SUBMISSION ? search_newest(search) : INT64_MAX;
    if (search->has_after && search->after.at <= before)
        before = search->after.at;
    else
        after = TEXT("");
    return store_scan_index(store, walk->plan->index,
                            index_value_text(&walk->plan->values[walk->kind]), before, after,
                            visit_entry, walk, ret_error);
}

/* Adds the partition's hits behind those of the page. */
static void walk_partition(struct walk *walk)
{
    struct error error = {0};
    if (!console_partition_settle(walk->partition))
        return;
    if (scan(walk, &error) != ERROR_OK)
        walk->error = error;
    if (!error_is(&walk->error))
        return;
    if (walk->page != NULL) {
        assert(walk->page->count >= walk->found);
        walk->page->count -= (uint32_t)walk->found;
    }
    walk->found = 0;
    walk->cut = false;
    console_partition_damaged(walk->partition, &walk->error);
}

/* ---- the page ---- */

static int compare_hits(const void *a, const void *b)
{
    return search_cursor_compare(&((const struct search_hit *)a)->at,
                                 &((const struct search_hit *)b)->at);
}

/* `horizon` NULL: everything in the page is certain. */
static void end_page(struct search_page *page, uint32_t limit, const struct search_cursor *horizon)
{
    assert(limit > 0);
    if (page->count > 0)
        qsort(page->hits, page->count, sizeof(page->hits[0]), compare_hits);
    uint32_t certain = page->count;
    while (horizon != NULL && certain > 0 &&
           search_cursor_compare(&page->hits[certain - 1].at, horizon) > 0)
        certain--;
    page->has_next = horizon != NULL || certain > limit;
    if (certain >= limit)
        page->next = page->hits[limit - 1].at;
    else if (horizon != NULL)
        page->next = *horizon;
    page->count = certain < limit ? certain : limit;
}

/* What all walks of one search have in common. */
struct tour {
    struct search_plan plan;
    struct heap_arena scratch;
    uint32_t share;
    int64_t began_us;
    int32_t partition_count;
};

static void tour_init(struct tour *tour, struct console_partition *const partitions[],
                      int32_t partition_count, const struct search *search, uint32_t examined_max)
{
    assert(partition_count > 0);
    uint32_t kinds = 0;
    for (int kind = 0; kind < SEARCH_KIND_COUNT; kind++)
        kinds += !search->without[kind];
    assert(kinds > 0);
    uint32_t share = examined_max / (uint32_t)partition_count / kinds;
    tour->share = share > 0 ? share : 1;
    tour->partition_count = partition_count;
    tour->began_us = search->clock != NULL ? clock_mono_us(search->clock) : 0;
    heap_arena_init(&tour->scratch, SCRATCH_BYTES);
    search_plan_make(partitions, partition_count, search, &tour->plan);
}

/* A partition leaves the rest of its time to the later ones. */
static struct walk tour_walk(struct tour *tour, const struct search *search, int32_t number,
                             enum search_kind kind, struct console_partition *partition)
{
    int64_t budget_us = search->budget_us > 0 ? search->budget_us : SEARCH_BUDGET_US;
    int64_t until_us = INT64_MAX;
    if (search->clock != NULL)
        until_us = tour->began_us + budget_us * (number + 1) / tour->partition_count;
    return (struct walk){.search = search,
                         .plan = &tour->plan,
                         .partition = partition,
                         .kind = kind,
                         .scratch = &tour->scratch,
                         .share = tour->share,
                         .until_us = until_us};
}

void search_run(struct console_partition *const partitions[], int32_t partition_count,
                const struct search *search, struct search_page *ret_page)
{
    assert(search->limit >= 1 && search->limit <= SEARCH_PAGE_MAX);
    struct tour tour;
    struct search_cursor horizon = {0};
    bool has_horizon = false;
    tour_init(&tour, partitions, partition_count, search,
              search->examined_max > 0 ? search->examined_max : SEARCH_EXAMINED_MAX);
    *ret_page = (struct search_page){.sort = tour.plan.sort};
    for (int32_t i = 0; i < partition_count * SEARCH_KIND_COUNT; i++) {
        enum search_kind kind = (enum search_kind)(i % SEARCH_KIND_COUNT);
        if (!search_walks(search, &tour.plan, kind))
            continue;
        ret_page->hits = reallocarray(ret_page->hits, ret_page->count + search->limit + 1,
                                      sizeof(ret_page->hits[0]));
        assert(ret_page->hits != NULL);
        struct walk walk = tour_walk(&tour, search, i / SEARCH_KIND_COUNT, kind,
                                     partitions[i / SEARCH_KIND_COUNT]);
        walk.page = ret_page;
        walk_partition(&walk);
        if (!walk.cut || walk.found > search->limit)
            continue;
        if (!has_horizon || search_cursor_compare(&walk.last, &horizon) < 0)
            horizon = walk.last;
        has_horizon = true;
    }
    end_page(ret_page, search->limit, has_horizon ? &horizon : NULL);
    heap_arena_deinit(&tour.scratch);
}

void search_page_deinit(struct search_page *page)
{
    free(page->hits);
    *page = (struct search_page){.hits = NULL};
}

/* ---- counts ---- */

/* Whether the counts of orders by workflow, version and state are enough. */
static bool is_counted(const struct search *search)
{
    return !search->alert_open && !search->paused && text_empty(search->step) &&
           text_empty(search->waiting_for) && text_empty(search->group) &&
           text_empty(search->error) && text_empty(search->customer) &&
           search->attribute_count == 0 && text_empty(search->id_prefix) && !search->has_since &&
           !search->has_until;
}

static uint64_t counted(const struct order_counts *counts, const struct search *search)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts->row_count; i++) {
        const struct order_counts_row *row = &counts->rows[i];
        if (!text_empty(search->workflow) && !text_equal(search->workflow, order_counts_name(row)))
            continue;
        if (search->workflow_version != 0 && search->workflow_version != row->version)
            continue;
        if (search->without[workflow_name_is_body(order_counts_name(row)) ? SEARCH_SUBORDERS
                                                                          : SEARCH_ROOTS])
            continue;
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            if (!search->has_state || search->state == (enum order_state)state)
                sum += row->by_state[state];
    }
    return sum;
}

uint64_t search_count(struct console_partition *const partitions[], int32_t partition_count,
                      const struct search *search, bool *ret_exact)
{
    struct tour tour;
    struct search all = *search;
    uint64_t sum = 0;
    all.has_after = false;
    *ret_exact = true;
    if (is_counted(search)) {
        for (int32_t i = 0; i < partition_count; i++)
            sum += counted(console_partition_counts(partitions[i]), search);
        return sum;
    }
    tour_init(&tour, partitions, partition_count, &all,
              search->examined_max > 0 ? search->examined_max : SEARCH_COUNTED_MAX);
    for (int32_t i = 0; i < partition_count * SEARCH_KIND_COUNT; i++) {
        enum search_kind kind = (enum search_kind)(i % SEARCH_KIND_COUNT);
        if (!search_walks(&all, &tour.plan, kind))
            continue;
        struct walk walk =
            tour_walk(&tour, &all, i / SEARCH_KIND_COUNT, kind, partitions[i / SEARCH_KIND_COUNT]);
        walk_partition(&walk);
        sum += walk.found;
        *ret_exact = *ret_exact && !walk.cut;
    }
    heap_arena_deinit(&tour.scratch);
    return sum;
}
