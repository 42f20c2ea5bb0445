/* SPDX-License-Identifier: Apache-2.0 */
/* The API's answers about orders, partitions and alerts, from a log that the test writes. */
#include "base/goods.h"
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static void open_world(void)
{
    world = world_new(7, "A{c} B{c,z1} C{e}");
}

TestSuite(console_api, .init = open_world, .fini = close_world);

/* An order that has ended, one under way, one in Error. */
static void make_orders(void)
{
    static const char *const ids[] = {"done", "goes", "stuck"};
    for (int i = 0; i < 3; i++)
        world_submit(world, ids[i], "test");
    world_schedule(world);
    for (int i = 0; i < 3; i++)
        world_report(world, ids[i], "A", true);
    world_schedule(world);
    world_report(world, "done", "B", true);
    world_report(world, "stuck", "B", true);
    world_schedule(world);
    world_report(world, "done", "C", true);
    world_report(world, "stuck", "C", false);
    world_schedule(world);
}

Test(console_api, shows_an_order_from_beginning_to_end)
{
    make_orders();
    world_open(world);
    SHOWS(world_get(world, 200, "/api/orders/stuck"), {"state", "Error"},
          {"reason_code", "Declined"}, {"alert_open", "true"},
          {"lines.0.description", "HEART \"T-LIGHT\""}, {"steps.0.output.ok", "0.1"},
          {"steps.0.output.big", "12345678901234567890"}, {"steps.2.output", "null"},
          {"input.amount", "100.1"}, {"steps.2.state", "Error"},
          {"steps.2.error_message", "no funds"},
          {"partition", answer_number(world_partition("stuck"))});

    SHOWS(world_get(world, 200, "/api/orders/stuck/history"), {"entries", "[4]"},
          {"entries.0.command.kind", "SubmitOrder"}, {"entries.0.events.0.kind", "OrderAccepted"},
          {"entries.3.events.0.words",
           "C: attempt 1 failed: Declined: no funds (effect none, failure 1), reported by "
           "agent-1"},
          {"entries.3.state", "Error"}, {"next", "null"});
}

Test(console_api, pages_through_a_history)
{
    make_orders();
    world_open(world);
    char path[128] = "/api/orders/done/history?limit=3";
    json_t *first = world_get(world, 200, path);
    cr_assert_eq(json_array_size(world_at(first, "entries")), 3);
    snprintf(path, sizeof(path), "/api/orders/done/history?limit=3&after=%lld",
             (long long)world_int(first, "next"));
    json_t *second = world_get(world, 200, path);
    cr_assert_eq(json_array_size(world_at(second, "entries")), 1);
    cr_assert(json_is_null(world_at(second, "next")));
    cr_assert_str_eq(world_text(second, "entries.0.state"), "Processed");
    json_decref(first);
    json_decref(second);
}

Test(console_api, includes_decisions_that_changed_nothing_in_a_history)
{
    make_orders();
    world_open(world);
    world_report(world, "done", "C", true);
    world_submit(world, "done", "test");
    struct command cmd = {.kind = COMMAND_RECOVER_STEP, .order_id = TEXT("done")};
    cmd.recover_step = (struct recover_step){.order_id = cmd.order_id,
                                             .step = TEXT("C"),
                                             .attempt = 1,
                                             .complete_by = 5,
                                             .by = TEXT("supervisor-1")};
    world_send(world, &cmd);
    world_submit(world, "unknown", "no-such-workflow");
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/done/history"),
          {"entries.4.events.0.kind", "ReportIgnored"},
          {"entries.4.events.0.data.code", "AlreadyEnded"},
          {"entries.5.events.0.kind", "SubmissionRepeated"},
          {"entries.6.events.0.kind", "CommandRejected"}, {"entries.6.command.kind", "RecoverStep"},
          {"entries.6.changed", "false"});
    /* Refused, so there is no order; what happened to it is known. */
    json_decref(world_get(world, 404, "/api/orders/unknown"));
    SHOWS(world_get(world, 200, "/api/orders/unknown/history"),
          {"entries.0.events.0.data.code", "UnknownWorkflow"}, {"entries.0.state", "null"});
}

