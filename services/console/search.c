/* SPDX-License-Identifier: Apache-2.0 */
/* Each partition is scanned along one index, the one with the fewest orders; the other filters are
 * checked on the orders themselves. The hits of all partitions are then merged.
 *
 * A partition's scan ends at the end of its index, at one hit more than `limit`, or when it has
 * examined its share of orders. In the last case nothing is known behind that position, so the page
 * ends there for all partitions: the earliest such position is the horizon. */
#include "services/console/search.h"

#include "schemas/codec.h"

#include <assert.h>
#include <stdlib.h>

enum { TIDY_EACH = 256, CURSOR_FORMAT = 1 };

/* The scan of one partition. */
struct walk {
    const struct search *search;
    struct console_partition *partition;
    struct search_page *page;
    uint32_t found;
    uint32_t examined;
    uint32_t share;
    bool checks;               /* the index alone does not decide */
    bool cut;                  /* by the share */
    struct search_cursor last; /* the last one examined */
    struct error error;
};

/* ---- cursors ---- */

void search_cursor_set(struct search_cursor *cursor, int64_t updated_at, struct text order_id)
{
    assert(order_id.size > 0 && order_id.size <= ORDER_ID_BYTES_MAX);
    cursor->updated_at = updated_at;
    memcpy(cursor->id, order_id.data, order_id.size);
    cursor->id_size = order_id.size;
}

void search_cursor_encode(const struct search_cursor *cursor, char ret_text[SEARCH_CURSOR_SIZE])
{
    char bytes[CURSOR_BYTES_MAX] = {CURSOR_FORMAT};
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (char)((uint64_t)cursor->updated_at >> (8 * (7 - i)));
    memcpy(bytes + 9, cursor->id, cursor->id_size);
    base64_encode((struct text){bytes, 9 + cursor->id_size}, ret_text);
}

bool search_cursor_decode(struct text text, struct search_cursor *ret_cursor)
{
    char bytes[CURSOR_BYTES_MAX];
    struct error error;
    uint32_t size = 0;
    uint64_t updated_at = 0;
    if (!base64_decode(text, bytes, sizeof(bytes), &size) || size < 10 || bytes[0] != CURSOR_FORMAT)
        return false;
    struct text id = {bytes + 9, size - 9};
    if (order_id_validate(id, &error) != ERROR_OK)
        return false;
    for (int i = 0; i < 8; i++)
        updated_at = updated_at << 8 | (uint8_t)bytes[1 + i];
    search_cursor_set(ret_cursor, (int64_t)updated_at, id);
    return true;
}

struct text search_cursor_id(const struct search_cursor *cursor)
{
    return (struct text){cursor->id, cursor->id_size};
}

int search_cursor_compare(const struct search_cursor *a, const struct search_cursor *b)
{
    if (a->updated_at != b->updated_at)
        return a->updated_at > b->updated_at ? -1 : 1;
    return text_compare(search_cursor_id(a), search_cursor_id(b));
}

/* ---- filters ---- */

bool search_matches(const struct search *search, const struct order *order)
{
    if (search->has_state && order->state != search->state)
        return false;
    if (search->alert_open && !order->alert_open)
        return false;
    if (!text_empty(search->workflow) && !text_equal(search->workflow, order->details.workflow))
        return false;
    if (!text_empty(search->error) && !text_equal(search->error, order->reason_code))
        return false;
    if (text_empty(search->step))
        return true;
    int index = order_ended(order) ? -1 : order_find_step(order, search->step);
    if (index < 0)
        return false;
    const struct step *step = &order->steps[index];
    return step->state == STEP_PROCESSING || step->state == STEP_ERROR || step->retry_at != 0;
}

/* ---- one partition ---- */

static uint32_t filter_count(const struct search *search)
{
    return (uint32_t)search->has_state + search->alert_open + !text_empty(search->step) +
           !text_empty(search->error) + !text_empty(search->workflow);
}

struct index_choice {
    enum store_index index;
    struct text value;
    uint64_t orders;
};

static void choose(struct index_choice *choice, enum store_index index, struct text value,
                   uint64_t orders)
{
    if (orders < choice->orders)
        *choice = (struct index_choice){index, value, orders};
}

/* The index with the fewest orders, according to the counts: orders with an alert are in Error,
 * those with an active step have not ended, those with a reason are not Processed. */
