/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one partition of a topic from its beginning for as long as the service runs. An error is
 * logged when it begins or its reason changes. After one that ends the reading, the partition is
 * read from its beginning again, a while later: for topics whose records may be read twice. The log
 * has its own readers (replica/follow/). Loop thread only. */
#ifndef REPLICA_CLUSTER_TOPIC_READER_H
#define REPLICA_CLUSTER_TOPIC_READER_H

#include "replica/cluster/cluster.h"

struct topic_reader_ops {
    void (*record)(void *ctx, const struct broker_record *record);
    /* As of broker_reader_ops; may be NULL. */
    void (*end)(void *ctx, int64_t next_offset);
    /* The partition will be read from its beginning again: it was created again, or its beginning
     * expired while it was read. May be NULL. */
    void (*again)(void *ctx);
};

/* The caller's struct, which stays put while it is open. */
struct topic_reader {
    struct cluster *cluster;
    const char *topic;
    int32_t partition;
    int64_t again_ms; /* from a break to the next try */
    const struct topic_reader_ops *ops;
    void *ctx;
    struct broker_reader *reader; /* NULL: it is not read now */
    struct error trouble;         /* why it cannot be read; OK: it can */
    int64_t retried;              /* the last offset that topic_reader_retry() read again, or -1 */
    bool awaits_schemas;
    struct loop_timer timer; /* opens it */
};

/* Begins to read. `topic` and `ops` are borrowed. */
void topic_reader_init(struct topic_reader *reader, struct cluster *cluster, const char *topic,
                       int32_t partition, int64_t again_ms, const struct topic_reader_ops *ops,
                       void *ctx);
/* Begins again from the beginning in a later callback; does nothing where that is about to
 * happen. `ops->again` is not called. */
void topic_reader_restart(struct topic_reader *reader);
/* Of the record in hand, which could not be decoded. If a newer version may have written it, its
 * writer's schema is looked for, once, and the partition is read again from this record on: true,
 * and the record must be left. */
bool topic_reader_retry(struct topic_reader *reader, const struct broker_record *record,
                        const struct error *error);
/* No callback comes after this. A zeroed or closed one is left as it is. */
void topic_reader_close(struct topic_reader *reader);

#endif
