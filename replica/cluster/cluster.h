/* SPDX-License-Identifier: Apache-2.0 */
/* The Kafka cluster as one process sees it: the broker, the topics' names, the codec with the
 * schemas that others wrote, the deployed workflows.
 *
 * cluster_open() connects, checks the topics, publishes this build's schemas to <p>.schemas before
 * anything is written, and follows <p>.schemas and, if the flag is set, <p>.workflows. It becomes
 * ready while the loop runs. */
#ifndef REPLICA_CLUSTER_CLUSTER_H
#define REPLICA_CLUSTER_CLUSTER_H

#include "base/heap_arena.h"
#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/topics/topics.h"
#include "replica/cluster/dead_letter.h"
#include "replica/service/service.h"
#include "schemas/avro/codec.h"
#include "workflow/registry.h"

enum {
    CLUSTER_FOLLOWS_WORKFLOWS = 1,
    /* Little waits for what it reads: records come in larger pieces, up to 100 ms later, which
     * spares the brokers (and this process) most of its fetches, also when there is nothing to
     * read. A supervisor with much to ask for waits for Decisions: the pieces are not larger, as it
     * would keep more commands on their way for the same rate. */
    CLUSTER_READS_IN_BULK = 2,
    /* It folds the log: that began with as many partitions as there are now. */
    CLUSTER_CHECKS_LOG = 4,
    /* It reads or writes records of applications: schema.registry.url counts. */
    CLUSTER_HAS_APPLICATIONS = 8
};

struct leader_topic;
struct schema_registry;

/* Called once: schemas are published and read to their end, and so are workflows if they are
 * followed. The service may begin. */
typedef void (*cluster_ready)(void *ctx);

struct cluster {
    struct service_context *service; /* borrowed; config, loop, clock, metrics, http */
    struct broker *broker;
    struct codec *codec;
    struct topics topics;
    struct workflow_registry *workflows; /* NULL unless CLUSTER_FOLLOWS_WORKFLOWS */
    int32_t partition_count;             /* N of commands and events */
    bool ready;
    bool silent;                     /* a command: it reports a stopped partition by itself */
    size_t effect_bytes;             /* of all emitters, with the effects producer */
    struct leader_topic *leadership; /* of leader/: NULL unless this process is a candidate */
    struct heap_arena scratch;       /* each callback resets it at its start */
    cluster_ready on_ready;
    void *ctx;
    const char *const *json_replies; /* applications; the configuration's */
    size_t json_reply_count;
    struct schema_registry *registry; /* of schema.registry.url; NULL: there is none */
    struct cluster_private *private;
};

static inline struct loop *cluster_loop(const struct cluster *cluster)
{
    return cluster->service->loop;
}

/* Monotonic, as of the loop's turn. */
static inline int64_t cluster_now_ms(const struct cluster *cluster)
{
    return loop_now_ms(cluster_loop(cluster));
}

/* New. RETRY "BrokerUnavailable" when nothing answers in start.timeout.ms, REJECT "TopicsMissing"
 * with what to do, REJECT "PartitionsDiffer" or "Topics". */
enum error_class cluster_open(struct service_context *service, unsigned flags,
                              cluster_ready on_ready, void *ctx, struct cluster **ret_cluster,
                              struct error *ret_error);
/* The same over a broker that is there already (stolen, also on failure): for tests and the
 * simulation. */
enum error_class cluster_open_on(struct service_context *service, struct broker *broker,
                                 unsigned flags, cluster_ready on_ready, void *ctx,
                                 struct cluster **ret_cluster, struct error *ret_error);
void cluster_close(struct cluster *cluster);

/* A topic of the log has another number of partitions than when the cluster opened: ends the
 * service. */
void cluster_partitions_changed(struct cluster *cluster, const char *topic, int32_t count);

enum { CLUSTER_KAFKA_SETTINGS_MAX = 256 };

struct cluster_kafka_options {
    struct kafka_setting
        settings[CLUSTER_KAFKA_SETTINGS_MAX + 2]; /* two of CLUSTER_READS_IN_BULK */
    struct kafka_client_options options;          /* points into this struct: it stays put */
};

/* For functions that connect by themselves (kafka/topics/topics.h). All borrowed from the
 * configuration. REJECT "Config" for too many settings. */
enum error_class cluster_kafka_options(const struct config *config, unsigned flags,
                                       struct cluster_kafka_options *ret_options,
                                       struct error *ret_error);

/* Encodes and appends with key = order_id and the order's partition (of N) unless `partition` >= 0.
 * Commands are batched under load: they have many writers, so that the gap in what one of them has
 * sent means nothing to others. RETRY: queue full. */
enum error_class cluster_append(struct cluster *cluster, enum broker_producer producer,
                                const char *topic, int32_t partition, struct text key,
                                enum record_kind kind, const void *record, broker_appended done,
                                void *ctx, uint64_t token, struct error *ret_error);
/* The bytes of the record that it has encoded last, until the next one. */
struct text cluster_encoded(const struct cluster *cluster);

/* Reads `<p>.schemas` (or `<p>.workflows`) to its present end, then calls `done`. For an unknown
 * fingerprint or workflow version: the record that needs it waits until then, and is tried again,
 * once. A topic that cannot be read delays the record and decides nothing about it. */
typedef void (*cluster_refreshed)(void *ctx);
void cluster_refresh_schemas(struct cluster *cluster, cluster_refreshed done, void *ctx);
void cluster_refresh_workflows(struct cluster *cluster, cluster_refreshed done, void *ctx);
/* A caller that stops waiting, or is freed, cancels: `done` is not called. Returns how many
 * refreshes with this ctx there were. */
uint32_t cluster_refresh_cancel(struct cluster *cluster, const void *ctx);

/* A dead letter of the record, see dead_letter.h. `cut`: what it was before its reader cut it;
 * NULL: it was not cut. Effects producer. */
enum error_class cluster_dead_letter(struct cluster *cluster, const struct broker_record *record,
                                     const struct dead_letter_cut *cut, const char *code,
                                     const char *message, broker_appended done, void *ctx,
                                     uint64_t token, struct error *ret_error);

/* An OperatorAlert about a partition or an instance rather than an order (effects producer, fire
 * and forget; also logged). */
void cluster_alert(struct cluster *cluster, int32_t partition, const struct error *error);
/* Likewise, raised or closed: for what ends by itself. */
void cluster_partition_alert(struct cluster *cluster, int32_t partition, bool raised,
                             enum error_code code, const char *message);
/* Likewise, in the name of the service: any of its instances closes what another one raised. */
void cluster_service_alert(struct cluster *cluster, int32_t partition, bool raised,
                           enum error_code code, const char *message);
/* Closes in the name of `by` what that instance has raised and cannot close any more. `at`: the
 * partition of the topic in which it is, so that the closing comes after it. */
void cluster_close_alert_of(struct cluster *cluster, int32_t at, const char *by, int32_t partition,
                            const char *code, const char *message);
/* The auditor's. It repeats the alert while there are stuck orders, and closes it. One that was
 * not repeated in time is over: its auditor was killed, and the next one raises its own.
 * Its code: CODE_ORDER_STUCK. */
enum { CLUSTER_STUCK_AGAIN_MS = 600000, CLUSTER_STUCK_OVER_MS = 1500000 };
/* As cluster_partition_alert(), about an agent; any instance may close what another one raised. */
void cluster_agent_alert(struct cluster *cluster, bool raised, const char *agent,
                         enum error_code code, const char *message);

#endif
