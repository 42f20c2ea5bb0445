/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of workflows that only call agents, over the broker in memory, with the same commands at
 * the same times in each run. Prints what the scheduler writes: a line for each record, with its
 * topic, its key and the bytes of its value as digits. test_plain_orders.py compares them with
 * those of the version before workflows could decide anything.
 *
 *     plain-orders
 *
 * It builds in that version as it stands, so it uses what both have. */
#include "tests/lib/site.h"
#include "tests/unit/scheduler/owner_kit.h"
#include "tests/unit/statestore/kit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 2, PASS_MS = 50, OVER_DUE_MS = 5000, OVERDUE_ORDER_MS = 62000 };

/* Two steps in parallel, one behind them, and a pivot; retries without jitter. */
static const char shop[] =
    "{\"Name\": \"shop\", \"Version\": 1, \"TimeoutSeconds\": 60, \"Defaults\": {"
    "\"TimeoutSeconds\": 4, \"Retry\": [{\"ErrorEquals\": [\"States.Timeout\", \"Http.503\"], "
    "\"IntervalSeconds\": 1, \"BackoffRate\": 2.0, \"MaxAttempts\": 1}]}, \"Steps\": ["
    "{\"Name\": \"Reserve\", \"Agent\": \"agent\", \"After\": [], "
    "\"Compensate\": {\"Action\": \"Release\"}}, "
    "{\"Name\": \"Check\", \"Agent\": \"agent\", \"After\": []}, "
    "{\"Name\": \"Pay\", \"Agent\": \"agent\", \"After\": [\"Reserve\", \"Check\"], "
    "\"Compensate\": {\"Action\": \"Refund\"}}, "
    "{\"Name\": \"Ship\", \"Agent\": \"agent\", \"Pivot\": true, \"OnExhausted\": \"error\"}]}";

static struct owner_kit kit;

static void send(struct command cmd)
{
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, PASS_MS);
}

static void submit(const char *order_id)
{
    struct command cmd = owner_kit_submission(order_id);
    cmd.submit_order.workflow = TEXT("shop");
    send(cmd);
}

static struct command report_of(const char *order_id, const char *step, enum direction direction,
                                uint32_t attempt)
{
    struct attempt_ref ref = {text_of(step), direction, attempt};
    return site_success(text_of(order_id), &ref, TEXT("agent"));
}

static void succeed(const char *order_id, const char *step, enum direction direction,
                    uint32_t attempt)
{
    struct command cmd = report_of(order_id, step, direction, attempt);
    cmd.report_step.output = TEXT("{\"code\":\"A-17\",\"sum\":12.5}");
    send(cmd);
}

static void fail(const char *order_id, const char *step, enum direction direction, uint32_t attempt,
                 const char *name)
{
    struct command cmd = report_of(order_id, step, direction, attempt);
    cmd.report_step.succeeded = false;
    cmd.report_step.output = (struct text){0};
    cmd.report_step.error_name = text_of(name);
    cmd.report_step.error_message = TEXT("as the service answered");
    cmd.report_step.effect = EFFECT_NONE;
    send(cmd);
}

/* The latest event of the kind, of that step of the order, or of the order (NULL). */
static const struct event *latest(const char *order_id, enum event_kind kind, const char *step)
{
    static struct record record;
    heap_arena_reset(&kit.heap);
    for (int64_t at = owner_kit_end(&kit, "p.events", 0) - 1; at >= 0; at--) {
        if (!owner_kit_read(&kit, "p.events", 0, at, &record) || record.kind != RECORD_DECISION ||
            !text_equal(record.decision.order_id, text_of(order_id)))
            continue;
        for (uint32_t i = record.decision.event_count; i-- > 0;) {
            const struct event *event = &record.decision.events[i];
            if (event->kind == kind &&
                (step == NULL || text_equal(event_ref(event)->step, text_of(step))))
                return event;
        }
    }
    assert(false && "it has no such event");
    return NULL;
}

/* As the supervisor does: once the time is over, with what it has read. */
static void recover(const char *order_id, const char *step)
{
    owner_kit_run(&kit, OVER_DUE_MS);
    const struct event *event = latest(order_id, EVENT_STEP_STARTED, step);
    struct command cmd = {.kind = COMMAND_RECOVER_STEP, .order_id = text_of(order_id)};
    cmd.recover_step = (struct recover_step){.order_id = cmd.order_id,
                                             .step = text_of(step),
                                             .direction = event->step_started.ref.direction,
                                             .attempt = event->step_started.ref.attempt,
                                             .complete_by = event->step_started.complete_by,
                                             .by = TEXT("supervisor-1")};
    send(cmd);
}

static void retry(const char *order_id, const char *step)
{
    owner_kit_run(&kit, OVER_DUE_MS);
    const struct event *event = latest(order_id, EVENT_STEP_RETRY_SCHEDULED, step);
    struct command cmd = {.kind = COMMAND_START_STEP, .order_id = text_of(order_id)};
    cmd.start_step = (struct start_step){.order_id = cmd.order_id,
                                         .step = text_of(step),
                                         .direction = event->step_retry_scheduled.ref.direction,
                                         .attempt = event->step_retry_scheduled.ref.attempt,
                                         .retry_at = event->step_retry_scheduled.retry_at,
                                         .by = TEXT("supervisor-1")};
    send(cmd);
}

/* ---- the orders ---- */

