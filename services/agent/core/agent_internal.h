/* SPDX-License-Identifier: Apache-2.0 */
/* struct agent, and what the files of core/ share; no other folder includes this.
 *
 *     agent.c       phases, membership, the clock, draining
 *     calls.c       the calls of the vtable: the SDK's agent_call_ functions
 *     attempts.c    which attempt runs when, without I/O
 *     intake.c      requests, the queue, commits; partitions.c: where reading begins
 *     reports.c     reports to the scheduler
 *     callbacks.c   reports of the remote service over HTTP */
#ifndef SERVICES_AGENT_CORE_AGENT_INTERNAL_H
#define SERVICES_AGENT_CORE_AGENT_INTERNAL_H

#include "kafka/clock_guard.h"
#include "services/agent/core/core.h"

struct agent_callbacks;
struct agent_intake;
struct agent_metrics;
struct agent_reports;
struct answer_cache;
struct health_report;
struct trace_export;

struct agent_probe {
    struct agent *agent;
};

struct agent {
    struct service_context *service;
    const struct agent_ops *ops;
    void *ctx; /* of ops */
    char name[NAME_BYTES_MAX + 1];
    char topic[TOPIC_BYTES_MAX + 1]; /* <p>.requests.<name> */
    char group_name[TOPIC_BYTES_MAX + 1];
    struct cluster *cluster;
    struct broker_group *group; /* NULL while not a member */
    struct attempts *attempts;
    struct agent_intake *intake;
    struct agent_reports *reports;
    struct answer_cache *answers; /* NULL: nothing is remembered */
    struct agent_callbacks *callbacks;
    struct agent_metrics *metrics;
    struct trace_export *trace_export; /* of the calls; NULL: traces.url is empty */
    struct agent_breaker *breaker;
    struct agent_probe probe; /* of ops */
    struct health_report *health;
    struct clock_guard clock_guard;
    bool clock_measured;       /* or it took too long: calls may begin */
    struct heap_arena scratch; /* of the texts of a call, until they are copied */
    enum agent_phase phase;
    bool started;            /* ops->start succeeded */
    bool assigned;           /* since it joined, partitions were assigned, or none */
    struct loop_timer timer; /* of the phase */
    void (*drained)(void *ctx);
    void *drained_ctx;
};

/* ---- agent.c ---- */

/* An attempt, a dead letter or a commit has ended: a drain may be over. */
void agent_progress(struct agent *agent);
/* Whether calls may begin: the clock has been compared with the brokers', or cannot be. */
bool agent_clock_is_measured(const struct agent *agent);

/* ---- calls.c ---- */

extern const struct attempts_ops agent_attempts_ops; /* ctx: the agent */
/* For the breaker; ctx: the agent. */
bool agent_begin_probe(void *ctx);

/* ---- intake.c, partitions.c ---- */

struct agent_intake *agent_intake_new(struct agent *agent);
void agent_intake_free(struct agent_intake *intake);
/* Exactly these partitions are read from now on. */
void agent_intake_assign(struct agent_intake *intake, const int32_t *partitions, uint32_t count);
/* Nothing is read until the next assignment. `lost`: other members may have gone on already. */
void agent_intake_revoke(struct agent_intake *intake, bool lost);
/* Reads nothing any more; requests in flight may still be settled and committed. */
void agent_intake_drain(struct agent_intake *intake);
/* Reads and begins nothing more and drops its queue, until the next assignment; requests in flight
 * may still be settled and committed. agent_intake_close must follow. */
void agent_intake_halt(struct agent_intake *intake);
/* Closes all readers and forgets the partitions. */
void agent_intake_close(struct agent_intake *intake);
/* The reason why queued requests wait may be gone. */
void agent_intake_continue(struct agent_intake *intake);
void agent_intake_settled(struct agent_intake *intake, const struct request_receipt *receipt);
/* A queued request may begin, if the circuit limits the calls. */
void agent_intake_call_ended(struct agent_intake *intake);
/* Partitions that are assigned. */
uint32_t agent_intake_partitions(const struct agent_intake *intake);
/* No settled request waits for its commit, no dead letter for its acknowledgement. */
bool agent_intake_idle(const struct agent_intake *intake);
/* Commits what may be committed, now. */
void agent_intake_commit(struct agent_intake *intake);
/* False: a partition waits for a newer version of the agent. */
bool agent_intake_ready(const struct agent_intake *intake, char *ret_reason, size_t reason_size);

/* ---- reports.c ---- */

struct agent_reports *agent_reports_new(struct agent *agent);
void agent_reports_free(struct agent_reports *reports);
/* Remembers the attempt's outcome at the end of this turn, then appends its report until it is
 * acknowledged, then calls attempts_reported. */
void agent_reports_send(struct agent_reports *reports, struct agent_attempt *attempt);
/* Appends ExtendStep. RETRY: the queue to the broker is full. */
enum error_class agent_reports_extend(struct agent *agent, const struct extend_step *extension,
                                      broker_appended done, void *ctx, struct error *ret_error);

/* ---- metrics.c ---- */

enum agent_call_outcome {
    AGENT_CALL_SUCCEEDED,
    AGENT_CALL_FAILED,
    AGENT_CALL_RETRIABLE,
    AGENT_CALL_ACCEPTED, /* answered later, by a callback */
    AGENT_CALL_OUTCOME_COUNT
};

struct agent_metrics *agent_metrics_new(struct agent *agent);
void agent_metrics_free(struct agent_metrics *metrics);
void agent_metrics_call(struct agent_metrics *metrics, enum agent_call_outcome outcome, int64_t us);
void agent_metrics_dead_letter(struct agent_metrics *metrics);
void agent_metrics_report_repeated(struct agent_metrics *metrics);

#endif
