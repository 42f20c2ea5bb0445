/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of the read model: follows events[p] into a store with history and indexes, keeps
 * the counts of its orders and its owner in memory. Never writes to Kafka. */
#ifndef SERVICES_CONSOLE_PARTITION_H
#define SERVICES_CONSOLE_PARTITION_H

#include "replica/follower.h"

struct console_partition;

/* How many orders there are, by workflow and state. Zeros: none. */
struct order_counts {
    struct order_counts_row {
        char workflow[NAME_BYTES_MAX + 1];
        uint64_t by_state[ORDER_STATE_COUNT];
    } * rows; /* by name: a handful */
    uint32_t row_count;
    uint64_t by_state[ORDER_STATE_COUNT]; /* over all workflows */
};

/* `by` more orders of the workflow are in this state; negative: fewer. */
void order_counts_add(struct order_counts *counts, struct text workflow, enum order_state state,
                      int64_t by);
/* Adds all of `more`. */
void order_counts_merge(struct order_counts *counts, const struct order_counts *more);
uint64_t order_counts_of_workflow(const struct order_counts *counts, struct text workflow);
/* Empty afterwards. */
void order_counts_deinit(struct order_counts *counts);

/* The latest Claim. */
struct console_claim {
    bool known;
    int64_t offset;
    struct uuid claim_id;
    char instance[WHO_BYTES_MAX + 1];
    int64_t claimed_at;
    bool has_reset; /* an operator's */
    char reset_by[WHO_BYTES_MAX + 1];
    char reset_reason[MESSAGE_BYTES_MAX + 1];
};

/* Called for each admitted Decision. */
typedef void (*console_partition_decided)(void *ctx, struct console_partition *partition,
                                          const struct broker_record *record,
                                          const struct view_folded *folded);

/* New. FATAL when the store's directory cannot be used. */
enum error_class console_partition_new(struct cluster *cluster, int32_t number,
                                       const struct view_options *options,
                                       console_partition_decided decided, void *ctx,
                                       struct console_partition **ret_partition,
                                       struct error *ret_error);
/* Commits what is folded. */
void console_partition_free(struct console_partition *partition);

int32_t console_partition_number(const struct console_partition *partition);
/* Folded to its end since the process started; answers about it may be out of date since. */
bool console_partition_was_ready(const struct console_partition *partition);
/* What is folded now is new, rather than history read again. */
bool console_partition_is_live(const struct console_partition *partition);
/* Whether answers about the partition are complete now; else the reason, in one line. */
bool console_partition_is_current(const struct console_partition *partition, char *ret_reason,
                                  size_t size);
/* FATAL when an operator has to act: see replica/follower.h. */
bool console_partition_is_stopped(const struct console_partition *partition,
                                  const struct error **ret_error);

/* Before scans: commits what is folded to the store. False: the store was just dropped. */
bool console_partition_settle(struct console_partition *partition);
/* A scan or a lookup failed: the store is dropped and folded again. */
void console_partition_damaged(struct console_partition *partition, const struct error *error);
struct view *console_partition_view(struct console_partition *partition);
const struct order_counts *console_partition_counts(const struct console_partition *partition);
const struct console_claim *console_partition_claim(const struct console_partition *partition);
/* Records of events[p] that are not folded yet. */
int64_t console_partition_lag(const struct console_partition *partition);

#endif