static void processed(const char *order_id)
{
    submit(order_id);
    succeed(order_id, "Reserve", DIRECTION_DO, 1);
    succeed(order_id, "Check", DIRECTION_DO, 1);
    succeed(order_id, "Pay", DIRECTION_DO, 1);
    succeed(order_id, "Pay", DIRECTION_DO, 1); /* again: it is ignored */
    succeed(order_id, "Ship", DIRECTION_DO, 1);
}

static void compensated(const char *order_id)
{
    submit(order_id);
    succeed(order_id, "Reserve", DIRECTION_DO, 1);
    succeed(order_id, "Check", DIRECTION_DO, 1);
    fail(order_id, "Pay", DIRECTION_DO, 1, "Http.503");
    retry(order_id, "Pay");
    fail(order_id, "Pay", DIRECTION_DO, 2, "Declined");
    succeed(order_id, "Reserve", DIRECTION_UNDO, 1);
}

static void recovered(const char *order_id)
{
    submit(order_id);
    succeed(order_id, "Check", DIRECTION_DO, 1);
    recover(order_id, "Reserve");
    retry(order_id, "Reserve");
    succeed(order_id, "Reserve", DIRECTION_DO, 2);
    succeed(order_id, "Pay", DIRECTION_DO, 1);
    fail(order_id, "Ship", DIRECTION_DO, 1, "NoCarrier"); /* in Error, with an alert */
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = text_of(order_id)};
    cmd.resubmit_step = (struct resubmit_step){
        .order_id = cmd.order_id, .step = TEXT("Ship"), .by = TEXT("ann"), .reason = TEXT("call")};
    send(cmd);
    succeed(order_id, "Ship", DIRECTION_DO, 2);
}

/* Its time is over while it waits for the agent, which is busy with another order. */
static void timed_out(const char *order_id, const char *other)
{
    submit(other);
    submit(order_id);
    succeed(other, "Reserve", DIRECTION_DO, 1);
    owner_kit_run(&kit, OVERDUE_ORDER_MS);
    const struct event *event = latest(order_id, EVENT_ORDER_ACCEPTED, NULL);
    struct command cmd = {.kind = COMMAND_TIME_OUT_ORDER, .order_id = text_of(order_id)};
    cmd.time_out_order = (struct time_out_order){.order_id = cmd.order_id,
                                                 .complete_by = event->order_accepted.complete_by,
                                                 .by = TEXT("supervisor-1")};
    send(cmd);
    succeed(order_id, "Reserve", DIRECTION_DO, 1);
    succeed(order_id, "Reserve", DIRECTION_UNDO, 1);
}

static void by_hand(const char *order_id)
{
    submit(order_id);
    struct command cmd = {.kind = COMMAND_PAUSE_ORDER, .order_id = text_of(order_id)};
    cmd.pause_order = (struct pause_order){.order_id = cmd.order_id, .by = TEXT("ann")};
    send(cmd);
    succeed(order_id, "Reserve", DIRECTION_DO, 1);
    cmd = (struct command){.kind = COMMAND_RESUME_ORDER, .order_id = text_of(order_id)};
    cmd.resume_order = (struct resume_order){.order_id = cmd.order_id, .by = TEXT("ann")};
    send(cmd);
    cmd = (struct command){.kind = COMMAND_CANCEL_ORDER, .order_id = text_of(order_id)};
    cmd.cancel_order = (struct cancel_order){
        .order_id = cmd.order_id, .by = TEXT("bob"), .reason = TEXT("changed my mind")};
    send(cmd);
    succeed(order_id, "Check", DIRECTION_DO, 1);
    fail(order_id, "Reserve", DIRECTION_UNDO, 1, "Gone"); /* it is to be retried */
    cmd = (struct command){.kind = COMMAND_COMPLETE_STEP, .order_id = text_of(order_id)};
    cmd.complete_step = (struct complete_step){
        .order_id = cmd.order_id, .step = TEXT("Reserve"), .by = TEXT("ann")};
    send(cmd);
}

static void rejected(void)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = TEXT("unknown")};
    cmd.cancel_order = (struct cancel_order){
        .order_id = cmd.order_id, .by = TEXT("bob"), .reply_to = TEXT("p.replies.app")};
    send(cmd);
    cmd = owner_kit_submission("stray");
    cmd.submit_order.workflow = TEXT("no-such-workflow");
    send(cmd);
}

/* ---- what was written ---- */

static void print(const char *topic)
{
    struct broker_record record;
    for (int64_t at = 0; at < owner_kit_end(&kit, topic, 0); at++) {
        if (!broker_memory_record(kit.kafka, topic, 0, at, &record))
            continue; /* the end of a transaction */
        printf("%s %.*s ", topic, TEXT_ARG(record.key));
        for (uint32_t i = 0; i < record.value.size; i++)
            printf("%02x", (uint8_t)record.value.data[i]);
        printf("\n");
    }
}

int main(void)
{
    owner_kit_begin(&kit, 1);
    owner_kit_deploy(&kit, "shop", 1, shop);
    struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", CALLS), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    processed("processed");
    compensated("compensated");
    recovered("recovered");
    by_hand("by-hand");
    rejected();
    timed_out("timed-out", "busy");
    print("p.events");
    print("p.requests.agent");
    print("p.replies.app");
    print("p.alerts");
    print("p.dead-letters");
    return 0;
}
