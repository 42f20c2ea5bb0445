/* SPDX-License-Identifier: Apache-2.0 */
/* The alerts that only the owner of a partition raises, and closes when their cause is gone.
 *
 * Only the group's coordinator knows the owner: a process that was cut off from the brokers learns
 * later that others have taken over. So an alert is not sent before the coordinator has named this
 * instance as the owner, in answer to a question that was asked after the cause and not long ago.
 *
 * An owner that is killed closes nothing. The next one follows <p>.alerts and closes what is open
 * there and was raised by others: each by a record of its own, in the name of its raiser. An
 * instance that starts again closes what it had raised about itself, with its next Claim. An alert
 * that a process was cut off with, and that arrives later, is closed in the same way. Loop thread
 * only. */
#ifndef SERVICES_SCHEDULER_EMITTER_PARTITION_ALERTS_H
#define SERVICES_SCHEDULER_EMITTER_PARTITION_ALERTS_H

#include "replica/cluster/cluster.h"

struct partition_alerts;

enum { PARTITION_ALERTS_MAX = 1000 /* open ones that are remembered: the latest */ };

struct partition_alerts_ops {
    /* Asks the coordinator (broker_group_members()). False: it cannot be asked, so that what runs
     * here counts as owned. */
    bool (*members)(void *ctx, broker_members_done done, void *done_ctx);
    /* This process has claimed the partition and decides its commands. */
    bool (*runs)(void *ctx, int32_t partition);
};

/* New. */
struct partition_alerts *partition_alerts_new(struct cluster *cluster,
                                              const struct partition_alerts_ops *ops, void *ctx);
/* Begins to read <p>.alerts; the cluster is ready. */
void partition_alerts_follow(struct partition_alerts *alerts);
/* The group has been left: it does not answer what it was asked. */
void partition_alerts_left(struct partition_alerts *alerts);
/* All owners are released. Before cluster_close(). NULL does nothing. */
void partition_alerts_free(struct partition_alerts *alerts);

/* Raised once it is known to be true; closed at once, or not raised at all if it was still to be.
 * `alerts` NULL: no other process owns partitions, so that it is known. */
void partition_alert(struct partition_alerts *alerts, struct cluster *cluster, int32_t partition,
                     bool raised, enum error_code code, const char *message);

#endif
