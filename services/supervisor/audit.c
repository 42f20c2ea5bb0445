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

enum audit_finding audit_order(const struct order *order, const struct audit_rules *rules,
                               int64_t now, int64_t *ret_due_ms)
{
    struct deadline deadlines[DEADLINES_MAX];
    int64_t first = INT64_MAX;
    assert(rules->grace_ms >= 0 && rules->retention_ms >= 0);
    *ret_due_ms = 0;
    if (order_ended(order))
        return rules->retention_ms > 0 && now >= order->ended_at + rules->retention_ms
                   ? AUDIT_EXPIRED
                   : AUDIT_CLEAN;
    /* A running attempt also has a deadline: that of its recovery. */
    uint32_t count = deadlines_of(order, deadlines);
    assert(count <= DEADLINES_MAX);
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at < first)
            first = deadlines[i].due_at;
    if (count > 0 && now >= first + rules->grace_ms) {
        *ret_due_ms = first;
        return AUDIT_OVERDUE;
    }
    /* The order's own deadline alone moves nothing before it passes: but then it does. */
    bool waits =
        count > 0 || order->alert_open || order->paused_at != 0 || has_place_in_queue(order);
    return waits ? AUDIT_CLEAN : AUDIT_LOST;
}

int64_t audit_expire_rate(int64_t rate, int64_t least, bool left_over)
{
    int64_t most = least > AUDIT_EXPIRE_MAX ? least : AUDIT_EXPIRE_MAX;
    int64_t next = left_over ? 2 * rate : rate - rate / 8;
    assert(least > 0 && rate >= least && rate <= most);
    return next < least ? least : next > most ? most : next;
}
