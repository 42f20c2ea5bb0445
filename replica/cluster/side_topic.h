/* SPDX-License-Identifier: Apache-2.0 */
/* A topic next to the log that is followed for as long as the service runs: <p>.schemas and
 * <p>.workflows. A reader that breaks is opened again. A caller that misses something in it asks
 * for a refresh, and is answered once the topic is read to the end that it had at the call. */
#ifndef REPLICA_CLUSTER_SIDE_TOPIC_H
#define REPLICA_CLUSTER_SIDE_TOPIC_H

#include "replica/cluster/topic_reader.h"

struct refresh_waiter;

/* <p>.schemas or <p>.workflows, followed. One partition. The caller's struct. */
struct side_topic {
    struct cluster *cluster;
    void (*record)(struct cluster *cluster, const struct broker_record *record);
    void (*first_end)(struct cluster *cluster);
    struct topic_reader reader;
    int64_t position;
    bool ended; /* the end was reached at least once */
    struct refresh_waiter *waiters;
    bool closed;
    bool asking;             /* a query for the end of the topic is on its way */
    uint64_t query;          /* its number: one at a time */
    struct loop_timer timer; /* while refreshes wait */
};

/* Begins to read. `record` is called for each record, `first_end` when the end is reached for the
 * first time. `topic` is borrowed. */
void side_topic_init(struct side_topic *side, struct cluster *cluster, const char *topic,
                     void (*record)(struct cluster *, const struct broker_record *),
                     void (*first_end)(struct cluster *));
/* A zeroed one is closed already. No refresh may be left. An answer may still come, and names the
 * struct. */
void side_topic_close(struct side_topic *side);
/* Reads the topic from its beginning again; refreshes wait for its end as well. */
void side_topic_read_again(struct side_topic *side);
/* Calls done(ctx) once it is read to the end that it has now, however long that takes. */
void side_topic_refresh(struct side_topic *side, cluster_refreshed done, void *ctx);
/* Forgets the refreshes that were asked for with this ctx; returns how many there were. */
uint32_t side_topic_refresh_cancel(struct side_topic *side, const void *ctx);

#endif
