/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows of a file each order has, counted ahead, so that an order is complete with its last
 * row wherever that stands, and no order waits in memory longer than it must.
 *
 * 16 bytes an order (at most 32 with room to grow): ids are kept as 64-bit hashes. Two ids with the
 * same hash would wait for each other's rows, and come out complete at the end of the file. */
#ifndef CLI_IMPORT_ROW_COUNTS_H
#define CLI_IMPORT_ROW_COUNTS_H

#include "base/text.h"

#include <stddef.h>

struct row_counts {
    struct row_count {
        uint64_t hash; /* 0 = free */
        uint64_t rows;
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t orders;
    uint64_t rows;
};

/* Zero-initialized is empty. */
void row_counts_deinit(struct row_counts *counts);
void row_counts_add(struct row_counts *counts, struct text order_id);
uint64_t row_counts_of(const struct row_counts *counts, struct text order_id);

#endif
