/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a CSV file is which field of an order: `--map
 * order_id=InvoiceNo,sku=StockCode,...`. Several rows with the same order id are the lines of
 * one order.
 *
 * The columns of `input.NAME` make an object of its members. A cell that is a number, true, false,
 * a list or an object in JSON is that, any other one is a text; `input.NAME:string` is always a
 * text. */
#ifndef CLI_IMPORT_CSV_MAP_H
#define CLI_IMPORT_CSV_MAP_H

#include "base/goods.h"
#include "cli/import/csv.h"
#include "engine/order.h"

enum csv_target {
    CSV_ORDER_ID,
    CSV_CUSTOMER,
    CSV_CURRENCY,
    CSV_SKU,
    CSV_DESCRIPTION,
    CSV_QUANTITY,
    CSV_UNIT_PRICE,
    CSV_PRIORITY,
    CSV_WORKFLOW,
    CSV_REPLY_TO,
    CSV_ATTRIBUTE, /* attributes.NAME; any number of them */
    CSV_INPUT,     /* input.NAME, likewise */
    CSV_TARGET_COUNT
};

enum {
    CSV_INPUTS_MAX = 256,
    CSV_MAP_COLUMNS_MAX = CSV_ATTRIBUTE + ORDER_ATTRIBUTES_MAX + CSV_INPUTS_MAX,
};

struct csv_map {
    struct csv_map_column {
        enum csv_target target;
        char *name;   /* of CSV_ATTRIBUTE and CSV_INPUT */
        bool as_text; /* of CSV_INPUT: whatever the cell looks like */
        char *column;
        size_t index; /* in the file; once bound */
    } columns[CSV_MAP_COLUMNS_MAX];
    size_t count;
    size_t field_count; /* of the header */
};

/* One row, as far as it is mapped. Texts borrow from the row. */
struct csv_order_row {
    struct text texts[CSV_ATTRIBUTE]; /* by csv_target */
    enum priority priority;
    bool has_line;
    struct order_line line;
};

void csv_map_deinit(struct csv_map *map);
/* Adds FIELD=COLUMN[,FIELD=COLUMN...]. REJECT "Usage" for an unknown field, or one given twice. */
enum error_class csv_map_add(struct csv_map *map, const char *specification,
                             struct error *ret_error);
/* Finds the columns in the file's header. REJECT when one is not there, naming those that are. */
enum error_class csv_map_bind(struct csv_map *map, const struct csv_row *header,
                              struct error *ret_error);

/* The order id of a row; empty when the row has too few fields. */
struct text csv_map_order_id(const struct csv_map *map, const struct csv_row *row);
/* REJECT with the reason when the row cannot be part of an order. */
enum error_class csv_map_row(const struct csv_map *map, const struct csv_row *row,
                             struct csv_order_row *ret_row, struct error *ret_error);

#endif
