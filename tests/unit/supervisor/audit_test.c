/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's findings about an order. */
#include "services/supervisor/audit.h"

#include <criterion/criterion.h>

static const struct audit_rules rules = {.retention_ms = 1000, .grace_ms = 100};

static enum audit_finding find(const struct order *order, int64_t now)
{
    int64_t due = 0;
    return audit_order(order, &rules, now, &due);
}

Test(audit, expires_an_ended_order_after_its_retention)
{
    struct order order = {.state = ORDER_PROCESSED, .ended_at = 5000};
    cr_assert_eq(find(&order, 5999), AUDIT_CLEAN);
    cr_assert_eq(find(&order, 6000), AUDIT_EXPIRED);
    struct audit_rules for_ever = {.retention_ms = 0};
    int64_t due;
    cr_assert_eq(audit_order(&order, &for_ever, INT64_MAX, &due), AUDIT_CLEAN);
}

Test(audit, accepts_a_running_step_until_long_after_its_deadline)
{
    struct step step = {.state = STEP_PROCESSING, .complete_by = 5000, .margin_ms = 50};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    int64_t due = 0;
    cr_assert_eq(find(&order, 5149), AUDIT_CLEAN);
    cr_assert_eq(audit_order(&order, &rules, 5150, &due), AUDIT_OVERDUE);
    cr_assert_eq(due, 5050);
}

Test(audit, reports_a_step_that_waits_for_nothing_as_lost)
{
    struct step step = {.state = STEP_PENDING};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
    step.retry_at = 900;
    cr_assert_eq(find(&order, 1), AUDIT_CLEAN);
    cr_assert_eq(find(&order, 1000), AUDIT_OVERDUE);
}

Test(audit, accepts_a_step_in_a_queue)
{
    struct step step = {.state = STEP_PENDING, .queued_at = 5};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 1000000), AUDIT_CLEAN);
}

Test(audit, accepts_a_paused_order)
{
    struct step step = {.state = STEP_PENDING};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
    order.paused_at = 1;
    cr_assert_eq(find(&order, 1000000), AUDIT_CLEAN);
    order.complete_by = 900;
    cr_assert_eq(find(&order, 1000000), AUDIT_OVERDUE);
}

Test(audit, requires_an_alert_for_an_order_in_error)
{
    struct step step = {.state = STEP_ERROR};
    struct order order = {
        .state = ORDER_ERROR, .steps = &step, .step_count = 1, .alert_open = true};
    cr_assert_eq(find(&order, 1), AUDIT_CLEAN);
    order.alert_open = false;
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
}

/* ---- how many orders expire ---- */

Test(audit, expires_as_fast_as_orders_end)
{
    int64_t rate = 500;
    uint32_t walks = 0;
    while (rate < 3000 && walks++ < 10) /* that many end in a second */
        rate = audit_expire_rate(rate, 500, true);
    cr_assert_eq(rate, 4000);
    cr_assert_eq(walks, 3);
    for (int walk = 0; walk < 10; walk++)
        rate = audit_expire_rate(rate, 500, true);
    cr_assert_eq(rate, AUDIT_EXPIRE_MAX);
    cr_assert_eq(audit_expire_rate(rate, 500, false), AUDIT_EXPIRE_MAX - AUDIT_EXPIRE_MAX / 8);
    for (int walk = 0; walk < 100; walk++)
        rate = audit_expire_rate(rate, 500, false);
    cr_assert_eq(rate, 500);
    cr_assert_eq(audit_expire_rate(20000, 20000, true), 20000, "what is configured may be more");
}