static struct index_choice choose_index(const struct search *search,
                                        struct console_partition *partition)
{
    const uint64_t *by_state = console_partition_counts(partition)->by_state;
    struct index_choice choice = {INDEX_TIME, {0}, UINT64_MAX};
    uint64_t active = by_state[ORDER_PENDING] + by_state[ORDER_PROCESSING] +
                      by_state[ORDER_COMPENSATING] + by_state[ORDER_ERROR];
    if (search->alert_open)
        choose(&choice, INDEX_ALERT, TEXT("open"), by_state[ORDER_ERROR]);
    if (!text_empty(search->step))
        choose(&choice, INDEX_STEP, search->step, active);
    if (!text_empty(search->error))
        choose(&choice, INDEX_ERROR, search->error, active + by_state[ORDER_COMPENSATED]);
    if (search->has_state)
        choose(&choice, INDEX_STATE, text_of(order_state_name(search->state)),
               by_state[search->state]);
    if (!text_empty(search->workflow))
        choose(&choice, INDEX_WORKFLOW, search->workflow,
               order_counts_of_workflow(console_partition_counts(partition), search->workflow));
    return choice;
}

/* False: it does not match, or cannot be read. */
static bool check(struct walk *walk, struct text order_id)
{
    const struct order *order = NULL;
    struct view *view = console_partition_view(walk->partition);
    if (walk->examined % TIDY_EACH == 0)
        view_tidy(view);
    if (view_order(view, order_id, &order, &walk->error) != ERROR_OK)
        return false;
    return order != NULL && search_matches(walk->search, order);
}

static bool visit(void *ctx, int64_t updated_at, struct text order_id)
{
    struct walk *walk = ctx;
    struct search_page *page = walk->page;
    walk->examined++;
    bool matches = !walk->checks || check(walk, order_id);
    if (error_is(&walk->error))
        return false;
    search_cursor_set(&walk->last, updated_at, order_id);
    if (matches) {
        page->hits[page->count++] = (struct search_hit){walk->last, walk->partition};
        walk->found++;
    }
    walk->cut = walk->checks && walk->examined == walk->share;
    return walk->found <= walk->search->limit && !walk->cut;
}

/* Adds the partition's hits behind those of the page. */
static void walk_partition(struct walk *walk)
{
    struct error error = {0};
    const struct search *search = walk->search;
    if (!console_partition_settle(walk->partition))
        return;
    struct view *view = console_partition_view(walk->partition);
    struct index_choice choice = choose_index(search, walk->partition);
    int64_t before = search->has_after ? search->after.updated_at : INT64_MAX;
    struct text after = search->has_after ? search_cursor_id(&search->after) : TEXT("");
    enum error_class class = store_scan_index(view_store(view), choice.index, choice.value, before,
                                              after, visit, walk, &error);
    if (class == ERROR_OK)
        class = walk->error.class;
    else
        walk->error = error;
    view_tidy(view);
    if (class == ERROR_OK)
        return;
    assert(walk->page->count >= walk->found);
    walk->page->count -= walk->found;
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

void search_run(struct console_partition *const partitions[], int32_t partition_count,
                const struct search *search, struct search_page *ret_page)
{
    assert(search->limit >= 1 && search->limit <= SEARCH_PAGE_MAX && partition_count > 0);
    uint32_t examined_max = search->examined_max > 0 ? search->examined_max : SEARCH_EXAMINED_MAX;
    uint32_t share = examined_max / (uint32_t)partition_count;
    struct search_cursor horizon = {0};
    bool has_horizon = false;
    *ret_page = (struct search_page){.hits = NULL};
    for (int32_t i = 0; i < partition_count; i++) {
        ret_page->hits = reallocarray(ret_page->hits, ret_page->count + search->limit + 1,
                                      sizeof(ret_page->hits[0]));
        assert(ret_page->hits != NULL);
        struct walk walk = {.search = search,
                            .partition = partitions[i],
                            .page = ret_page,
                            .share = share > 0 ? share : 1,
                            .checks = filter_count(search) > 1};
        walk_partition(&walk);
        if (!walk.cut || walk.found > search->limit)
            continue;
        if (!has_horizon || search_cursor_compare(&walk.last, &horizon) < 0)
            horizon = walk.last;
        has_horizon = true;
    }
    end_page(ret_page, search->limit, has_horizon ? &horizon : NULL);
}

void search_page_deinit(struct search_page *page)
{
    free(page->hits);
    *page = (struct search_page){.hits = NULL};
}
