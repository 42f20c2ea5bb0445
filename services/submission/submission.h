/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service takes untrusted input: it reads <p>.submissions and HTTP requests,
 * validates each input (validate.h), and appends the accepted ones to <p>.commands on the order's
 * partition. A refused record goes to the dead letters and, if the reply topic can be trusted, back
 * as a `Rejected` status.
 *
 * At-least-once: an offset of submissions is committed once its command, or its dead letter and
 * status, is acknowledged, in order. Everything is asynchronous; a record that has to wait (for a
 * schema, a workflow, a reply topic, the schema registry) does not delay its neighbours.
 *
 * The position of a refusal's status: command_partition is -1 - PARTITION and command_offset the
 * offset, both of submissions, so that receivers can deduplicate by them and never take them for a
 * position of commands.
 *
 * This header is for the files of this folder. */
#ifndef SERVICES_SUBMISSION_SUBMISSION_H
#define SERVICES_SUBMISSION_SUBMISSION_H

#include "replica/cluster/cluster.h"
#include "services/submission/replies.h"
#include "services/submission/validate.h"

/* Reading <p>.schemas or <p>.workflows to its end, or the list of topics: one reading at a time
 * serves all that wait. */
struct refresh {
    struct submission *submission;
    void (*read)(struct refresh *refresh);
    unsigned bit;     /* FRESH_... (validate.h) */
    int64_t pause_ms; /* at least, from the beginning of one reading to that of the next */
    int64_t begun_ms; /* monotonic */
    struct loop_timer timer;
    uint64_t begun;
    uint64_t finished;
    uint64_t wanted;
    bool running;
};
/* refresh_is_done(ticket) is true once a reading that began after this call has ended. */
uint64_t refresh_ticket(struct refresh *refresh);
static inline bool refresh_is_done(const struct refresh *refresh, uint64_t ticket)
{
    return refresh->finished >= ticket;
}

enum {
    IN_FLIGHT_BYTES_MAX = 64 << 20, /* what is kept of unsettled records and requests */
    COMMIT_TICK_MS = 100,
    TOPICS_PAUSE_MS = 1000 /* between two looks at the list of topics */
};

struct submission_metrics {
    struct metrics_counter *accepted_kafka;
    struct metrics_counter *accepted_http;
    struct metrics_counter *refused_kafka;
    struct metrics_counter *refused_http;
    struct metrics_counter *rewinds;
    struct metrics_gauge *in_flight;
    struct metrics_gauge *waiting;
    struct metrics_histogram *latency;
};

struct submission_partition;
struct http_api;
struct order_api;
struct order_lookup;

struct submission {
    struct service_context *service;
    struct cluster *cluster;
    struct validator validator;
    struct replies replies;
    struct refresh schemas;
    struct refresh workflows;
    struct refresh topics;
    struct broker_group *group;
    bool assigned;
    bool draining;
    bool left;
    uint32_t committing;                            /* outstanding commits */
    struct submission_partition **partitions;       /* by partition; NULL where not ours */
    int32_t partition_count;                        /* of the array */
    struct submission_partition *closed_partitions; /* answers of the broker are outstanding */
    uint64_t in_flight_bytes;
    struct http_api *api;        /* NULL: no HTTP */
    struct order_api *orders;    /* the same */
    struct order_lookup *lookup; /* NULL: submission.console.url is not set */
    struct heap_arena scratch;
    struct loop_timer tick;
    struct submission_metrics metrics;
    char group_name[TOPIC_NAME_SIZE];
};

/* ---- the handlers of the service, also for tests ---- */

/* New. `broker` NULL: connects as the configuration says; else it is stolen, also on failure
 * (tests). Errors are cluster_open's. */
enum error_class submission_open(struct service_context *service, struct broker *broker,
                                 struct submission **ret_submission, struct error *ret_error);
void submission_close(struct submission *submission);
/* For /readyz: false with a reason. */
bool submission_ready(void *submission, char *ret_reason, size_t reason_size);
/* For /readyz of an instance that is ready: true with what operators should know. */
bool submission_degraded(void *submission, char *ret_reason, size_t reason_size);

/* ---- for the files of services/submission/ ---- */

/* Appends an accepted command to its partition of commands. RETRY: the queue is full. REJECT: it is
 * too large. */
enum error_class submission_append(struct submission *submission, const struct command *cmd,
                                   broker_appended done, void *ctx, uint64_t token,
                                   struct error *ret_error);

/* ---- one partition of submissions (partition.c) ---- */

/* New. Fetches the committed offset and reads from there, or from the start if there is none. */
struct submission_partition *submission_partition_new(struct submission *submission,
                                                      int32_t partition);
/* Stops at once; frees itself when the last acknowledgement has come. */
void submission_partition_close(struct submission_partition *partition);
/* The broker is closed: no more acknowledgements arrive. */
void submission_partitions_free_closed(struct submission *submission);
/* Reading stops, what is in flight goes on. */
void submission_partition_suspend(struct submission_partition *partition, bool suspended);
/* Checks again what waits, and whether to pause. */
void submission_partition_wake(struct submission_partition *partition);
/* The offset that may be committed, if it has not been given yet; else -1. */
int64_t submission_partition_take_commit(struct submission_partition *partition);
/* The commit failed: it is repeated. */
void submission_partition_commit_failed(struct submission_partition *partition);
/* Not acknowledged yet, without those that wait. */
uint32_t submission_partition_in_flight(const struct submission_partition *partition);
uint32_t submission_partition_waiting(const struct submission_partition *partition);
/* True, with a reason for operators: for a while, it has read nothing because of what waits. */
bool submission_partition_held_up(const struct submission_partition *partition, char *ret_reason,
                                  size_t reason_size);
/* True, with a reason for operators: for a while, nothing that it read has been settled. */
bool submission_partition_stuck(const struct submission_partition *partition, char *ret_reason,
                                size_t reason_size);

/* ---- HTTP (http_api.c) ---- */

extern const struct http_routes http_api_routes;
struct http_api *http_api_new(struct submission *submission);
void http_api_wake(struct http_api *api);
uint32_t http_api_in_flight(const struct http_api *api);
/* Takes no more requests. NULL is allowed. */
void http_api_drain(struct http_api *api);
/* Answers the outstanding requests. */
void http_api_free(struct http_api *api);

#endif
