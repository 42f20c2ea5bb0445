/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded broker keeps: topics with their settings and partitions, and the offsets that
 * consumer groups have committed.
 *
 * In its directory: `journal`, a line of JSON for each change, read at the start and rewritten when
 * it has grown; TOPIC-PARTITION.log, one for each partition. */
#ifndef KAFKA_EMBEDDED_CATALOGUE_H
#define KAFKA_EMBEDDED_CATALOGUE_H

#include "kafka/embedded/offsets.h"
#include "kafka/embedded/partition_log.h"
#include "platform/hash_table.h"

enum {
    CATALOGUE_TOPICS_MAX = 1000,
    CATALOGUE_PARTITIONS_MAX = 4000, /* of all topics; each takes a descriptor */
    CATALOGUE_TOPIC_NAME_MAX = 249,
    CATALOGUE_SETTINGS_MAX = 50, /* of a topic */
};

struct topic_setting {
    char *name;
    char *value;
};

struct kept_partition {
    struct partition_log *log;
    struct partition_log_start start; /* where it is opened */
};

struct topic {
    char name[CATALOGUE_TOPIC_NAME_MAX + 1];
    struct kept_partition *partitions;
    int32_t partition_count;
    struct topic_setting settings[CATALOGUE_SETTINGS_MAX];
    size_t setting_count;
    UT_hash_handle hh;
};

struct catalogue;

/* New. `directory` NULL: all of it ends with the process. */
enum error_class catalogue_open(const char *directory, uint64_t partition_bytes_max,
                                struct catalogue **ret_catalogue, struct error *ret_error);
/* NULL does nothing. */
void catalogue_close(struct catalogue *catalogue);
/* 22 letters: the same for ever. */
const char *catalogue_cluster_id(const struct catalogue *catalogue);

/* ---- topics ---- */

/* NULL: there is none. */
struct topic *catalogue_topic(const struct catalogue *catalogue, struct text name);
/* NULL begins, NULL ends. */
struct topic *catalogue_next(const struct catalogue *catalogue, const struct topic *after);
/* NULL: there is none. */
struct partition_log *catalogue_partition(const struct catalogue *catalogue, struct text topic,
                                          int32_t partition);
rd_kafka_resp_err_t catalogue_check_new(const struct catalogue *catalogue, struct text name,
                                        int32_t partitions);
/* catalogue_check_new() said yes. */
rd_kafka_resp_err_t catalogue_create(struct catalogue *catalogue, struct text name,
                                     int32_t partitions);
rd_kafka_resp_err_t catalogue_grow(struct catalogue *catalogue, struct topic *topic,
                                   int32_t partitions);
/* `value` without data: unset. INVALID_CONFIG: too many, or not plain text. */
rd_kafka_resp_err_t catalogue_set(struct catalogue *catalogue, struct topic *topic,
                                  struct text name, struct text value);
rd_kafka_resp_err_t catalogue_delete(struct catalogue *catalogue, struct topic *topic);
/* NULL: not set. */
const char *topic_setting(const struct topic *topic, const char *name);
bool topic_has_append_time(const struct topic *topic);

/* Deletes the records before `offset`, which is not after the end. */
rd_kafka_resp_err_t catalogue_delete_records(struct catalogue *catalogue, struct topic *topic,
                                             int32_t partition, int64_t offset);
/* The records that are older than their topic's retention.ms. */
void catalogue_expire(struct catalogue *catalogue, int64_t now_ms);

/* ---- offsets ---- */

const struct offsets *catalogue_offsets(const struct catalogue *catalogue);
/* INVALID_REQUEST: a name or `metadata` is not UTF-8. */
rd_kafka_resp_err_t catalogue_commit(struct catalogue *catalogue, struct text group,
                                     struct text topic, int32_t partition, int64_t offset,
                                     struct text metadata);
/* All offsets of a group; GROUP_ID_NOT_FOUND: it has none. */
rd_kafka_resp_err_t catalogue_forget_group(struct catalogue *catalogue, struct text group);

#endif
