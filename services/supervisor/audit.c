/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/audit.h"

#include <assert.h>

/* Its owner starts it as soon as a healthy agent has free capacity. */
static bool has_place_in_queue(const struct order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++)
        if (order_step_queued(order, &order->steps[i]))
            return true;
    return false;
}

enum audit_finding audit_order(const struct order *order, int64_t grace_ms, int64_t since,
                               int64_t now, int64_t *ret_due_ms)
{
    struct deadline deadlines[DEADLINES_MAX];
    int64_t first = INT64_MAX;
    assert(grace_ms >= 0);
    *ret_due_ms = 0;
    if (order_ended(order))
        return AUDIT_CLEAN;
    /* A running attempt also has a deadline: that of its recovery. */
    uint32_t count = deadlines_of(order, deadlines);
    assert(count <= DEADLINES_MAX);
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at < first)
            first = deadlines[i].due_at;
    if (count > 0 && now >= (first > since ? first : since) + grace_ms) {
        *ret_due_ms = first;
        return AUDIT_OVERDUE;
    }
    /* The order's own deadline alone moves nothing before it passes: but then it does. */
    bool waits =
        count > 0 || order->alert_open || order->paused_at != 0 || has_place_in_queue(order);
    return waits ? AUDIT_CLEAN : AUDIT_LOST;
}
