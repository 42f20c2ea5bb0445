/* SPDX-License-Identifier: Apache-2.0 */
/* The broker interface over librdkafka 2.0: of any cluster.
 *
 * Handles: one producer each for LOG and EFFECTS, one consumer that only assigns for all readers,
 * one consumer for each group membership. Their queues signal eventfds of the loop; of reeve's code
 * only the reading of OAUTHBEARER tokens (oauth.c) runs on librdkafka's threads. Blocking calls
 * (watermarks, destroying a handle) run as jobs on a few worker threads (client_job.c). */
#ifndef KAFKA_CLIENT_H
#define KAFKA_CLIENT_H

#include "base/error.h"
#include "kafka/broker.h"
#include "platform/loop.h"
#include "platform/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A setting of librdkafka, as kafka.NAME in the configuration. */
struct kafka_setting {
    const char *name;
    const char *value;
};

/* Where tokens for the mechanism OAUTHBEARER come from. */
struct kafka_token_options {
    const char *file;       /* read again before a token expires; NULL or "": none */
    const char *command;    /* a program and its arguments, split at blanks; NULL or "": none */
    const char *extensions; /* NAME=VALUE,...: sent with the token; NULL: none */
    int64_t lifetime_ms;    /* of a token that does not say when it expires */
    int64_t timeout_ms;     /* of the command */
};

struct kafka_oauth;

/* All but the metrics are borrowed for the call; 0 and NULL mean the default. */
struct kafka_client_options {
    const char *bootstrap_servers;        /* NULL: it is among the settings */
    const struct kafka_setting *settings; /* override defaults, but not what guarantees need */
    size_t setting_count;
    struct kafka_token_options token;
    struct kafka_oauth *oauth;     /* topics/ only: shares tokens that are there already */
    const char *client_id;         /* appears in the brokers' logs */
    const char *group_instance_id; /* static membership; NULL: dynamic */
    int64_t session_timeout_ms;    /* 6000 */
    int64_t max_poll_interval_ms;  /* 60000: a loop that hangs this long loses its partitions */
    int64_t read_queue_bytes;      /* fetched ahead, per reader: 4 MiB */
    uint32_t append_queue_records; /* not yet acknowledged, per producer: 500000 */
    uint32_t events_per_turn;      /* of one handle in one turn of the loop: 2000 */
    uint32_t unknown_topic_ms;     /* until a missing topic counts as missing: 3000 */
    /* For reeve_kafka_client_*, until broker_free; NULL: none. The label `client` tells the clients
     * of one process apart. */
    struct metrics *metrics;
    const char *metrics_client;
};

/* New. Does not wait for a connection. `loop` is borrowed until broker_free. An error (class
 * REJECT, code Config) is about the settings.
 *
 * broker_append returns OK or RETRY; any later failure goes to `done`. broker_free waits up to 5 s
 * for outstanding appends and calls `done` of every append, with an error (RETRY, Closed) for
 * those that the brokers did not acknowledge. */
enum error_class kafka_client_new(struct loop *loop, const struct kafka_client_options *options,
                                  struct broker **ret_broker, struct error *ret_error);

/* min.insync.replicas that a topic with this number of replicas has. */
int kafka_min_insync(int replicas);
/* Of librdkafka: "2.0.2". */
const char *kafka_client_version(void);

#endif
