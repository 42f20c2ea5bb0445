/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that ended: when they may expire, and that they do not run again afterwards. */
#include "tests/unit/scheduler/owner_kit.h"

#include "platform/logger.h"

#include <criterion/criterion.h>

#define DAY_MS INT64_C(86400000)

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

static void expire(const char *order_id, int64_t ended_at)
{
    struct command cmd = {.kind = COMMAND_EXPIRE_ORDER, .order_id = text_of(order_id)};
    cmd.expire_order = (struct expire_order){
        .order_id = cmd.order_id, .ended_at = ended_at, .by = TEXT("auditor-1")};
    owner_kit_command(&kit, &cmd);
}

/* The auditor's clock is a month fast. */
Test(owner_expiry, refuses_to_expire_an_order_before_its_retention_is_over)
{
    submit("o", kit.clock.now_wall_ms);
    owner_kit_run(&kit, 1000);
    int64_t ended_at = finish("o");
    expire("o", ended_at);
    const struct event *event = last_event("o");
    cr_assert_eq(event->kind, EVENT_COMMAND_REJECTED);
    cr_assert(text_equal(event->command_rejected.code, TEXT("NotYetDue")));
    cr_assert_eq(event->command_rejected.due_at, ended_at + OWNER_KIT_RETENTION_MS);
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS);
    expire("o", ended_at);
    cr_assert_eq(last_event("o")->kind, EVENT_ORDER_EXPIRED);
}

Test(owner_expiry, does_not_run_an_expired_order_again)
{
    int64_t submitted_at = kit.clock.now_wall_ms - 7 * DAY_MS + OWNER_KIT_RETENTION_MS / 2;
    submit("o", submitted_at);
    owner_kit_run(&kit, 1000);
    int64_t ended_at = finish("o");
    owner_kit_run(&kit, OWNER_KIT_RETENTION_MS);
    submit("o", submitted_at);
    cr_assert_eq(last_event("o")->kind, EVENT_SUBMISSION_REPEATED);
    expire("o", ended_at);
    cr_assert_eq(last_event("o")->kind, EVENT_ORDER_EXPIRED);
    submit("o", submitted_at);
    const struct event *event = last_event("o");
    cr_assert_eq(event->kind, EVENT_COMMAND_REJECTED);
    cr_assert(text_equal(event->command_rejected.code, TEXT("TooOld")));
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
