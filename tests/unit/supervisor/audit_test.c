/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's findings about an order. */
#include "services/supervisor/audit.h"

#include <criterion/criterion.h>

enum { GRACE_MS = 100 };

static enum audit_finding find(const struct order *order, int64_t now)
{
    int64_t due = 0;
    return audit_order(order, GRACE_MS, 0, now, &due);
}

Test(audit, expects_nothing_of_an_order_that_has_ended)
{
    struct order order = {.state = ORDER_PROCESSED, .ended_at = 5000};
    cr_assert_eq(find(&order, INT64_MAX), AUDIT_CLEAN);
}

Test(audit, accepts_a_running_step_until_long_after_its_deadline)
{
    struct step step = {.state = STEP_PROCESSING, .complete_by = 5000, .margin_ms = 50};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    int64_t due = 0;
    cr_assert_eq(find(&order, 5149), AUDIT_CLEAN);
    cr_assert_eq(audit_order(&order, GRACE_MS, 0, 5150, &due), AUDIT_OVERDUE);
    cr_assert_eq(due, 5050);
}

Test(audit, reports_a_step_that_waits_for_nothing_as_lost)
{
    struct step step = {.state = STEP_PENDING};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
    step.wait.retry_at = 900;
    cr_assert_eq(find(&order, 1), AUDIT_CLEAN);
    cr_assert_eq(find(&order, 1000), AUDIT_OVERDUE);
}

Test(audit, accepts_a_step_that_waits_for_a_moment_until_long_after_it)
{
    struct step step = {.state = STEP_WAITING, .wait = {.retry_at = 900}};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 999), AUDIT_CLEAN);
    cr_assert_eq(find(&order, 1000), AUDIT_OVERDUE);
    order.paused_at = 1;
    cr_assert_eq(find(&order, 1000000), AUDIT_CLEAN);
}

/* Its own time, or the order's: a step that has neither waits for ever. */
Test(audit, accepts_a_step_that_awaits_a_signal_until_long_after_its_time)
{
    struct awaiting awaiting = {.group = TEXT("managers")};
    struct step step = {.state = STEP_WAITING, .wait = {.retry_at = 900}, .awaiting = &awaiting};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    int64_t due = 0;
    cr_assert_eq(find(&order, 999), AUDIT_CLEAN);
    cr_assert_eq(audit_order(&order, GRACE_MS, 0, 1000, &due), AUDIT_OVERDUE);
    cr_assert_eq(due, 900);
    order.complete_by = 500;
    order.margin_ms = 50;
    cr_assert_eq(audit_order(&order, GRACE_MS, 0, 650, &due), AUDIT_OVERDUE);
    cr_assert_eq(due, 550);
    step.wait.retry_at = 0;
    cr_assert_eq(find(&order, 649), AUDIT_CLEAN);
    cr_assert_eq(find(&order, 650), AUDIT_OVERDUE);
    order.complete_by = 0;
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
}

/* In a pause its time stands still, and in Error an operator decides first. */
Test(audit, accepts_a_step_that_awaits_a_signal_in_an_order_that_stands)
{
    struct awaiting awaiting = {.signals = 0};
    struct step step = {.state = STEP_WAITING, .wait = {.retry_at = 900}, .awaiting = &awaiting};
    struct order order = {
        .state = ORDER_PROCESSING, .steps = &step, .step_count = 1, .paused_at = 1};
    cr_assert_eq(find(&order, 1000000), AUDIT_CLEAN);
    order.paused_at = 0;
    order.state = ORDER_ERROR;
    order.error_from = ORDER_PROCESSING;
    order.alert_open = true;
    cr_assert_eq(find(&order, 1000000), AUDIT_CLEAN);
}

/* The signal moves nothing: the step's turn does, and nothing brings it. */
Test(audit, reports_a_step_that_only_has_an_early_signal_as_lost)
{
    struct awaiting awaiting = {.payload = TEXT("1"), .signals = 1};
    struct step step = {.state = STEP_PENDING, .awaiting = &awaiting};
    struct order order = {.state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    cr_assert_eq(find(&order, 1), AUDIT_LOST);
}

Test(audit, accepts_a_step_in_a_queue)
{
    struct step step = {.state = STEP_PENDING, .wait = {.queued_at = 5}};
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
