/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from a JSON file, one by one: one order (which may span lines), a list of them, or JSON
 * lines (one order a line, read as a stream). */
#ifndef CLI_SUBMIT_ORDERS_FILE_H
#define CLI_SUBMIT_ORDERS_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One line, or a file that is not JSON lines. */
enum { ORDERS_FILE_LINE_MAX = 4 << 20, ORDERS_FILE_DOCUMENT_MAX = 256 << 20 };

/* A file of orders, of any format; new. NULL with REJECT "NoFile", also for a directory. */
FILE *orders_file_open(const char *path, struct error *ret_error);

struct orders_file;

/* New. `in` is borrowed. `lines`: read it as JSON lines without a check of its first line. */
struct orders_file *orders_file_new(FILE *in, bool lines);
void orders_file_free(struct orders_file *file);

enum orders_file_result {
    ORDERS_FILE_ORDER,
    ORDERS_FILE_END,
    ORDERS_FILE_BAD, /* REJECT; the next order can be read */
    ORDERS_FILE_UNREADABLE
};
/* *ret_order, canonical JSON, is borrowed until the next call; *ret_line is where it begins (of a
 * list: 0, with *ret_line the number of the order). */
enum orders_file_result orders_file_next(struct orders_file *file, struct text *ret_order,
                                         int64_t *ret_line, struct error *ret_error);
int64_t orders_file_bytes(const struct orders_file *file);

#endif
