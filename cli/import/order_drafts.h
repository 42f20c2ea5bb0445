/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of a file that are put together row by row, wherever their rows are. */
#ifndef CLI_IMPORT_ORDER_DRAFTS_H
#define CLI_IMPORT_ORDER_DRAFTS_H

#include "cli/import/csv_map.h"

/* How many rows of the file each order has, counted before the orders are put together: an order is
 * complete with its last row, wherever that is, and no order waits in memory longer than it must.
 *
 * 16 bytes an order (at most 32 while it grows): ids are kept as 64-bit hashes. Two ids with the
 * same hash would wait for each other's rows, and be complete at the end of the file. */
struct order_rows {
    struct order_row_count {
        uint64_t hash; /* 0 = free */
        uint64_t rows;
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t orders;
    uint64_t rows;
};

/* Zero-initialized is empty. */
void order_rows_deinit(struct order_rows *counts);
void order_rows_add(struct order_rows *counts, struct text order_id);
uint64_t order_rows_of(const struct order_rows *counts, struct text order_id); /* for tests */

/* Values of fields that no column has. */
struct order_defaults {
    struct text workflow;
    uint32_t workflow_version;
    struct text currency;
    struct text reply_to;
    struct text id_prefix; /* of every order id */
};

/* Lines of orders that wait for more rows, all together: a file in a hostile order must not take
 * all memory. */
enum { DRAFT_LINES_MAX = 1000000 };

struct order_drafts;
struct order_draft;

/* New. All borrowed as long as the drafts live. */
struct order_drafts *order_drafts_new(const struct csv_map *map, const struct order_rows *counts,
                                      const struct order_defaults *defaults);
void order_drafts_free(struct order_drafts *drafts);

/* Adds a row to its order. *ret_complete: the order whose last row this was, else NULL. A row that
 * cannot be part of an order refuses the whole order: REJECT with the reason, for the rejects file.
 * FATAL "TooManyOpen" over DRAFT_LINES_MAX. *ret_complete is set in any case. */
enum error_class order_drafts_add(struct order_drafts *drafts, const struct csv_row *row,
                                  struct order_draft **ret_complete, struct error *ret_error);
/* At the end of the file: the remaining orders, one by one; then NULL. */
struct order_draft *order_drafts_take(struct order_drafts *drafts);

/* Not to be sent: one of its rows was refused. */
bool order_draft_is_refused(const struct order_draft *draft);
int64_t order_draft_line(const struct order_draft *draft);  /* its first row's */
uint64_t order_draft_rows(const struct order_draft *draft); /* for tests */
/* Borrowed until order_draft_free; not validated. */
struct order_details *order_draft_details(struct order_draft *draft);
void order_draft_free(struct order_drafts *drafts, struct order_draft *draft);

#endif
