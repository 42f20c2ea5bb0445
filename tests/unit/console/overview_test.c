/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages show besides lists: /api/overview, /api/orders/{id}/at/{offset}, /api/partitions,
 * /api/health. */
#include "platform/json_tree.h"
#include "services/console/api/order_at.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_world(void)
{
    world = world_new(5, "A{c} B");
    world->now = clock_wall_ms(clock_real());
    world_open(world);
}

TestSuite(console_overview, .init = open_world, .fini = close_world, .timeout = 120);

static void report(const char *id, const char *step, bool succeeded)
{
    world_report(world, id, step, succeeded);
    world_schedule(world);
}

static void make_orders(void)
{
    world_submit(world, "done", "test");
    world_submit(world, "stuck", "test");
    world_submit(world, "runs", "test");
    world_schedule(world);
    report("done", "A", true);
    report("done", "B", true);
    world->effect = EFFECT_UNKNOWN;
    report("stuck", "A", true);
    report("stuck", "B", false);
    world_settle(world);
}

static int64_t total(const json_t *list)
{
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += json_integer_value(json_array_get(list, i));
    return sum;
}

static void check_overview(const json_t *answer)
{
    cr_assert_eq(json_array_size(world_at(answer, "rates.submitted")), 90);
    cr_assert_eq(total(world_at(answer, "rates.submitted")), 3);
    cr_assert_eq(total(world_at(answer, "rates.processed")), 1);
    cr_assert_eq(world_int(answer, "unfinished"), 3 - world_int(answer, "by_state.Processed") -
                                                      world_int(answer, "by_state.Compensated"));
    cr_assert_eq(world_int(answer, "step_ms"), 10000);
    cr_assert_eq(world_int(answer, "partitions.total"), WORLD_PARTITIONS);
    cr_assert_eq(world_int(answer, "partitions.owned"), WORLD_PARTITIONS);
    cr_assert_eq(world_int(answer, "data_age_ms"), 0);
    cr_assert_eq(total(world_at(answer, "rates.error")),
                 (int64_t)json_array_size(world_at(answer, "errors")));
}

Test(console_overview, shows_rates_durations_and_what_is_under_way)
{
    make_orders();
    json_t *answer = world_get(world, 200, "/api/overview");
    check_overview(answer);
    bool whole = false;
    for (size_t i = 0; i < json_array_size(world_at(answer, "latency")); i++) {
        const json_t *row = json_array_get(world_at(answer, "latency"), i);
        whole |= json_is_null(json_object_get(row, "step"));
        cr_assert(world_int(row, "count") >= 1);
        cr_assert(world_int(row, "p50_ms") <= world_int(row, "p99_ms"));
    }
    cr_assert(whole, "the duration of a whole order");
    /* In the order of the workflow's steps. */
    cr_assert(json_is_null(world_at(answer, "latency.0.step")));
    cr_assert_str_eq(world_text(answer, "latency.1.step"), "A");
    cr_assert_str_eq(world_text(answer, "latency.2.step"), "B");
    bool runs = false;
    for (size_t i = 0; i < json_array_size(world_at(answer, "in_flight")); i++)
        runs |=
            strcmp(world_text(json_array_get(world_at(answer, "in_flight"), i), "step"), "A") == 0;
    cr_assert(runs, "order \"runs\" is in its step A");
    const char *oldest = world_text(answer, "oldest.id");
    cr_assert(strcmp(oldest, "stuck") == 0 || strcmp(oldest, "runs") == 0, "%s", oldest);
    json_decref(answer);
}

/* The times are those of the Decisions: neither a restart nor a new fold moves or doubles them. */
Test(console_overview, is_the_same_after_a_restart_and_after_a_new_fold)
{
    make_orders();
    json_t *before = world_get(world, 200, "/api/overview");
    for (int wiped = 0; wiped < 2; wiped++) {
        world_close(world);
        if (wiped == 1)
            world_wipe(world);
        world_open(world);
        world_settle(world);
        json_t *after = world_get(world, 200, "/api/overview");
        check_overview(after);
        cr_assert(json_equal(world_at(before, "oldest"), world_at(after, "oldest")));
        cr_assert_eq(json_array_size(world_at(before, "latency")),
                     json_array_size(world_at(after, "latency")));
        cr_assert_eq(json_array_size(world_at(before, "in_flight")),
                     json_array_size(world_at(after, "in_flight")));
        json_decref(after);
    }
    json_decref(before);
}

