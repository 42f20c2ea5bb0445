/* SPDX-License-Identifier: Apache-2.0 */
/* Follows <p>.alerts for the alerts that concern no order: those about orders are in the orders
 * themselves. What is not such an alert, or does not decode, is skipped. A reader that breaks is
 * opened again. Loop thread only. */
#ifndef REPLICA_CLUSTER_ALERT_TOPIC_H
#define REPLICA_CLUSTER_ALERT_TOPIC_H

#include "replica/cluster/cluster.h"

struct alert_topic;

struct alert_topic_ops {
    /* From partition `at` of the topic. All records about one alert (partition, code, by) have the
     * same key, so they come from one partition, in order. Texts are borrowed. */
    void (*alert)(void *ctx, int32_t at, const struct operator_alert *alert);
    /* Partition `at` is read from its beginning again: it was recreated, or its beginning has
     * expired. May be NULL. */
    void (*again)(void *ctx, int32_t at);
};

/* New; begins to read all partitions. */
struct alert_topic *alert_topic_follow(struct cluster *cluster, const struct alert_topic_ops *ops,
                                       void *ctx);
/* Before cluster_close(). NULL does nothing. */
void alert_topic_free(struct alert_topic *topic);
/* The partition has been read to an end that it had. */
bool alert_topic_is_read(const struct alert_topic *topic, int32_t at);

#endif
