/* SPDX-License-Identifier: Apache-2.0 */
/* <p>.schedules, followed into a registry for as long as its owner wants it: the leader of the role
 * "schedules", the console, the command line. Loop thread only. */
#ifndef REPLICA_SCHEDULES_SCHEDULE_TOPIC_H
#define REPLICA_SCHEDULES_SCHEDULE_TOPIC_H

#include "replica/cluster/cluster.h"
#include "schedule/registry.h"

struct schedule_topic;

struct schedule_topic_ops {
    /* A record was folded, or the schedule is gone because the topic is read again. NULL: not
     * wanted. */
    void (*changed)(void *ctx, struct text name);
    /* The end was reached; called each time. NULL: not wanted. */
    void (*ended)(void *ctx);
};

/* New. Reads the topic from its start. `cluster` is borrowed and must be ready (the topic need not
 * exist: it is looked for again). At most one for a `cluster`, which has one reader of each
 * partition. */
struct schedule_topic *schedule_topic_follow(struct cluster *cluster,
                                             const struct schedule_topic_ops *ops, void *ctx);
/* Before cluster_close(). NULL does nothing. */
void schedule_topic_free(struct schedule_topic *topic);
/* The topic was read to its end once: before that, a schedule that is not there may only not have
 * been read yet. */
bool schedule_topic_is_complete(const struct schedule_topic *topic);
/* Why it cannot be read; NULL: it can. */
const struct error *schedule_topic_trouble(const struct schedule_topic *topic);
const struct schedule_registry *schedule_topic_registry(const struct schedule_topic *topic);
/* Offset of the record that was read last; -1: none. */
int64_t schedule_topic_offset(const struct schedule_topic *topic);

#endif