Test(console_overview, has_no_oldest_order_when_all_have_ended)
{
    SHOWS(world_get(world, 200, "/api/overview"), {"oldest", "null"});
    world_submit(world, "done", "test");
    world_schedule(world);
    report("done", "A", true);
    report("done", "B", true);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/overview"), {"oldest", "null"}, {"unfinished", "0"});
}

static void assert_no_order(const char *path)
{
    SHOWS(world_get(world, 404, path),
          {"detail",
           "order done does not exist: it was never accepted, or it has ended and expired"});
}

Test(console_overview, counts_no_orders_that_have_expired)
{
    make_orders();
    world_expire(world, "done");
    world_settle(world);
    for (int wiped = 0; wiped < 2; wiped++) {
        SHOWS(world_get(world, 200, "/api/overview"), {"by_state.Processed", "0"},
              {"by_state.Processing", "1"}, {"unfinished", "2"});
        assert_no_order("/api/orders/done");
        assert_no_order("/api/orders/done/history");
        world_close(world);
        world_wipe(world);
        world_open(world);
        world_settle(world);
    }
}

/* ---- time travel ---- */

static json_t *at(int status, const char *id, int64_t offset)
{
    char path[256];
    snprintf(path, sizeof(path), "/api/orders/%s/at/%lld", id, (long long)offset);
    return world_get(world, status, path);
}

/* The turns of the loop until the answer is there. */
static uint32_t turns_of(const char *path)
{
    uint32_t turns = 0;
    world_ask(world, path, NULL);
    for (; !world->answered; turns++)
        world_turn(world);
    json_decref(world_answer(world, 200));
    return turns;
}

/* Other requests are not kept waiting by a long history. */
Test(console_overview, folds_a_long_history_in_turns_of_the_loop)
{
    enum { SLICES = 20 };
    world_submit(world, "long", "test");
    world_schedule(world);
    for (int i = 0; i < SLICES * ORDER_AT_SLICE; i++)
        world_report(world, "long", "A", true); /* all but the first are ignored */
    world_schedule(world);
    world_settle(world);
    uint32_t once = turns_of("/api/orders/long");
    uint32_t turns = turns_of("/api/orders/long/at/1000000");
    cr_assert_geq(turns, SLICES + 1, "%u turns, %u for an order as it is", turns, once);
    json_t *then = at(200, "long", 1000000);
    json_t *now = world_get(world, 200, "/api/orders/long");
    json_object_del(then, "at_offset");
    cr_assert(json_equal(then, now));
    json_decref(then);
    json_decref(now);
    world_ask(world, "/api/orders/long/at/1000000", NULL);
    for (int i = 0; i < 100 && world->console->api.replays.count == 0; i++)
        world_turn(world);
    cr_assert_eq(world->console->api.replays.count, 1);
    http_pendings_drain(&world->console->api.replays);
    json_decref(world_answer(world, 503));
    SHOWS(at(503, "long", 1000000), {"code", "ShuttingDown"});
}

/* After its last Decision the order is as it is; before the first there is none. */
Test(console_overview, shows_an_order_as_it_was)
{
    make_orders();
    json_t *history = world_get(world, 200, "/api/orders/done/history");
    json_t *now = world_get(world, 200, "/api/orders/done");
    size_t count = json_array_size(world_at(history, "entries"));
    cr_assert_geq(count, 3);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(world_at(history, "entries"), i);
        int64_t offset = world_int(entry, "offset");
        json_t *then = at(200, "done", offset);
        cr_assert_eq(world_int(then, "at_offset"), offset);
        cr_assert_eq(world_int(then, "version"), world_int(entry, "version"));
        if (i == 0) {
            json_decref(at(404, "done", offset - 1));
            cr_assert_str_eq(world_text(then, "state"), "Processing");
        }
        if (i == count - 1) {
            json_object_del(then, "at_offset");
            cr_assert(json_equal(then, now));
        }
        json_decref(then);
    }
    SHOWS(at(200, "done", INT64_MAX - 1), {"state", "Processed"});
    json_decref(history);
    json_decref(now);
}

/* ---- partitions and health ---- */

