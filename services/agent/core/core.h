/* SPDX-License-Identifier: Apache-2.0 */
/* An agent between Kafka and its vtable, as the other folders of services/agent and the tests see
 * it. services/agent/service.c makes a process of it; tests run it on brokers of their own.
 *
 *     STARTING -> NO_TOPIC -> WORKING <-> CLOCK_OFF, CIRCUIT_OPEN
 *                                |
 *                             DRAINING -> LEAVING -> LEFT
 *
 * A request's offset is committed only when everything before it in its partition is settled
 * (attempts.h defines when that is). */
#ifndef SERVICES_AGENT_CORE_CORE_H
#define SERVICES_AGENT_CORE_CORE_H

#include "replica/cluster/cluster.h"
#include "services/agent/core/agent_ops.h"
#include "services/agent/core/attempts.h"

enum agent_phase {
    AGENT_PHASE_STARTING,     /* the cluster is not ready */
    AGENT_PHASE_NO_TOPIC,     /* the topic of its requests does not exist yet */
    AGENT_PHASE_WORKING,      /* a member of the group */
    AGENT_PHASE_CLOCK_OFF,    /* out of the group, until this machine's clock is right */
    AGENT_PHASE_CIRCUIT_OPEN, /* out of the group, or leaving it: the remote service is unhealthy */
    AGENT_PHASE_DRAINING,     /* nothing new begins; running calls may end and report */
    AGENT_PHASE_LEAVING,
    AGENT_PHASE_LEFT,
    AGENT_PHASE_COUNT
};

struct agent;
struct agent_breaker;

/* REJECT Config: no agent can have this name, or ("") none is set. */
enum error_class agent_name_check(const char *name, struct error *ret_error);
/* New. `broker` is stolen, also on failure; NULL = connects as configured. Errors as of
 * cluster_open, and REJECT Config. */
enum error_class agent_new(struct service_context *service, const struct agent_ops *ops,
                           struct broker *broker, struct agent **ret_agent,
                           struct error *ret_error);
bool agent_ready(const struct agent *agent, char *ret_reason, size_t reason_size);
/* `drained` is called, from here or later, when everything is reported and committed. */
void agent_drain(struct agent *agent, void (*drained)(void *ctx), void *ctx);
/* The loop must have stopped. NULL or half-built is allowed. */
void agent_free(struct agent *agent);

/* ---- what it is and how it is doing ---- */

const char *agent_name(const struct agent *agent);
/* Calls at the same time. */
uint32_t agent_capacity(const struct agent *agent);
/* Requests that were read and have not begun. */
uint32_t agent_queued(const struct agent *agent);
/* The URL for callbacks about this request, new in the arena; empty: this instance accepts none. */
struct text agent_callback_url(const struct agent *agent, const struct step_request *request,
                               struct arena *arena);

/* ---- for tests; pointers are borrowed ---- */

struct cluster *agent_cluster(const struct agent *agent);
/* NULL while it is not a member. */
struct broker_group *agent_group(const struct agent *agent);
const struct attempts *agent_attempts(const struct agent *agent);
struct agent_breaker *agent_breaker(const struct agent *agent);
enum agent_phase agent_phase(const struct agent *agent);

#endif
