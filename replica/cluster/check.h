/* SPDX-License-Identifier: Apache-2.0 */
/* Does the Kafka cluster have the topics that reeve needs? Checked when a cluster opens and while
 * it is open: commands and events exist, with the number of partitions (N) with which the log
 * began, and with the settings that nothing is lost without. Part of a cluster; membership reports
 * what it sees. */
#ifndef REPLICA_CLUSTER_CHECK_H
#define REPLICA_CLUSTER_CHECK_H

#include "replica/cluster/cluster.h"

struct cluster_check {
    struct cluster *cluster;
    struct broker_reader *reader; /* of events[0], until a Claim or Continuation is read */
    void (*on_passed)(struct cluster *cluster);
    bool passed;
    bool failed; /* reported */
};

/* Blocks, for up to start.timeout.ms while the brokers do not answer. Sets the cluster's
 * partition_count. `settings`: those of the topics are checked as well. RETRY "BrokerUnavailable",
 * REJECT "TopicsMissing", "PartitionsDiffer" or "Topics". */
enum error_class cluster_check_topics(struct cluster *cluster, bool settings,
                                      struct error *ret_error);

/* Begins to watch N: another number ends the service (REJECT "PartitionsDiffer") with an alert.
 * `reads_log`: the first Claim or Continuation in the log is compared with N; on_passed() follows,
 * never from inside this call. Else it has passed. */
void cluster_check_begin(struct cluster_check *check, struct cluster *cluster, bool reads_log,
                         void (*on_passed)(struct cluster *cluster));
void cluster_check_end(struct cluster_check *check);
/* The topic has another number of partitions than when the cluster opened. */
void cluster_check_changed(void *check, const char *topic, int32_t count);
/* False with FATAL "PartitionsDiffer": a Claim or Continuation says another N; 0: it says none. */
bool cluster_check_partitions(const struct cluster *cluster, int32_t partition,
                              int32_t partition_count, struct error *ret_error);

#endif