Test(console_overview, lists_partitions_with_verdicts_and_claims)
{
    world_claim(world, 0, "scheduler-2");
    world_claim(world, 0, "scheduler-1");
    make_orders();
    json_t *answer = world_get(world, 200, "/api/partitions");
    cr_assert_eq(json_array_size(world_at(answer, "partitions")), WORLD_PARTITIONS);
    const json_t *first = world_at(answer, "partitions.0");
    cr_assert_str_eq(world_text(first, "verdict"), "ok");
    cr_assert(json_is_null(world_at(first, "verdict_reason")));
    cr_assert_eq(json_array_size(world_at(first, "claims")), 3);
    cr_assert_str_eq(world_text(first, "claims.0.instance"), "scheduler-1");
    cr_assert_str_eq(world_text(first, "claims.1.instance"), "scheduler-2");
    cr_assert_eq(world_int(first, "handovers"), 2);
    cr_assert_eq(world_int(first, "replay.folded"), world_int(first, "replay.end"));
    cr_assert_gt(world_int(first, "store_bytes"), 0);
    json_decref(answer);
}

Test(console_overview, keeps_the_claims_over_a_restart)
{
    for (int i = 0; i < 30; i++)
        world_claim(world, 0, i % 2 == 0 ? "scheduler-2" : "scheduler-1");
    world_settle(world);
    world_close(world);
    world_open(world);
    SHOWS(world_get(world, 200, "/api/partitions"), {"partitions.0.claims", "[20]"},
          {"partitions.0.handovers", "30"});
}

Test(console_overview, reports_its_checks_and_settings)
{
    json_t *answer = world_get(world, 200, "/api/health");
    char *text = json_tree_print(answer, 0);
    cr_assert(strstr(text, "{\"key\": \"topics.prefix\", \"value\": \"t\", \"origin\": ") != NULL,
              "%s", text);
    free(text);
    cr_assert_str_eq(world_text(answer, "instance"), "console-1");
    for (size_t i = 0; i < json_array_size(world_at(answer, "checks")); i++) {
        const json_t *check = json_array_get(world_at(answer, "checks"), i);
        cr_assert(json_is_true(world_at(check, "ok")), "%s: %s", world_text(check, "name"),
                  world_text(check, "message"));
    }
    json_decref(answer);
}

static void wait_for_age(bool old)
{
    for (int i = 0; i < 1000; i++) {
        json_t *answer = world_get(world, 200, "/api/orders");
        int64_t age = world_int(answer, "data_age_ms");
        json_decref(answer);
        if (old == (age > 5000))
            return;
        world_advance(world, 1000);
    }
    cr_assert_fail("the age of the data does not change");
}

/* Every answer that shows what the log holds. */
static void check_ages(bool old)
{
    static const char *const paths[] = {
        "/api/overview", "/api/orders",     "/api/orders/count", "/api/orders/done",
        "/api/counts",   "/api/alerts",     "/api/dead-letters", "/api/orders/done/history",
        "/api/owners",   "/api/partitions", "/api/agents",       "/api/orders/done/at/1000000",
        "/api/watch",    "/api/workflows",  "/api/health",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        json_t *answer = world_get(world, 200, paths[i]);
        cr_assert_eq(world_int(answer, "data_age_ms") > 5000, old, "%s", paths[i]);
        json_decref(answer);
    }
}

/* Agents that cannot be heard are not said to be absent. */
Test(console_overview, says_in_every_answer_how_old_its_data_are)
{
    make_orders();
    check_ages(false);
    broker_memory_set_partition_fault(world->kafka, "t.commands", BROKER_MEMORY_ALL,
                                      PARTITION_NO_LEADER);
    wait_for_age(true);
    check_ages(true);
    SHOWS(world_get(world, 200, "/api/agents"), {"complete", "false"});
}

Test(console_overview, says_how_old_its_data_are_while_the_brokers_are_away)
{
    broker_memory_set_partition_fault(world->kafka, "t.commands", BROKER_MEMORY_ALL,
                                      PARTITION_NO_LEADER);
    wait_for_age(true);
    SHOWS(world_get(world, 200, "/api/partitions"), {"partitions.0.verdict", "stalled"},
          {"partitions.0.verdict_reason", "~brokers"});
    SHOWS(world_get(world, 200, "/api/health"), {"checks.1.name", "brokers"},
          {"checks.1.ok", "false"});
    broker_memory_clear_partition_faults(world->kafka);
    wait_for_age(false);
    SHOWS(world_get(world, 200, "/api/overview"), {"data_age_ms", "0"});
}

