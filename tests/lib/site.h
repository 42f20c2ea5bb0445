/* SPDX-License-Identifier: Apache-2.0 */
/* What tests on the broker in memory share: topics, records into them and from them, a deployed
 * workflow, an open cluster. Each kit has a struct of its own, so these functions take the cluster
 * of brokers and the codec that the kit uses. They abort when something fails, with or
 * without Criterion. */
#ifndef TESTS_LIB_SITE_H
#define TESTS_LIB_SITE_H

#include "replica/cluster/cluster.h"
#include "tests/simulation/broker_memory.h"
#include "tests/simulation/simulated_service.h"

/* ---- topics ---- */

/* `names` end with NULL. */
void site_topics(struct broker_memory_cluster *kafka, int32_t partitions,
                 const char *const names[]);
#define SITE_TOPICS(kafka, partitions, ...) \
    site_topics(kafka, partitions, (const char *const[]){__VA_ARGS__, NULL})
/* The next offset. */
int64_t site_end(const struct broker_memory_cluster *kafka, const char *topic, int32_t partition);
/* The next offsets of the first partitions, added up. */
int64_t site_ends(const struct broker_memory_cluster *kafka, const char *topic, int32_t partitions);

/* ---- commands ---- */

/* SubmitOrder with one line, to be changed and sent. The line is shared by all. */
struct command site_submission(struct text order_id, struct text workflow, uint32_t version);
/* The agent reports that the attempt succeeded. */
struct command site_success(struct text order_id, const struct attempt_ref *ref, struct text agent);

/* ---- records ---- */

/* Returns the offset. */
int64_t site_append(struct broker_memory_cluster *kafka, struct codec *codec, const char *topic,
                    int32_t partition, struct text key, enum record_kind kind, const void *record);
/* To where the order belongs. */
int64_t site_append_command(struct broker_memory_cluster *kafka, struct codec *codec,
                            const char *topic, int32_t partitions, const struct command *cmd);
/* A version of a workflow; `format` is "json" or "yaml". */
void site_deploy(struct broker_memory_cluster *kafka, struct codec *codec, const char *topic,
                 struct text name, uint32_t version, const char *format, struct text source);
/* Its texts are in the arena. */
void site_decode(struct codec *codec, struct text bytes, struct arena *arena,
                 struct record *ret_record);
/* How many alerts with this code are in the first partitions of the topic, raised or closed; what
 * does not decode does not count. */
uint32_t site_alerts(const struct broker_memory_cluster *kafka, struct codec *codec,
                     const char *topic, int32_t partitions, const char *code, bool raised);

/* ---- services ---- */

/* All that can happen happens; no time passes. */
void site_settle(struct broker_memory_cluster *kafka, struct loop *loop);
/* New: a cluster over `broker` (stolen). It becomes ready while the brokers are settled; `on_ready`
 * may be NULL. */
struct cluster *site_open_cluster(struct service_context *service, struct broker *broker,
                                  unsigned flags, cluster_ready on_ready, void *ctx);

#endif
