/* SPDX-License-Identifier: Apache-2.0 */
/* The agent between Kafka and its vtable. agent.c: phases, calls, the clock, draining;
 * intake.c: partitions and their requests, commits, dead letters; reports.c: reports.
 * service.c makes a process of it, tests use it on brokers of their own.
 *
 *     STARTING -> NO_TOPIC -> WORKING <-> CLOCK_OFF, CIRCUIT_OPEN
 *                                |
 *                             DRAINING -> LEAVING -> LEFT
 *
 * A request's offset is committed only when everything before it in its partition is settled
 * (attempts.h says when that is). */
#ifndef SERVICES_AGENT_CORE_CORE_H
#define SERVICES_AGENT_CORE_CORE_H

#include "kafka/clock_guard.h"
#include "replica/cluster.h"
#include "services/agent/core/attempts.h"
#include "services/agent/sdk/agent.h"

enum agent_phase {
    AGENT_STARTING,    /* the cluster is not ready */
    AGENT_NO_TOPIC,    /* our topic does not exist yet */
    AGENT_WORKING,     /* a member of the group */
    AGENT_CLOCK_OFF,   /* out of the group: our clock is wrong; looks again later */
    AGENT_SERVICE_ILL, /* out of the group, or about to leave it: the remote service is ill */
    AGENT_DRAINING,    /* nothing new; what runs may end and report */
    AGENT_LEAVING,
    AGENT_LEFT,
    AGENT_PHASE_COUNT
};

struct agent_callbacks;
struct agent_intake;
struct agent_memory;
struct agent_reports;
struct agent_metrics;
struct agent_breaker;
struct agent_health_report;

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
    struct agent_memory *memory; /* NULL: nothing is remembered */
    struct agent_callbacks *callbacks;
    struct agent_metrics *metrics;
    struct agent_breaker *breaker;
    struct agent_health_report *health;
    struct clock_guard clock_guard;
    struct heap_arena scratch; /* of what a call brought, until it is copied */
    enum agent_phase phase;
    bool started;            /* ops->start succeeded */
    bool assigned;           /* since it joined, it was told what it owns */
    struct loop_timer timer; /* of the phase */
    void (*drained)(void *ctx);
    void *drained_ctx;
};

/* New. `broker` is stolen, also on failure; NULL = connects as configured. Errors as of
 * cluster_open, and REJECT Config. */
enum error_class agent_new(struct service_context *service, const struct agent_ops *ops,
                           struct broker *broker, struct agent **ret_agent,
                           struct error *ret_error);
bool agent_ready(const struct agent *agent, char *ret_reason, size_t reason_size);
/* `drained` is called, from here or later, when everything is reported and committed. */
void agent_drain(struct agent *agent, void (*drained)(void *ctx), void *ctx);
/* The loop does not run any more. NULL and half-built is fine. */
void agent_free(struct agent *agent);
const char *agent_phase_name(enum agent_phase phase);

/* ---- intake.c, partitions.c ---- */

struct agent_intake *intake_new(struct agent *agent);
void intake_free(struct agent_intake *intake);
/* Exactly these partitions are read from now on. */
void intake_assign(struct agent_intake *intake, const int32_t *partitions, uint32_t count);
/* Nothing is read until the next assignment. `lost`: others may have gone on already. */
void intake_revoke(struct agent_intake *intake, bool lost);
/* Reads nothing any more; what is in hand may still be settled and committed. */
void intake_drain(struct agent_intake *intake);
/* Reads and begins nothing more, drops what waits, until the next assignment; what is in hand may
 * still be settled and committed. intake_close must follow. */
void intake_halt(struct agent_intake *intake);
/* Closes all readers and forgets the partitions. */
void intake_close(struct agent_intake *intake);
void intake_settled(struct agent_intake *intake, const struct request_origin *origin);
/* Nothing that was settled waits for its commit, no dead letter for its acknowledgement. */
bool intake_idle(const struct agent_intake *intake);
/* Commits what may be committed, now. */
void intake_commit(struct agent_intake *intake);
/* Requests read and not begun. */
uint32_t intake_queued(const struct agent_intake *intake);
/* Partitions that are assigned to this agent. */
uint32_t intake_partitions(const struct agent_intake *intake);

/* ---- reports.c ---- */

struct agent_reports *reports_new(struct agent *agent);
void reports_free(struct agent_reports *reports);
/* Remembers the attempt's outcome at the end of this turn, then appends its report until it is
 * acknowledged, then tells the attempts. */
void reports_send(struct agent_reports *reports, struct agent_attempt *attempt);

/* Appends ExtendStep. RETRY: the queue to the broker is full. */
enum error_class reports_extend(struct agent *agent, const struct extend_step *wish,
                                broker_appended done, void *ctx, struct error *ret_error);

/* ---- metrics.c ---- */

enum agent_call_end {
    AGENT_CALL_SUCCEEDED,
    AGENT_CALL_FAILED,
    AGENT_CALL_RETRIABLE,
    AGENT_CALL_ACCEPTED, /* answered later, by a callback */
    AGENT_CALL_ENDS
};

struct agent_metrics *agent_metrics_new(struct agent *agent);
void agent_metrics_free(struct agent_metrics *metrics);
void agent_metrics_call(struct agent_metrics *metrics, enum agent_call_end end, int64_t us);
void agent_metrics_dead_letter(struct agent_metrics *metrics);
void agent_metrics_report_repeated(struct agent_metrics *metrics);

/* ---- agent.c, for the others ---- */

/* Calls at the same time. */
uint32_t agent_capacity(const struct agent *agent);

/* Joins the group, or later, if the circuit is open. */
void agent_join(struct agent *agent);
/* Leaves it: nothing is read any more; what does not run is given up, what runs may end and
 * report. */
void agent_leave(struct agent *agent);
/* An attempt, a dead letter or a commit came to its end: a drain may be over. */
void agent_progress(struct agent *agent);
/* The append time of a request. `fresh`: it was appended just now; an old one says nothing unless
 * it comes from the future. False: the clock is off, and the agent is leaving the group. */
bool agent_clock_is_right(struct agent *agent, int64_t append_time, bool fresh);

#endif
