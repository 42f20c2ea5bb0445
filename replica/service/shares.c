/* SPDX-License-Identifier: Apache-2.0 */
/* See shares.h. */
#include "replica/service/shares.h"

#include <assert.h>

/* Divided by a weight it is a stride. At a stride of 2^20 a pass lasts for 10^13 picks. */
enum { STRIDE_ONE = 1 << 20 };

void shares_init(struct shares *shares, const uint32_t weights[PRIORITY_COUNT])
{
    *shares = (struct shares){.now = 0};
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        assert(weights[priority] >= 1 && weights[priority] <= SHARES_WEIGHT_MAX);
        shares->stride[priority] = STRIDE_ONE / weights[priority];
    }
}

void shares_init_configured(struct shares *shares, const struct config *config)
{
    const uint32_t weights[PRIORITY_COUNT] = {
        [PRIORITY_HIGH] = (uint32_t)config_int(config, "priority.share.high"),
        [PRIORITY_NORMAL] = (uint32_t)config_int(config, "priority.share.normal"),
        [PRIORITY_LOW] = (uint32_t)config_int(config, "priority.share.low"),
    };
    shares_init(shares, weights);
}

int shares_pick(struct shares *shares, const bool waiting[PRIORITY_COUNT])
{
    int next = -1;
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        bool returns = waiting[priority] && !shares->waited[priority];
        uint64_t due = shares->now + shares->stride[priority];
        shares->waited[priority] = waiting[priority];
        if (!waiting[priority])
            continue;
        if (returns && shares->pass[priority] < due)
            shares->pass[priority] = due; /* no credit for the time that it was away */
        if (next < 0 || shares->pass[priority] < shares->pass[next])
            next = priority;
    }
    if (next < 0)
        return -1;
    shares->now = shares->pass[next];
    shares->pass[next] += shares->stride[next];
    return next;
}
