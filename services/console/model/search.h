/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and counts of orders over all partitions, page by page. */
#ifndef SERVICES_CONSOLE_MODEL_SEARCH_H
#define SERVICES_CONSOLE_MODEL_SEARCH_H

#include "base/base64.h"
#include "services/console/model/partition.h"

enum {
    SEARCH_PAGE_MAX = 1000,
    SEARCH_ATTRIBUTES_MAX = 8,
    SEARCH_ATTRIBUTE_BYTES_MAX = ATTRIBUTE_NAME_BYTES_MAX + 1 + ATTRIBUTE_VALUE_BYTES_MAX,
    /* Orders examined for one page, where filters have to be checked one by one. A page that ends
     * here has fewer orders than asked for, and a cursor all the same. */
    SEARCH_EXAMINED_MAX = 20000,
    SEARCH_COUNTED_MAX = 1000000, /* the same for a count */
    SEARCH_BUDGET_US = 20000      /* likewise: the time after which a page or a count ends */
};

/* What a list is sorted by. Numbers are in cursors: they never change. */
enum search_sort {
    SEARCH_BY_CHANGE = 1,     /* the latest change first */
    SEARCH_BY_SUBMISSION = 2, /* the one accepted last comes first */
    SEARCH_BY_ID = 3          /* ascending */
};
const char *search_sort_name(enum search_sort sort); /* "changed", "submitted", "id" */

enum {
    CURSOR_BYTES_MAX = 1 + 8 + ORDER_ID_BYTES_MAX,
    SEARCH_CURSOR_SIZE = BASE64_SIZE(CURSOR_BYTES_MAX) + 1
};

/* Where a page ended: the next one begins behind it, sorted in the same way. Pages are sorted by
 * (at, id) over all partitions, the newest first, equal times by id. An order that does not change
 * is never skipped or listed twice. One that changes meanwhile moves to the front of a list that is
 * sorted by change, and keeps its place in the others.
 *
 * Opaque to clients: base64url of sort | at BE8 | order id. */
struct search_cursor {
    enum search_sort sort;
    int64_t at; /* updated_at or accepted_at; 0 by id */
    char id[ORDER_ID_BYTES_MAX];
    uint32_t id_size;
};

/* Lists show roots, unless they are asked for the others. */
enum search_kind { SEARCH_ROOTS, SEARCH_SUBORDERS, SEARCH_KIND_COUNT };

/* Empty texts: any. */
struct search {
    bool without[SEARCH_KIND_COUNT]; /* orders of this kind */
    bool has_state;
    enum order_state state;
    bool alert_open;
    bool paused;
    struct text step;        /* runs, waits or is in Error */
    struct text waiting_for; /* this step waits for a moment or a signal */
    struct text group;       /* a step, or that one, waits for a signal of the group */
    struct text error;       /* why it is cancelled, compensated or in Error */
    struct text workflow;
    uint32_t workflow_version; /* of that workflow; 0: any */
    struct text customer;
    struct text attributes[SEARCH_ATTRIBUTES_MAX]; /* "name=value", all of them */
    uint32_t attribute_count;
    struct text id_prefix;
    bool has_since; /* accepted at `since` or later */
    int64_t since;
    bool has_until; /* accepted before `until` */
    int64_t until;
    uint32_t limit;            /* 1 to SEARCH_PAGE_MAX; of no meaning for counts */
    uint32_t examined_max;     /* 0 = SEARCH_EXAMINED_MAX, or SEARCH_COUNTED_MAX */
    const struct clock *clock; /* NULL: no bound on the time */
    int64_t budget_us;         /* 0 = SEARCH_BUDGET_US */
    bool has_after;
    struct search_cursor after; /* where the previous page ended */
};

struct search_hit {
    struct search_cursor at;
    struct console_partition *partition;
};

struct search_page {
    enum search_sort sort;
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

/* How many orders match. *ret_exact: all of them were counted; else there are at least as many. */
uint64_t search_count(struct console_partition *const partitions[], int32_t partition_count,
                      const struct search *search, bool *ret_exact);

struct search_number {
    uint64_t orders;
    bool exact; /* else there are at least as many */
};
struct search_numbers {
    struct search_number all;
    struct search_number by_state[ORDER_STATE_COUNT];
};
/* How many match, and how many of them are in each state, within the budget of one count:
 * search_states.c. */
void search_count_states(struct console_partition *const partitions[], int32_t partition_count,
                         const struct search *search, struct search_numbers *ret_numbers);

/* For tests: the id must be valid, asserts. */
void search_cursor_set(struct search_cursor *cursor, enum search_sort sort, int64_t at,
                       struct text order_id);
struct text search_cursor_id(const struct search_cursor *cursor);
void search_cursor_encode(const struct search_cursor *cursor, char ret_text[SEARCH_CURSOR_SIZE]);
/* False when `text` is not a cursor of ours. */
bool search_cursor_decode(struct text text, struct search_cursor *ret_cursor);
/* For tests: negative if a page shows `a` before `b`. Both have the same sort. */
int search_cursor_compare(const struct search_cursor *a, const struct search_cursor *b);

/* For tests: whether the order is one that the search is for, regardless of `after`. */
bool search_matches(const struct search *search, const struct order *order);

#endif