Test(console_api, counts_orders_as_the_log_grows)
{
    make_orders();
    world_open(world);
    SHOWS(world_get(world, 200, "/api/counts"), {"orders", "3"}, {"by_state.Error", "1"},
          {"by_workflow.test.Processing", "1"}, {"incomplete", NULL});
    world_report(world, "goes", "B", true);
    world_schedule(world);
    world_report(world, "goes", "C", true);
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/counts"), {"by_state.Processing", "0"},
          {"by_state.Processed", "2"});
}

/* Everything that a client can ask and that is a function of the log. */
static json_t *ask_all(void)
{
    static const char *const paths[] = {"/api/orders",
                                        "/api/orders?state=error",
                                        "/api/orders/done",
                                        "/api/orders/goes",
                                        "/api/orders/stuck",
                                        "/api/orders/done/history",
                                        "/api/orders/stuck/history",
                                        "/api/counts",
                                        "/api/alerts",
                                        "/api/owners"};
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        json_array_append_new(all, world_get(world, 200, paths[i]));
    return all;
}

Test(console_api, gives_the_same_answers_after_a_restart_and_without_the_stores)
{
    make_orders();
    world_claim(world, 1, "scheduler-2");
    world_open(world);
    world_settle(world);
    json_t *before = ask_all();
    world_close(world);
    world_open(world);
    json_t *again = ask_all();
    cr_assert(json_equal(before, again));
    world_close(world);
    world_wipe(world);
    world_open(world);
    json_t *folded = ask_all();
    cr_assert(json_equal(before, folded));
    json_decref(before);
    json_decref(again);
    json_decref(folded);
}

/* Also by a console that begins with a store that has folded it. */
Test(console_api, shows_who_reset_a_partition_why_and_when)
{
    make_orders();
    world_open(world);
    SHOWS(world_get(world, 200, "/api/owners"), {"owners.1.reset", "null"});
    int64_t high = site_end(world->kafka, "t.events", 1);
    world_reset(world, 1, high);
    int64_t reset_at = world->now;
    world_claim(world, 1, "scheduler-2");
    world_settle(world);
    for (int i = 0; i < 2; i++) {
        json_t *owners = world_get(world, 200, "/api/owners");
        cr_assert_eq(world_time(owners, "owners.1.reset.reset_at"), reset_at);
        SHOWS(owners, {"owners.1.reset.by", "ann"},
              {"owners.1.reset.reason", "another client wrote here"},
              {"owners.1.reset.offset", answer_number(high)}, {"owners.0.reset", "null"});
        world_close(world);
        world_open(world);
    }
}

Test(console_api, shows_claims_and_lag_of_owners)
{
    make_orders();
    world_open(world);
    json_t *owners = world_get(world, 200, "/api/owners");
    cr_assert_eq(json_array_size(world_at(owners, "owners")), WORLD_PARTITIONS);
    int64_t decisions = world_int(owners, "owners.1.claim.decisions");
    cr_assert_eq(decisions, world_int(owners, "owners.1.next_command"));
    SHOWS(owners, {"owners.1.claim.instance", "scheduler-1"},
          {"owners.1.claim.claim_id", "02010000-0000-0000-0000-000000000000"},
          {"owners.1.lag", "0"}, {"owners.1.stopped", "null"});

    world_claim(world, 1, "scheduler-2");
    world_settle(world);
    for (int i = 0, sent = 0; sent < 2; i++) {
        char id[32];
        snprintf(id, sizeof(id), "waits-%d", i);
        if (world_partition(id) != 1)
            continue;
        world_submit(world, id, "test");
        sent++;
    }
    world_advance(world, 2000); /* the ends of the commands are asked for again */
    SHOWS(world_get(world, 200, "/api/owners"), {"owners.1.claim.instance", "scheduler-2"},
          {"owners.1.claim.decisions", "0"}, {"owners.1.lag", "2"}, {"owners.0.lag", "0"});
}

