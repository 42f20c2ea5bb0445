/* SPDX-License-Identifier: Apache-2.0 */
/* The order of service where orders of different priorities queue up: each priority that waits gets
 * its share of the service, so that none starves.
 *
 * Stride scheduling. A priority with nothing waiting saves up nothing: what comes back waits for
 * its share from then on, however long it was away; so high ones that come behind any number of
 * low ones are served before them. Among equals the higher priority goes first. Pure and
 * deterministic; no memory of its own. */
#ifndef REPLICA_SERVICE_SHARES_H
#define REPLICA_SERVICE_SHARES_H

#include "engine/engine.h"
#include "platform/config/config.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHARES_WEIGHT_MAX = 1000 };

struct shares {
    uint64_t stride[PRIORITY_COUNT]; /* what one service costs: the inverse of the weight */
    uint64_t pass[PRIORITY_COUNT];   /* when each is due; the first one is next */
    uint64_t now;                    /* the pass of the last one that was served */
    bool waited[PRIORITY_COUNT];     /* at the last pick */
};

/* Each weight is 1 to SHARES_WEIGHT_MAX: asserts. */
void shares_init(struct shares *shares, const uint32_t weights[PRIORITY_COUNT]);
/* With the weights priority.share.high, .normal and .low. */
void shares_init_configured(struct shares *shares, const struct config *config);
/* The priority to serve next, among those that wait; it counts as served. -1: none waits. */
int shares_pick(struct shares *shares, const bool waiting[PRIORITY_COUNT]);

#endif
