/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of orders over all partitions, the newest change first, page by page. */
#ifndef SERVICES_CONSOLE_SEARCH_H
#define SERVICES_CONSOLE_SEARCH_H

#include "services/console/cursor.h"
#include "services/console/partition.h"

enum {
    SEARCH_PAGE_MAX = 1000,
    /* Orders looked at for one page, where filters have to be checked one by one. A page that ends
     * here has fewer orders than asked for, and a cursor all the same. */
    SEARCH_EXAMINED_MAX = 20000
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
    struct cursor after; /* where the page before ended */
};

struct search_hit {
    struct cursor at;
    struct console_partition *partition;
};

struct search_page {
    struct search_hit *hits; /* `limit` at most, in order */
    uint32_t count;
    bool has_next;
    struct cursor next;
};

/* Settles the partitions and fills the page, whose hits are malloc'ed: search_page_deinit. A
 * partition whose store proves damaged is dropped and left out: its console_partition_is_current() says
 * so. */
void search_run(struct console_partition *const partitions[], int32_t partition_count,
                const struct search *search, struct search_page *ret_page);
void search_page_deinit(struct search_page *page);

/* Whether the order is one of those that the search is for; `after` apart. */
bool search_matches(const struct search *search, const struct order *order);

#endif
