/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that ended: when they may expire, and that they do not run again afterwards. */
#include "tests/unit/scheduler/owner_kit.h"

#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define DAY_MS INT64_C(86400000)
enum { LOOK_MS = OWNER_KIT_RETENTION_MS / 16 + 100 }; /* until it looks again */

static struct owner_kit kit;
static struct owner *owner;

static void set_up(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    owner_kit_begin(&kit, 1);
    owner = owner_kit_own(owner_kit_boot(&kit, "scheduler-1", 0), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
}

TestSuite(owner_expiry, .init = set_up);

static const struct event *last_event(const char *order_id)
{
    owner_kit_run(&kit, 1000);
    const struct decision *decision = owner_kit_decision(&kit, 0, order_id);
    return &decision->events[decision->event_count - 1];
}

static void submit(const char *order_id, int64_t submitted_at)
{
    struct command cmd = owner_kit_submission(order_id);
    cmd.submit_order.submitted_at = submitted_at;
    owner_kit_command(&kit, &cmd);
}

/* Its only step succeeds. Returns when it ended. */
static int64_t finish(const char *order_id)
{
    owner_kit_report(&kit, order_id);
    cr_assert_eq(last_event(order_id)->kind, EVENT_ORDER_PROCESSED);
    return owner_kit_decision(&kit, 0, order_id)->decided_at;
}

/* NULL: there is none. */
static const struct order *order_of(const char *order_id)
{
    const struct order *order = NULL;
    struct error error;
    cr_assert_eq(view_order(owner_view(owner), text_of(order_id), &order, &error), ERROR_OK);
    return order;
}

/* The last Expiry in the log. */
static struct expiry last_expiry(void)
{
    struct record record = {0};
    int64_t offset = owner_kit_end(&kit, "p.events", 0);
    while (record.kind != RECORD_EXPIRY) {
        cr_assert_gt(offset, 0, "no order has expired");
        owner_kit_read(&kit, "p.events", 0, --offset, &record);
    }
    return record.expiry;
}

static uint32_t expiries(void)
{
    return owner_kit_count(&kit, "p.events", 0, RECORD_EXPIRY);
}

Test(owner_expiry, keeps_an_order_until_its_retention_is_over)
{
    submit("o", kit.clock.now_wall_ms);
    submit("open", kit.clock.now_wall_ms);
    owner_kit_run(&kit, 1000);
    int64_t ended_at = finish("o");
    owner_kit_run(&kit, ended_at + OWNER_KIT_RETENTION_MS - kit.clock.now_wall_ms - 1);
    cr_assert_eq(expiries(), 0);
    cr_assert_not_null(order_of("o"));
    owner_kit_run(&kit, LOOK_MS);
    cr_assert_eq(expiries(), 1);
    struct expiry expiry = last_expiry();
    cr_assert_eq(expiry.ended_at, ended_at);
    cr_assert_geq(expiry.decided_at, ended_at + OWNER_KIT_RETENTION_MS);
    cr_assert(text_equal(expiry.order_id, TEXT("o")));
    cr_assert_null(order_of("o"));
    cr_assert_not_null(order_of("open"));
    owner_kit_run(&kit, 10 * OWNER_KIT_RETENTION_MS);
    cr_assert_eq(expiries(), 1, "an Expiry that takes out nothing says nothing");
    cr_assert_eq(kit.processes[0].metrics->expired->value, 1);
}

/* The clock of its host is a day fast: the brokers' is what counts. */
Test(owner_expiry, keeps_orders_while_its_clock_is_wrong)
{
    submit("o", kit.clock.now_wall_ms);
    owner_kit_run(&kit, 1000);
    int64_t ended_at = finish("o");
    kit.processes[0].clock.now_wall_ms += DAY_MS;
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS / 2);
    cr_assert_eq(expiries(), 0);
    cr_assert_not_null(order_of("o"));
    kit.processes[0].clock.now_wall_ms -= DAY_MS;
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS);
    cr_assert_eq(expiries(), 1);
    cr_assert_geq(last_expiry().decided_at, ended_at + OWNER_KIT_RETENTION_MS);
}

Test(owner_expiry, does_not_run_an_expired_order_again)
{
    int64_t submitted_at = kit.clock.now_wall_ms - 7 * DAY_MS + OWNER_KIT_RETENTION_MS / 2;
    submit("o", submitted_at);
    owner_kit_run(&kit, 1000);
    finish("o");
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS / 2);
    submit("o", submitted_at);
    cr_assert_eq(last_event("o")->kind, EVENT_SUBMISSION_REPEATED);
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS);
    cr_assert_null(order_of("o"));
    submit("o", submitted_at);
    const struct event *event = last_event("o");
    cr_assert_eq(event->kind, EVENT_COMMAND_REJECTED);
    cr_assert(text_equal(event->command_rejected.code, TEXT("TooOld")));
}

/* Another owner, and a store that folds all of it, agree on what has left. */
Test(owner_expiry, has_orders_leave_in_records_of_many)
{
    enum { ORDERS = 2500 };
    char id[16];
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        submit(id, kit.clock.now_wall_ms);
    }
    submit("open", kit.clock.now_wall_ms);
    owner_kit_run(&kit, 5000);
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o-%d", i);
        owner_kit_report(&kit, id);
    }
    owner_kit_run(&kit, 5000);
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS + LOOK_MS);
    cr_assert_eq(kit.processes[0].metrics->expired->value, ORDERS, "%llu",
                 (unsigned long long)kit.processes[0].metrics->expired->value);
    cr_assert_leq(expiries(), 4);
    owner_kit_release(&kit.processes[0], 0);
    owner = owner_kit_own(owner_kit_boot(&kit, "scheduler-2", 0), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    cr_assert_null(order_of("o-0"));
    cr_assert_null(order_of("o-2499"));
    cr_assert_not_null(order_of("open"));
}

Test(owner_expiry, accepts_what_waited_for_less_than_submissions_are_kept)
{
    submit("late", kit.clock.now_wall_ms - 7 * DAY_MS + 60000);
    cr_assert_neq(last_event("late")->kind, EVENT_COMMAND_REJECTED);
    submit("unknown", 0);
    cr_assert_neq(last_event("unknown")->kind, EVENT_COMMAND_REJECTED);
    submit("too-late", kit.clock.now_wall_ms - 7 * DAY_MS - 60000);
    cr_assert_eq(last_event("too-late")->kind, EVENT_COMMAND_REJECTED);
}
