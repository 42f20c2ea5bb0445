/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service: the front door for untrusted input. Reads <p>.submissions and takes HTTP
 * requests, judges each input (validate.h), and appends what is good to <p>.commands on the order's
 * partition. What it refuses goes to the dead letters and, where the sender can be trusted to have
 * asked for it, back as a `Rejected` status.
 *
 * At-least-once: an offset of submissions is committed once its command, or its dead letter and
 * status, is acknowledged, in order. Everything is asynchronous; what has to wait (for a schema, a
 * workflow, a reply topic) is parked while its neighbours go on.
 *
 * The position of a refusal's status: command_partition is -1 - PARTITION and command_offset the
 * offset, both of submissions, so that receivers can deduplicate by them and never take them for a
 * position of commands.
 *
 * This header is for the files of this folder. */
#ifndef SERVICES_SUBMISSION_SUBMISSION_H
#define SERVICES_SUBMISSION_SUBMISSION_H

#include "kafka/clock_guard.h"
#include "replica/cluster.h"
#include "services/submission/validate.h"

/* Reading <p>.schemas or <p>.workflows to its end: one at a time, for all that wait for it. */
struct refresh {
    struct submission *submission;
    void (*read)(struct cluster *cluster, void (*done)(void *ctx, bool fresh), void *ctx);
    uint64_t begun;
    uint64_t finished;
    uint64_t wanted;
    bool running;
};
/* What to wait for: refresh_is_done(ticket) is true once a reading is over that began after this
 * call. */
uint64_t refresh_ticket(struct refresh *refresh);
static inline bool refresh_is_done(const struct refresh *refresh, uint64_t ticket)
{
    return refresh->finished >= ticket;
}

enum {
    IN_FLIGHT_BYTES_MAX = 64 << 20, /* of all partitions; values that are not acknowledged */
    COMMIT_TICK_MS = 100
};

struct submission_metrics {
    struct metrics_counter *accepted_topic;
    struct metrics_counter *accepted_http;
    struct metrics_counter *refused_topic;
    struct metrics_counter *refused_http;
    struct metrics_counter *rewinds;
    struct metrics_gauge *in_flight;
    struct metrics_gauge *parked;
    struct metrics_histogram *latency;
};

struct source;
struct door;

struct submission {
    struct service_context *service;
    struct cluster *cluster;
    struct judge judge;
    struct replies *replies; /* NULL until the cluster is ready */
    struct refresh schemas;
    struct refresh workflows;
    struct broker_group *group;
    bool assigned;
    bool draining;
    bool left;
    uint32_t committing;           /* commits on their way */
    struct source **sources;       /* by partition; NULL where not ours */
    int32_t source_count;          /* of the array */
    struct source *closed_sources; /* answers of the broker are still on their way to them */
    uint64_t in_flight_bytes;
    struct door *door; /* NULL: no HTTP */
    struct clock_guard clock_guard;
    struct heap_arena scratch;
    struct buffer value; /* encoded, for one append */
    struct loop_timer tick;
    struct submission_metrics metrics;
    char group_name[TOPIC_NAME_SIZE];
};

/* New. `broker` NULL: connects as the configuration says; else it is stolen, also on failure
 * (tests). Errors are cluster_open's. */
enum error_class submission_open(struct service_context *service, struct broker *broker,
                                 struct submission **ret_submission, struct error *ret_error);
void submission_close(struct submission *submission);

/* Appends an accepted command to its partition of commands. RETRY: the queue is full. REJECT: it is
 * too large. */
enum error_class submission_append(struct submission *submission, const struct command *cmd,
                                   broker_appended done, void *ctx, uint64_t token,
                                   struct error *ret_error);
int32_t submission_partition_of(const struct submission *submission, struct text order_id);
/* Something that inputs wait for may have come. */
void submission_wake(struct submission *submission);

/* ---- one partition of submissions (partition.c) ---- */

/* New. Asks for the committed offset and reads on from there, from the start if there is none. */
struct source *source_new(struct submission *submission, int32_t partition);
/* Stops at once; frees itself when the last acknowledgement has come. */
void source_close(struct source *source);
/* No acknowledgement will come any more. */
void sources_free_closed(struct submission *submission);
/* Reading stops, what is in flight goes on. */
void source_suspend(struct source *source, bool suspended);
/* Looks again at what is parked, and whether to pause. */
void source_wake(struct source *source);
/* The offset that may be committed, if it has not been given yet; else -1. */
int64_t source_take_commit(struct source *source);
/* The commit failed: give it again. */
void source_commit_failed(struct source *source);
/* Not acknowledged yet, without what is parked. */
uint32_t source_in_flight(const struct source *source);
uint32_t source_parked(const struct source *source);

/* ---- HTTP (http_api.c) ---- */

struct door *door_new(struct submission *submission);
void door_wake(struct door *door);
uint32_t door_in_flight(const struct door *door);
/* Answers what is open. */
void door_free(struct door *door);

#endif
