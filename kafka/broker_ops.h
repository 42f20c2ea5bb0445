/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that an implementation of kafka/broker.h provides. broker.c dispatches to them, so
 * that the services run unchanged on librdkafka (client.c) and in memory (the tests).
 *
 * An implementation's structs begin with the ones below. The contracts are those of the functions
 * of the same name in broker.h. */
#ifndef KAFKA_BROKER_OPS_H
#define KAFKA_BROKER_OPS_H

#include "kafka/broker.h"

struct broker_ops {
    enum error_class (*append)(struct broker *broker, const struct broker_append *append,
                               struct error *ret_error);
    uint32_t (*outstanding)(const struct broker *broker, enum broker_producer producer);
    uint64_t (*deaths)(const struct broker *broker, enum broker_producer producer);

    struct broker_reader *(*read)(struct broker *broker, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx);
    void (*reader_pause)(struct broker_reader *reader, bool paused);
    void (*reader_close)(struct broker_reader *reader);
    void (*offsets)(struct broker *broker, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx);

    void (*delete_records)(struct broker *broker, const char *topic, int32_t partition,
                           int64_t before, broker_deleted done, void *ctx);
    void (*position_of)(struct broker *broker, const char *group, const char *topic,
                        int32_t partition, broker_group_position_done done, void *ctx);

    struct broker_group *(*join)(struct broker *broker, const char *group, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx);
    void (*group_commit)(struct broker_group *group, int32_t partition, int64_t offset,
                         const char *note, broker_committed_done done, void *ctx);
    void (*group_committed)(struct broker_group *group, int32_t partition,
                            broker_position_done done, void *ctx);
    /* NULL: not supported. */
    bool (*group_members)(struct broker_group *group, broker_members_done done, void *ctx);
    void (*leave)(struct broker_group *group, void (*left)(void *ctx), void *ctx);

    int32_t (*partition_count)(struct broker *broker, const char *topic, int timeout_ms);
    int32_t (*replica_count)(struct broker *broker, const char *topic, int timeout_ms);
    int32_t (*partition_count_known)(struct broker *broker, const char *topic);
    void (*read_topics)(struct broker *broker, broker_topics_read done, void *ctx);
    void (*watch)(struct broker *broker, const char *topic, int32_t count,
                  broker_partitions_changed changed, void *ctx);
    const char *(*cluster_id)(struct broker *broker, int timeout_ms);
    bool (*connected)(const struct broker *broker);
    /* NULL: never in trouble. */
    bool (*trouble)(const struct broker *broker, char *ret_text, size_t size);
    /* NULL: there are no logins. */
    enum error_class (*refused)(const struct broker *broker, struct error *ret_error);
    void (*free)(struct broker *broker);
};

struct broker {
    const struct broker_ops *ops;
    int64_t appended_at; /* set before each `done` of an append; see broker_appended_at() */
};

struct broker_reader {
    struct broker *broker;
    broker_unreadable unreadable; /* NULL: fatal */
    bool skips_headers;
};

struct broker_group {
    struct broker *broker;
};

#endif