Test(console_api, lists_alerts_of_orders_and_of_partitions)
{
    make_orders();
    world_alert(world, 2, true, "StoreDamaged", "folded again");
    world_alert(world, 2, true, "StoreDamaged", "folded once more");
    world_alert(world, 0, true, "LogDiffers", "another topic");
    world_alert(world, 0, false, "LogDiffers", "it is back");
    world_alert(world, 1, true, "StandbyStalled", "a standby waits");
    world_alert(world, 2, true, "StandbyStalled", "a standby waits");
    world_open(world);
    world_advance(world, 0);
    SHOWS(world_get(world, 200, "/api/alerts?open=1"), {"orders", "[1]"},
          {"orders.0.order_id", "stuck"}, {"orders.0.steps_in_error.0.error_name", "Declined"},
          {"partitions", "[3]"}, {"partitions.2.message", "folded once more"},
          {"partitions.2.count", "2"});
    SHOWS(world_get(world, 200, "/api/alerts"), {"partitions", "[4]"},
          {"partitions.2.code", "LogDiffers"});
    /* Of two alerts, the more urgent one. */
    SHOWS(world_get(world, 200, "/api/owners"), {"owners.1.alert.code", "StandbyStalled"},
          {"owners.2.alert.code", "StoreDamaged"}, {"owners.0.alert", "null"});
}

static size_t open_alerts(void)
{
    json_t *alerts = world_get(world, 200, "/api/alerts?open=1");
    size_t count = json_array_size(world_at(alerts, "partitions"));
    json_decref(alerts);
    return count;
}

/* The next owner closes it, in the name of the one that raised it. Older versions wrote a record
 * about each Claim instead, which is not listed. */
Test(console_api, closes_the_alerts_of_a_killed_owner_when_its_successor_does)
{
    world_alert(world, 1, true, "Stalled", "of scheduler-1");
    world_alert(world, 0, true, "Stalled", "of scheduler-1");
    world_alert(world, 1, true, "StoreDamaged", "folded again");
    world_open(world);
    world_claim(world, 1, "scheduler-2");
    world_alert(world, 1, false, "PartitionClaimed", "of an older version");
    world_advance(world, 0);
    cr_assert_eq(open_alerts(), 3);
    world_alert(world, 1, false, "Stalled", "of scheduler-2");
    world_advance(world, 0);
    cr_assert_eq(open_alerts(), 2);
    SHOWS(world_get(world, 200, "/api/alerts"), {"partitions", "[3]"});
    /* No alert was raised since the Claim. */
    SHOWS(world_get(world, 200, "/api/owners"), {"owners.0.alert.code", "Stalled"},
          {"owners.1.alert", "null"});
    world_alert(world, 1, true, "Stalled", "raised since then");
    world_advance(world, 0);
    cr_assert_eq(open_alerts(), 3);
}

/* Its auditor was killed, and the next one finds nothing. */
Test(console_api, takes_a_stuck_order_for_over_that_no_auditor_repeats)
{
    world->now = clock_wall_ms(&world->clock) - CLUSTER_STUCK_OVER_MS - 1000;
    world_alert(world, 0, true, "OrderStuck", "order o");
    world->now = clock_wall_ms(&world->clock) - CLUSTER_STUCK_AGAIN_MS;
    world_alert(world, 1, true, "OrderStuck", "order o");
    world_open(world);
    world_advance(world, 0);
    cr_assert_eq(open_alerts(), 1);
    world_alert(world, 1, false, "OrderStuck", "no order is stuck any more");
    world_advance(world, 0);
    cr_assert_eq(open_alerts(), 0);
}

/* An order whose id needs every escape there is. */
/* The sum of the offsets up to which the digests are made. */
static int64_t digested(void)
{
    json_t *stores = world_get(world, 200, "/stores");
    const json_t *partitions = world_at(stores, "partitions");
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(partitions); i++) {
        const json_t *row = json_array_get(partitions, i);
        sum += world_int(row, "next_event_offset");
        cr_assert(strlen(world_text(row, "digest")) == 32);
    }
    json_decref(stores);
    return sum;
}

