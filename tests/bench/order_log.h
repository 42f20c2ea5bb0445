/* SPDX-License-Identifier: Apache-2.0 */
/* The log of made-up orders, as the engine decides them: of 100 orders one is left in Error, two
 * are in progress and the others Processed, after four Decisions each. Each has one of 50,000
 * customers (every tenth the same one) and two attributes (a channel, and a country: every other
 * order the same one). */
#ifndef TESTS_BENCH_ORDER_LOG_H
#define TESTS_BENCH_ORDER_LOG_H

#include "schemas/avro/codec.h"

struct order_log;

enum { ORDER_LOG_EACH_MS = 10 /* between two submissions */ };

/* Where the records go. The texts are borrowed for the call. */
typedef void (*order_log_append)(void *ctx, int32_t partition, struct text key, struct text value);

/* New. The orders are submitted after `now`, in ms. Begins with a Claim in each partition. */
struct order_log *order_log_new(struct codec *codec, int32_t partitions, int64_t now,
                                order_log_append append, void *ctx);
void order_log_free(struct order_log *log);

/* The orders that follow stand in a Wait of a year, before the first of their three steps: one
 * Decision each. */
void order_log_wait(struct order_log *log);

/* The Decisions of the next order, in the partition of its id. */
void order_log_add(struct order_log *log);

/* The owner has appended a record that is not of this log: an Expiry. */
void order_log_skip(struct order_log *log, int32_t partition);

/* When the latest order was submitted. */
int64_t order_log_now(const struct order_log *log);
/* Of the order that was added last. */
struct order_log_end {
    int32_t partition;
    struct text workflow;
    uint32_t workflow_version;
    enum order_state state;
};
struct order_log_end order_log_end(const struct order_log *log);

#endif
