/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/watch reports changes as they happen. */
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 30000 };

static char path[256];

static void open_world(void)
{
    world = world_new(3, "A{c} B");
    world_open(world);
}

TestSuite(console_watch, .init = open_world, .fini = close_world);

/* Keeps the cursor in `path` for the next request. */
static void go_on(const json_t *answer, const char *more)
{
    snprintf(path, sizeof(path), "/api/watch?after=%s%s", world_text(answer, "cursor"), more);
}

static void begin(const char *more)
{
    json_t *answer = world_get(world, 200, "/api/watch");
    cr_assert_eq(json_array_size(world_at(answer, "changes")), 0);
    go_on(answer, more);
    json_decref(answer);
}

static void submit(const char *id)
{
    world_submit(world, id, "test");
    world_schedule(world);
}

/* Asks for changes; when it returns, the console has the request and its time runs. */
static void ask_and_wait(void)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    world_ask(world, path, NULL);
    while (changes_watchers(world->console->changes) == 0) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "the console does not watch");
        world_turn(world);
    }
    cr_assert_not(world->answered);
}

Test(console_watch, waits_for_the_next_change)
{
    begin("");
    ask_and_wait();
    cr_assert_eq(changes_watchers(world->console->changes), 1);
    submit("one");
    json_t *answer = world_answer(world, 200);
    cr_assert_eq(json_array_size(world_at(answer, "changes")), 1);
    cr_assert_str_eq(world_text(answer, "changes.0.order_id"), "one");
    cr_assert_str_eq(world_text(answer, "changes.0.workflow"), "test");
    cr_assert_str_eq(world_text(answer, "changes.0.state"), "Processing");
    cr_assert_str_eq(world_text(answer, "changes.0.events.0.kind"), "OrderAccepted");
    cr_assert(strstr(world_text(answer, "changes.0.words"), "order started; A: attempt 1") != NULL);
    cr_assert(json_is_false(world_at(answer, "reset")));
    cr_assert_eq(changes_watchers(world->console->changes), 0);
    go_on(answer, "");
    json_decref(answer);
    /* The second request returns what happened between the two. */
    world_report(world, "one", "A", true);
    world_schedule(world);
    world_report(world, "one", "A", true);
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, path), {"changes", "[2]"}, {"changes.0.changed", "true"},
          {"changes.1.changed", "false"});
}

Test(console_watch, answers_without_changes_after_the_timeout)
{
    begin("");
    ask_and_wait();
    world_advance(world, CHANGES_WAIT_MS - 2000);
    cr_assert_not(world->answered);
    world_advance(world, 3000);
    SHOWS(world_answer(world, 200), {"changes", "[0]"}, {"reset", "false"});
}

Test(console_watch, sends_only_the_requested_changes)
{
    static const char *const filters[] = {"&order=two", "&state=processed", "&workflow=none"};
    static const size_t expected[] = {2, 1, 0};
    begin("");
    char cursor[64];
    snprintf(cursor, sizeof(cursor), "%s", strchr(path, '=') + 1);
    submit("one");
    submit("two");
    world_report(world, "one", "A", true);
    world_report(world, "two", "A", true);
    world_schedule(world);
    world_report(world, "one", "B", true);
    world_schedule(world);
    world_settle(world);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "/api/watch?after=%s%s", cursor, filters[i]);
        if (expected[i] == 0) {
            ask_and_wait();
            world_advance(world, CHANGES_WAIT_MS + 1000);
        } else {
            world_ask(world, path, NULL);
        }
        json_t *answer = world_answer(world, 200);
        cr_assert_eq(json_array_size(world_at(answer, "changes")), expected[i], "%s", filters[i]);
        json_decref(answer);
    }
    json_decref(world_get(world, 400, "/api/watch?state=none"));
}

Test(console_watch, resets_a_client_that_was_away_too_long)
{
    begin("");
    world_advance(world, CHANGES_IDLE_MS / 2);
    submit("one"); /* still kept */
    world_settle(world);
    json_t *answer = world_get(world, 200, path);
    cr_assert_eq(json_array_size(world_at(answer, "changes")), 1);
    go_on(answer, "");
    json_decref(answer);
    world_advance(world, CHANGES_IDLE_MS + 2000);
    submit("two"); /* no client watches */
    world_settle(world);
    answer = world_get(world, 200, path);
    cr_assert(json_is_true(world_at(answer, "reset")));
    cr_assert_eq(json_array_size(world_at(answer, "changes")), 0);
    go_on(answer, "");
    json_decref(answer);
    submit("three");
    world_settle(world);
    SHOWS(world_get(world, 200, path), {"changes.0.order_id", "three"});
}

Test(console_watch, resets_a_client_that_missed_too_many_changes)
{
    begin("");
    for (int i = 0; i < CHANGES_MAX + 10; i++)
        world_submit(world, "x", "none");
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, path), {"reset", "true"});
}

Test(console_watch, continues_after_a_full_page)
{
    int64_t total = 0;
    begin("");
    for (int i = 0; i < CHANGES_PAGE_MAX + 300; i++)
        world_submit(world, "x", "none");
    world_schedule(world);
    world_settle(world);
    json_t *answer = world_get(world, 200, path);
    cr_assert_eq(json_array_size(world_at(answer, "changes")), CHANGES_PAGE_MAX);
    total += CHANGES_PAGE_MAX;
    go_on(answer, "");
    json_decref(answer);
    answer = world_get(world, 200, path);
    total += (int64_t)json_array_size(world_at(answer, "changes"));
    cr_assert_eq(total, CHANGES_PAGE_MAX + 300);
    json_decref(answer);
}

Test(console_watch, resets_cursors_of_another_process)
{
    static const char *const cursors[] = {"", "1.2", "zz", "ffffffffffffffff.0", "-1.-1", "%FF"};
    for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
        snprintf(path, sizeof(path), "/api/watch?after=%s", cursors[i]);
        SHOWS(world_get(world, 200, path), {"reset", "true"});
    }
}

Test(console_watch, answers_outstanding_requests_when_it_shuts_down)
{
    begin("");
    world_ask(world, path, NULL);
    for (int i = 0; i < 20; i++)
        world_turn(world);
    cr_assert_eq(changes_watchers(world->console->changes), 1);
    changes_drain(world->console->changes);
    json_t *answer = world_answer(world, 200);
    json_decref(answer);
    json_decref(world_get(world, 503, path));
}
