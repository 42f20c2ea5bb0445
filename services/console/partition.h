/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of the read model: follows events[p] into a store with history and indexes, keeps
 * the counts of its orders and who owns it in memory. Reads, never writes to Kafka. */
#ifndef SERVICES_CONSOLE_PARTITION_H
#define SERVICES_CONSOLE_PARTITION_H

#include "replica/follower.h"
#include "services/console/counts.h"

struct partition;

/* The latest Claim. */
struct partition_claim {
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
typedef void (*partition_decided)(void *ctx, struct partition *partition,
                                  const struct broker_record *record,
                                  const struct view_folded *folded);

/* New. FATAL when the store's directory cannot be used. */
enum error_class partition_new(struct cluster *cluster, int32_t number,
                               const struct view_options *options, partition_decided decided,
                               void *ctx, struct partition **ret_partition,
                               struct error *ret_error);
/* Commits what is folded. */
void partition_free(struct partition *partition);

int32_t partition_number(const struct partition *partition);
/* Folded to its end since the process began: the answers about it may have grown old since. */
bool partition_was_ready(const struct partition *partition);
/* What is folded now is news, rather than history read again. */
bool partition_is_live(const struct partition *partition);
/* Whether answers about the partition are complete now; else why not, in one line. */
bool partition_is_current(const struct partition *partition, char *ret_reason, size_t size);
/* FATAL when an operator has to act: see replica/follower.h. */
bool partition_is_stopped(const struct partition *partition, const struct error **ret_error);

/* Makes the store tell what is folded, before scans. False: the store was dropped just now. */
bool partition_settle(struct partition *partition);
/* A scan or a look-up failed: the store is dropped and folded again. */
void partition_damaged(struct partition *partition, const struct error *error);
struct view *partition_view(struct partition *partition);
struct counts *partition_counts(struct partition *partition);
const struct partition_claim *partition_claim(const struct partition *partition);
/* Records of events[p] still to be folded. */
int64_t partition_lag(const struct partition *partition);

#endif
