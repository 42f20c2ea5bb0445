/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of the read model: follows events[p] into a store with history and indexes, keeps
 * the counts of its orders and its owner in memory. Never writes to Kafka. */
#ifndef SERVICES_CONSOLE_MODEL_PARTITION_H
#define SERVICES_CONSOLE_MODEL_PARTITION_H

#include "replica/follow/follower.h"
#include "services/console/model/order_counts.h"
#include "services/console/model/stats.h"

struct console_partition;

/* The latest Claim. */
struct console_claim {
    bool known;
    int64_t offset; /* where the Claim was trimmed: of the Continuation that names it */
    struct uuid claim_id;
    char instance[WHO_BYTES_MAX + 1];
    int64_t claimed_at;
};

enum { CONSOLE_CLAIMS = 64 /* the latest ones that are kept */ };

/* An operator's latest one. */
struct console_reset {
    bool known;
    int64_t offset;
    int64_t reset_at;
    char by[WHO_BYTES_MAX + 1];
    char reason[MESSAGE_BYTES_MAX + 1];
};

/* Called for each admitted Decision. */
typedef void (*console_partition_decided)(void *ctx, struct console_partition *partition,
                                          const struct broker_record *record,
                                          const struct view_folded *folded);

/* Earlier answers about the partition may be wrong: an operator has reset it, or the log was
 * folded again, or read on after a stop. Answers about it are current. */
typedef void (*console_partition_renewed)(void *ctx);

/* New. FATAL when the store's directory cannot be used. */
enum error_class console_partition_new(struct cluster *cluster, int32_t number,
                                       const struct view_options *options,
                                       console_partition_decided decided,
                                       console_partition_renewed renewed, void *ctx,
                                       struct console_partition **ret_partition,
                                       struct error *ret_error);
/* Commits what is folded. */
void console_partition_free(struct console_partition *partition);

int32_t console_partition_number(const struct console_partition *partition);
/* What is folded now is new, rather than history read again. */
bool console_partition_is_live(const struct console_partition *partition);
/* Whether answers about the partition are complete now; else the reason, in one line. */
bool console_partition_is_current(const struct console_partition *partition, char *ret_reason,
                                  size_t size);
/* Whether each of them was folded to its end since the process started; answers about it may be out
 * of date since. Else the reason, in one line; count 0: there are none yet. */
bool console_partitions_are_ready(struct console_partition *const partitions[], int32_t count,
                                  char *ret_reason, size_t size);
/* FATAL when an operator has to act: see replica/follow/follower.h. */
bool console_partition_is_stopped(const struct console_partition *partition,
                                  const struct error **ret_error);

/* Before scans: commits what is folded to the store. False: the store was just dropped. */
bool console_partition_settle(struct console_partition *partition);
/* A scan or a lookup failed: the store is dropped and folded again. */
void console_partition_damaged(struct console_partition *partition, const struct error *error);
struct view *console_partition_view(struct console_partition *partition);
const struct order_counts *console_partition_counts(const struct console_partition *partition);
const struct console_claim *console_partition_claim(const struct console_partition *partition);
/* The n-th latest claim, from 0; NULL: it is not kept. */
const struct console_claim *console_partition_claim_at(const struct console_partition *partition,
                                                       uint32_t n);
const struct stats *console_partition_stats(const struct console_partition *partition);
const struct console_reset *console_partition_reset(const struct console_partition *partition);
/* Records of events[p] that are not folded yet. */
int64_t console_partition_lag(const struct console_partition *partition);

#endif
