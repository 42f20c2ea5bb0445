/* SPDX-License-Identifier: Apache-2.0 */
/* Unused attempts, kept for the next requests. Only attempts.c may call this. */
#ifndef SERVICES_AGENT_CORE_ATTEMPT_POOL_H
#define SERVICES_AGENT_CORE_ATTEMPT_POOL_H

#include "services/agent/core/attempts.h"

struct attempt_pool {
    struct agent_attempt *first;
    uint32_t count;
};

/* Frees the attempts in the pool. */
void attempt_pool_deinit(struct attempt_pool *pool);
/* A blank attempt, from the pool or new. */
struct agent_attempt *attempt_pool_take(struct attempt_pool *pool, struct attempts *owner);
/* Stolen: a blank attempt, whose memory may hold a request. */
void attempt_pool_put(struct attempt_pool *pool, struct agent_attempt *attempt);
/* Stolen: an attempt that was used and that nothing points to any more. */
void attempt_pool_recycle(struct attempt_pool *pool, struct agent_attempt *attempt);
/* Frees an attempt that is not in the pool. */
void agent_attempt_free(struct agent_attempt *attempt);

#endif