static bool check_of_decisions(const char *part)
{
    json_t *answer = world_get(world, 200, "/api/health");
    bool ok = true;
    for (size_t i = 0; i < json_array_size(world_at(answer, "checks")); i++) {
        const json_t *check = json_array_get(world_at(answer, "checks"), i);
        if (strcmp(world_text(check, "name"), "decisions") != 0)
            continue;
        ok = json_is_true(world_at(check, "ok"));
        cr_assert(ok || strstr(world_text(check, "message"), part) != NULL, "%s",
                  world_text(check, "message"));
    }
    json_decref(answer);
    return ok;
}

/* One command waits in the partition, -1: none does in any; the reason has `part`, "": there is
 * none. */
static void check_lists(int32_t number, const char *part)
{
    json_t *answer = world_get(world, 200, "/api/orders");
    cr_expect_eq(json_array_size(json_object_get(answer, "waiting")), number >= 0 ? 1 : 0);
    if (number >= 0) {
        cr_expect_eq(world_int(answer, "waiting.0.partition"), number);
        cr_expect_eq(world_int(answer, "waiting.0.commands"), 1);
        cr_expect_str_eq(world_text(answer, "waiting.0.verdict"), part[0] ? "stalled" : "ok");
        if (part[0] != '\0')
            cr_expect(strstr(world_text(answer, "waiting.0.verdict_reason"), part) != NULL);
    }
    json_decref(answer);
    answer = world_get(world, 404, "/api/orders/nope");
    cr_expect_str_eq(world_text(answer, "code"), "UnknownOrder");
    bool waits = strstr(world_text(answer, "detail"), "1 command waits undecided in its") != NULL;
    cr_expect_eq(waits, number >= 0 && world_partition("nope") == number, "%s",
                 world_text(answer, "detail"));
    json_decref(answer);
    if (number < 0)
        return;
    SHOWS(world_get(world, 404, "/api/orders/waits"),
          {"detail", "~1 command waits undecided in its"});
}

/* The only scheduler is dead, and an order waits. */
Test(console_overview, says_everywhere_that_commands_wait)
{
    const char *expected = "1 command waits, and none was decided for ";
    char path[64];
    make_orders();
    world_submit(world, "waits", "test");
    int32_t number = world_partition("waits");
    for (int i = 0; i < 20; i++) {
        cr_assert(i > 3 || check_of_decisions(""));
        world_advance(world, 2000);
        json_decref(world_get(world, 200, "/api/owners"));
    }
    json_t *answer = world_get(world, 200, "/api/owners");
    snprintf(path, sizeof(path), "owners.%d.verdict", (int)number);
    cr_expect_str_eq(world_text(answer, path), "stalled");
    snprintf(path, sizeof(path), "owners.%d.verdict_reason", (int)number);
    cr_expect(strstr(world_text(answer, path), expected) != NULL);
    json_decref(answer);
    cr_expect_not(check_of_decisions(expected));
    answer = world_get(world, 200, "/api/overview");
    cr_expect_eq(world_int(answer, "partitions.stalled"), 1);
    cr_expect(strstr(world_text(answer, "partitions.stalled_reason"), expected) != NULL);
    json_decref(answer);
    check_lists(number, expected);
    world_schedule(world);
    world_settle(world);
    world_advance(world, 2000);
    SHOWS(world_get(world, 200, "/api/overview"), {"partitions.stalled", "0"},
          {"partitions.stalled_reason", "null"});
    cr_expect(check_of_decisions(""));
    check_lists(-1, "");
    json_decref(world_get(world, 200, "/api/orders/waits"));
}

/* Before the verdict does; not while commands are decided as they come. */
Test(console_overview, says_soon_that_a_list_lacks_what_waits)
{
    make_orders();
    world_submit(world, "waits", "test");
    int32_t number = world_partition("waits");
    world_advance(world, 2000);
    check_lists(-1, "");
    for (int i = 0; i < 3; i++)
        world_advance(world, 2000);
    check_lists(number, "");
    SHOWS(world_get(world, 404, "/api/orders/waits/history"),
          {"detail", "~1 command waits undecided"});
}
