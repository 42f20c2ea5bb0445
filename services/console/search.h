/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of orders over all partitions, the newest change first, page by page. */
#ifndef SERVICES_CONSOLE_SEARCH_H
#define SERVICES_CONSOLE_SEARCH_H

#include "base/base64.h"
#include "services/console/partition.h"

enum {
    SEARCH_PAGE_MAX = 1000,
    /* Orders examined for one page, where filters have to be checked one by one. A page that ends
     * here has fewer orders than asked for, and a cursor all the same. */
    SEARCH_EXAMINED_MAX = 20000
};

enum {
    CURSOR_BYTES_MAX = 1 + 8 + ORDER_ID_BYTES_MAX,
    SEARCH_CURSOR_SIZE = BASE64_SIZE(CURSOR_BYTES_MAX) + 1
};

/* Where a page ended: the next one begins behind it. Pages are sorted by (updated_at, id) over all
 * partitions, the newest first, equal times by id. An order that changes meanwhile moves to the
 * front; an order that does not change is never skipped.
 *
 * Opaque to clients: base64url of 1 | updated_at BE8 | order id. */
struct search_cursor {
    int64_t updated_at;
    char id[ORDER_ID_BYTES_MAX];
    uint32_t id_size;
};

/* Empty texts: any. */
struct search {
    bool has_state;
    enum order_state state;
    bool alert_open;
    struct text step;  /* runs, waits for its next attempt or is in Error */
    struct text error; /* why it is cancelled, compensated or in Error */
    struct text workflow;
    uint32_t limit;        /* 1 to SEARCH_PAGE_MAX */
    uint32_t examined_max; /* 0 = SEARCH_EXAMINED_MAX */
    bool has_after;
    struct search_cursor after; /* where the previous page ended */
};

struct search_hit {
    struct search_cursor at;
    struct console_partition *partition;
};

struct search_page {
    struct search_hit *hits; /* `limit` at most, in order */
    uint32_t count;
    bool has_next;
    struct search_cursor next;
};

/* Settles the partitions and fills the page, whose hits are malloc'ed: search_page_deinit. A
 * partition whose store proves damaged is dropped and left out: see
 * console_partition_is_current(). */
void search_run(struct console_partition *const partitions[], int32_t partition_count,
                const struct search *search, struct search_page *ret_page);
void search_page_deinit(struct search_page *page);

/* The id must be valid: asserts. */
void search_cursor_set(struct search_cursor *cursor, int64_t updated_at, struct text order_id);
struct text search_cursor_id(const struct search_cursor *cursor);
void search_cursor_encode(const struct search_cursor *cursor, char ret_text[SEARCH_CURSOR_SIZE]);
/* False when `text` is not a cursor of ours. */
bool search_cursor_decode(struct text text, struct search_cursor *ret_cursor);
/* Negative: a page shows `a` before `b`. */
int search_cursor_compare(const struct search_cursor *a, const struct search_cursor *b);

/* Whether the order is one that the search is for, regardless of `after`. */
bool search_matches(const struct search *search, const struct order *order);

#endif
