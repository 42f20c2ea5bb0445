/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent does with its circuit (circuit.h): an open one answers nothing into the
 * void.
 *
 *     opens:     nothing is read or begun any more, what was read and not begun is dropped. Calls
 *                that run go on to their ends; what ends in time is reported and committed. Then
 *                the agent leaves its group, so that a healthy instance takes its partitions.
 *     is over:   the service is asked (agent_ops.probe). Still ill: open for longer.
 *     half-open: the agent joins again, with one call at a time, and one more for each that was
 *                fine, until it closes. */
#ifndef SERVICES_AGENT_HEALTH_BREAKER_H
#define SERVICES_AGENT_HEALTH_BREAKER_H

#include "services/agent/core/core.h"
#include "services/agent/health/circuit.h"

struct agent_breaker;

struct agent_breaker *breaker_new(struct agent *agent);
/* After agent_ops.stop. NULL is fine. */
void breaker_free(struct agent_breaker *breaker);
/* The agent drains: nothing is opened or joined any more. */
void breaker_stop(struct agent_breaker *breaker);

void breaker_call_began(struct agent_breaker *breaker);
/* `ill`: the service was, `why` says how. The attempt may be gone. */
void breaker_call_ended(struct agent_breaker *breaker, int64_t began_ms, bool ill, struct text why);
/* A call more may run. */
bool breaker_has_room(const struct agent_breaker *breaker);
/* At most so many at the same time. */
uint32_t breaker_limit(const struct agent_breaker *breaker);
enum agent_circuit breaker_state(const struct agent_breaker *breaker);
/* The agent wants to join its group. False: not now, the breaker does it later. */
bool breaker_may_join(struct agent_breaker *breaker);
/* Something ended: perhaps that was the last before leaving. */
void breaker_progress(struct agent_breaker *breaker);
/* For /readyz, while it is open. */
void breaker_reason(const struct agent_breaker *breaker, char *ret_reason, size_t reason_size);

#endif
