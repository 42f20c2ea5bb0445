/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by topics.c (names and specifications), admin.c and admin_settings.c (checks and changes),
 * brokers.c (who knows of them), broker_list.c (which brokers there are), delete.c and rights.c
 * (access rules); client.c connects them. */
#ifndef KAFKA_TOPICS_INTERNAL_H
#define KAFKA_TOPICS_INTERNAL_H

#include "kafka/topics/topics.h"

#include <librdkafka/rdkafka.h>

enum { TOPICS_SETTINGS = 8, TOPICS_VALUE_SIZE = 24 };

struct topics_setting {
    const char *name;
    char value[TOPICS_VALUE_SIZE];
    int64_t at_most;    /* a greater number up to this is as good; 0 = only this value is */
    bool is_durability; /* a greater number is lowered only if the plan allows it */
};

enum topics_match {
    TOPICS_MATCH,
    TOPICS_MATCH_NOT,
    TOPICS_MATCH_STRONGER /* a durability setting that would be lowered */
};

/* The specification of a topic. */
struct topics_spec {
    char name[TOPIC_NAME_SIZE];
    bool keyed; /* has N partitions, else one */
    struct topics_setting settings[TOPICS_SETTINGS];
    size_t setting_count;
};

/* New array: the plan's topics, and the requests and replies topics among `existing`. */
struct topics_spec *topics_specs(const struct topics_plan *plan, const char *const *existing,
                                 size_t existing_count, size_t *ret_count);
/* Sets min.insync.replicas for a topic that has, or is created with, this number of replicas. It
 * follows `planned`, the number in the plan, where that is lower; 0 = the plan has none. A greater
 * number of an operator is as good, as long as there are that many replicas. */
void topics_spec_set_replicas(struct topics_spec *spec, int replicas, int planned);
/* `value` as of the topic; NULL = not set. */
enum topics_match topics_setting_match(const struct topics_setting *setting, const char *value);
/* New array: the settings of commands, events and, if wanted, submissions that every service
 * needs. */
struct topics_spec *topics_essentials(const struct topics_plan *plan, bool submissions,
                                      size_t *ret_count);

/* A client for admin requests. Nothing runs its queue: it makes every request wait. */
struct topics_client {
    struct kafka_client_options kafka; /* .oauth: this client's; others may share it */
    bool owns_oauth;
    rd_kafka_t *rk;
};

/* client.c: REJECT "Config" if the settings are invalid. `kafka` is borrowed until the client is
 * closed; if it has no tokens (.oauth), the client gets its own. */
enum error_class topics_client_open(struct topics_client *client,
                                    const struct kafka_client_options *kafka,
                                    struct error *ret_error);
/* Does nothing if it is all zeros or did not open. */
void topics_client_close(struct topics_client *client);
/* All topics; blocks. RETRY "BrokerUnavailable", or why the brokers refuse the login. */
enum error_class topics_client_metadata(const struct topics_client *client, int timeout_ms,
                                        const struct rd_kafka_metadata **ret_metadata,
                                        struct error *ret_error);

/* brokers.c: whether every broker of `metadata` that answers lists these topics. Blocks. */
bool topics_known_everywhere(const struct kafka_client_options *kafka,
                             const struct rd_kafka_metadata *metadata,
                             const struct topics_spec *specs, size_t count);

#endif
