/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's use of its circuit (circuit.h). Requests are not called while it is open.
 *
 *     opens:     nothing is read or begun any more, the queue is dropped. Running calls go on; if
 *                they end in time, they are reported and committed. Then the agent leaves its
 *                group, so that a healthy instance takes its partitions.
 *     time over: the service is probed, if there is a probe. If it is still unhealthy, the circuit
 *                stays open for longer.
 *     half-open: the agent joins again, with one call at a time, and one more for each that was
 *                healthy, until it closes. Orders that the service failed before (circuit.h) come
 *                last: one at a time, next to the others, whose trial they neither use up nor
 *                decide. */
#ifndef SERVICES_AGENT_HEALTH_BREAKER_H
#define SERVICES_AGENT_HEALTH_BREAKER_H

#include "replica/service/service.h"
#include "services/agent/health/circuit.h"

struct agent_breaker;
struct health_report;

/* What a breaker makes its agent do. */
struct agent_breaker_ops {
    /* Reads and begins nothing more, drops the requests in its queue and gives up the attempts that
     * are not running: the circuit is open. `leave` and `resume` follow. False: the agent does not
     * work anyway. */
    bool (*halt)(void *ctx);
    /* True: nothing is in flight, and everything that was settled is committed. Starts those
     * commits. */
    bool (*commit_all)(void *ctx);
    /* Leaves the group, after a last commit. Running calls may end and report. Does nothing if it
     * is not a member. */
    void (*leave)(void *ctx);
    /* Attempts may start again; joins the group again after `halt`. */
    void (*resume)(void *ctx);
    /* False: no probe begins. Otherwise agent_breaker_probed follows, from inside or later. */
    bool (*probe)(void *ctx);
};

/* What a call is to a half-open circuit. */
enum breaker_trial { BREAKER_NO_TRIAL, BREAKER_TRIAL, BREAKER_LAST_TRIAL };

/* A call that ended. */
struct breaker_call {
    struct text order_id;
    int64_t began_ms;         /* monotonic */
    enum breaker_trial trial; /* as agent_breaker_call_began() said */
    bool unhealthy;           /* the service is */
    struct text why;          /* what is wrong with it */
};

/* New. `agent` (its name), `health`, `ops` and `ctx` are borrowed. */
struct agent_breaker *agent_breaker_new(const struct service_context *service, const char *agent,
                                        struct health_report *health,
                                        const struct agent_breaker_ops *ops, void *ctx);
/* After agent_ops.stop. NULL does nothing. */
void agent_breaker_free(struct agent_breaker *breaker);
/* The agent drains: the circuit stays as it is. */
void agent_breaker_stop(struct agent_breaker *breaker);

enum breaker_trial agent_breaker_call_began(struct agent_breaker *breaker, struct text order_id);
void agent_breaker_call_ended(struct agent_breaker *breaker, const struct breaker_call *call);
/* The end of a probe. `why`: what is wrong with the service, if it is not healthy; of at most
 * MESSAGE_BYTES_MAX. */
void agent_breaker_probed(struct agent_breaker *breaker, bool healthy, struct text why);
/* One more call may begin. */
bool agent_breaker_allows_call(const struct agent_breaker *breaker);
/* The circuit is half-open and this order comes last. */
bool agent_breaker_puts_last(const struct agent_breaker *breaker, struct text order_id);
/* One of those may begin, if no other request may. */
bool agent_breaker_allows_last(const struct agent_breaker *breaker);
/* The most calls at the same time. */
uint32_t agent_breaker_limit(const struct agent_breaker *breaker);
enum agent_circuit agent_breaker_state(const struct agent_breaker *breaker);
/* A call or commit has ended: perhaps the last one before leaving. */
void agent_breaker_progress(struct agent_breaker *breaker, uint32_t in_flight);
/* For /readyz, while the circuit is open. */
void agent_breaker_reason(const struct agent_breaker *breaker, char *ret_reason,
                          size_t reason_size);

#endif