/* Making them takes long, and anyone may ask. */
Test(console_api, makes_digests_at_most_once_a_second)
{
    struct clock_manual clock;
    clock_manual_init(&clock, 1600000000000);
    make_orders();
    world_open(world);
    world->service.clock = &clock.clock;
    int64_t before = digested();
    world_submit(world, "later", "test");
    world_schedule(world);
    world_settle(world);
    cr_assert_eq(digested(), before);
    world_advance(world, 1000);
    world_settle(world);
    clock_manual_advance(&clock, 1000);
    cr_assert_gt(digested(), before);
    world->service.clock = &world->clock;
}

Test(console_api, treats_hostile_ids_like_any_other)
{
    static const char *const ids[][2] = {
        {"a b+c", "/api/orders/a%20b+c"},
        {"<script>\"'&?#%", "/api/orders/%3Cscript%3E%22%27%26%3F%23%25"},
        {"..", "/api/orders/%2E%2E"},
        {"history", "/api/orders/history"},
        {"\xf0\x9f\x9a\x80\xc3\xa9", "/api/orders/%F0%9F%9A%80%C3%A9"},
    };
    world_open(world);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        char history[256];
        world_submit(world, ids[i][0], "test");
        world_schedule(world);
        world_settle(world);
        SHOWS(world_get(world, 200, ids[i][1]), {"order_id", ids[i][0]});
        snprintf(history, sizeof(history), "%s/history", ids[i][1]);
        json_decref(world_get(world, 200, history));
    }
    SHOWS(world_get(world, 200, "/api/orders"), {"orders", "[5]"});
}

static void send_cancel(struct text order_id)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER,
                          .order_id = order_id,
                          .cancel_order = {.order_id = order_id, .by = TEXT("a\0b")}};
    world_send(world, &cmd);
}

static void send_order(struct text order_id, struct text workflow)
{
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = order_id};
    cmd.submit_order = (struct order_details){.order_id = order_id,
                                              .customer = TEXT("a\0b"),
                                              .goods = &(struct goods){.currency = TEXT("GBP")},
                                              .workflow = workflow,
                                              .reply_to = TEXT("a\0b")};
    world_send(world, &cmd);
}

/* Nothing checks an id again that stands in the log: old schedulers did not check it either. */
Test(console_api, folds_any_bytes_of_ids_and_names)
{
    make_orders();
    world_open(world);
    send_cancel(TEXT("nul\0nul"));
    send_cancel(TEXT("\0"));
    send_cancel(TEXT("\x01\x1b[31m\n"));
    send_order(TEXT("o\0o"), TEXT("test"));
    send_order(TEXT("/"), TEXT("test"));
    send_order(TEXT("p"), TEXT("te\0st"));
    world_schedule(world);
    world_settle(world);
    static const char *const paths[] = {"/api/orders",
                                        "/api/counts",
                                        "/api/owners",
                                        "/api/alerts",
                                        "/api/orders?workflow=te",
                                        "/api/orders?state=processing",
                                        "/api/orders/done/history",
                                        "/stores"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        json_decref(world_get(world, 200, paths[i]));
    world_close(world);
    world_open(world); /* from the stores */
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        json_decref(world_get(world, 200, paths[i]));
}

/* The topic was made again: that partition waits for an operator, the others answer, and every
 * answer says what it may lack. */
Test(console_api, reports_a_stopped_partition)
{
    make_orders();
    world_open(world);
    world_close(world);
    broker_memory_topic(world->kafka, "t.events", WORLD_PARTITIONS);
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        if (p != world_partition("stuck"))
            world->partitions[p].claims = 0; /* as it was: the same first claim */
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        world_claim(world, p, "scheduler-9");
    world_open_unready(world);
    int64_t until = world->offset_ms + 60000;
    json_t *owners = NULL;
    do {
        json_decref(owners);
        world_advance(world, 100);
        owners = world_get(world, 200, "/api/owners");
        cr_assert_lt(world->offset_ms, until);
    } while (json_is_null(json_object_get(
        json_array_get(json_object_get(owners, "owners"), (size_t)world_partition("stuck")),
        "stopped")));
    json_decref(owners);
    SHOWS(world_get(world, 200, "/api/orders/stuck"), {"state", "Error"});
    SHOWS(world_get(world, 200, "/api/counts"),
          {"incomplete.0.partition", answer_number(world_partition("stuck"))},
          {"incomplete.0.reason", "~partition reset"});
}
