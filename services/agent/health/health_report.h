/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent says of itself: an AgentHealth record on <p>.agents, key instance/agent, at least
 * every agent.heartbeat.ms; soon after a change that matters to routing, but never more often than
 * every HEALTH_GAP_MS, and never a second one before the broker has taken the first: so what waits
 * for a broker that is away is one record. A tombstone when the agent is drained. */
#ifndef SERVICES_AGENT_HEALTH_HEALTH_REPORT_H
#define SERVICES_AGENT_HEALTH_HEALTH_REPORT_H

#include "services/agent/core/core.h"

enum {
    HEALTH_GAP_MS = 100,     /* between two records, whatever happens */
    HEALTH_LOAD_MS = 200,    /* and before one that only tells another load */
    HEALTH_CALLS = 256,      /* the latest calls, whose times and ends are told ... */
    HEALTH_CALLS_MS = 60000, /* ... if they ended in this time */
    HEALTH_ERROR_BYTES = 256 /* of the last error */
};

struct agent_health_report;

struct agent_health_report *health_new(struct agent *agent);
/* After cluster_close(). NULL is fine. */
void health_free(struct agent_health_report *health);
/* The cluster is ready: it begins. */
void health_start(struct agent_health_report *health);
/* The last word, a tombstone. */
void health_stop(struct agent_health_report *health);

/* A call ended. Costs a few instructions: no memory is taken, nothing is sent from here. */
void health_call_ended(struct agent_health_report *health, int64_t took_us, bool ill,
                       struct text why);
/* Calls begin and end: says so if it is much. */
void health_load(struct agent_health_report *health);
/* The last error, not from a call. */
void health_error(struct agent_health_report *health, struct text why);
/* Something changed that matters to routing. */
void health_now(struct agent_health_report *health);
/* The same, if it lasts: partitions that are revoked mostly come back at once. */
void health_soon(struct agent_health_report *health);

#endif
