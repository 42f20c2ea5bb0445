/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that are in nobody's hand: taken, used, and put back for the next request. Only
 * attempts.c may call this. */
#ifndef SERVICES_AGENT_CORE_ATTEMPT_POOL_H
#define SERVICES_AGENT_CORE_ATTEMPT_POOL_H

#include "services/agent/core/attempts.h"

struct shelf {
    struct agent_attempt *first;
    uint32_t count;
};

/* What lies there is freed. */
void shelf_deinit(struct shelf *shelf);
/* A blank one, of the shelf or new. */
struct agent_attempt *shelf_take(struct shelf *shelf, struct attempts *owner);
/* A blank one, whose memory may hold a request. */
void shelf_put(struct shelf *shelf, struct agent_attempt *attempt);
/* One that was used and is not linked to anything any more. */
void shelf_put_used(struct shelf *shelf, struct agent_attempt *attempt);
/* Also one that is not on the shelf. */
void attempt_free(struct agent_attempt *attempt);

#endif
