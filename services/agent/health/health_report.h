/* SPDX-License-Identifier: Apache-2.0 */
/* The AgentHealth record of an agent on <p>.agents, key instance/agent: at least every
 * agent.heartbeat.ms; soon after a change that matters to routing, but never more often than every
 * HEALTH_GAP_MS, and never before the broker has acknowledged the previous one: while a broker is
 * away, one record waits for it. A tombstone when the agent drains. */
#ifndef SERVICES_AGENT_HEALTH_HEALTH_REPORT_H
#define SERVICES_AGENT_HEALTH_HEALTH_REPORT_H

#include "replica/cluster/cluster.h"

enum {
    HEALTH_GAP_MS = 100,     /* between two records, whatever happens */
    HEALTH_LOAD_MS = 200,    /* before one that only reports another load */
    HEALTH_CALLS = 256,      /* the latest calls, whose times and outcomes are reported ... */
    HEALTH_CALLS_MS = 60000, /* ... if they ended in this time */
    HEALTH_ERROR_BYTES = 256 /* of the last error */
};

struct health_report;

/* What the report asks of its agent. */
struct health_report_ops {
    /* Fills in what only the agent knows: `capacity`, `in_flight`, `queued`, `partitions` and
     * `circuit`. */
    void (*describe)(void *ctx, struct agent_health *record);
    /* A record that was sent at the monotonic time `sent_us` has its answer; the append time is
     * that of broker_appended_at(). */
    void (*answered)(void *ctx, int64_t sent_us, int64_t appended_at);
};

/* New. `agent` (its name), `ops` and `ctx` are borrowed. `capacity`: what the load is compared with
 * to see whether it has changed much. */
struct health_report *health_report_new(struct cluster *cluster, const char *agent,
                                        uint32_t capacity, const struct health_report_ops *ops,
                                        void *ctx);
/* After cluster_close(). NULL does nothing. */
void health_report_free(struct health_report *health);
/* The cluster is ready: reporting begins. */
void health_report_start(struct health_report *health);
/* The last record, a tombstone. */
void health_report_stop(struct health_report *health);

/* A call ended. Cheap: allocates nothing, sends nothing from here. `why`: what is wrong with the
 * service, if it is unhealthy. */
void health_report_call_ended(struct health_report *health, int64_t took_us, bool unhealthy,
                              struct text why);
/* Calls began or ended: reports the load if it has changed much. */
void health_report_load(struct health_report *health, uint32_t in_flight);
/* The last error, from a probe. */
void health_report_error(struct health_report *health, struct text why);
/* Something changed that matters to routing: reports it soon. */
void health_report_now(struct health_report *health);
/* The same, a moment later: partitions that are revoked mostly come back at once. */
void health_report_soon(struct health_report *health);

#endif
