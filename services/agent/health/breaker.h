/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's use of its circuit (circuit.h). Requests are not called while it is open.
 *
 *     opens:     nothing is read or begun any more, the queue is dropped. Running calls go on; if
 *                they end in time, they are reported and committed. Then the agent leaves its
 *                group, so that a healthy instance takes its partitions.
 *     time over: the service is probed (agent_ops.probe). If it is still unhealthy, the circuit
 *                stays open for longer.
 *     half-open: the agent joins again, with one call at a time, and one more for each that was
 *                healthy, until it closes. Orders that the service failed before (circuit.h) come
 *                last: one at a time, next to the others, whose trial they neither use up nor
 *                decide. */
#ifndef SERVICES_AGENT_HEALTH_BREAKER_H
#define SERVICES_AGENT_HEALTH_BREAKER_H

#include "services/agent/core/core.h"
#include "services/agent/health/circuit.h"

struct agent_breaker;

struct agent_breaker *agent_breaker_new(struct agent *agent);
/* After agent_ops.stop. NULL does nothing. */
void agent_breaker_free(struct agent_breaker *breaker);
/* The agent drains: the circuit stays as it is. */
void agent_breaker_stop(struct agent_breaker *breaker);

void agent_breaker_call_began(struct agent_breaker *breaker, struct agent_attempt *attempt);
/* `why`: what is wrong with the service, if it is unhealthy. */
void agent_breaker_call_ended(struct agent_breaker *breaker, const struct agent_attempt *attempt,
                              bool unhealthy, struct text why);
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
void agent_breaker_progress(struct agent_breaker *breaker);
/* For /readyz, while the circuit is open. */
void agent_breaker_reason(const struct agent_breaker *breaker, char *ret_reason,
                          size_t reason_size);

#endif
