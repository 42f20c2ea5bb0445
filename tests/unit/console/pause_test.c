/* SPDX-License-Identifier: Apache-2.0 */
/* On a full disk the console's follower stops folding, reports it, and continues later. */
#include "tests/unit/console/world.h"

#include "platform/disk_guard.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WAIT_MS = 30000 };

#define MB (INT64_C(1) << 20)

static struct world *world;
static int64_t free_now;

static enum error_class free_bytes(const char *path, int64_t *ret_bytes, struct error *ret_error)
{
    (void)path;
    (void)ret_error;
    *ret_bytes = free_now;
    return ERROR_OK;
}

static void look_after_the_disk(void)
{
    struct disk_guard_options options = {
        .path = world->folder, .min_bytes = 10 * MB, .free_bytes = free_bytes};
    world->service.disk = disk_guard_new(world->loop, world->service.metrics, &options);
}

static void open_world(void)
{
    world = world_new(5, "A{c} B");
    free_now = 1000 * MB;
}

static void close_world(void)
{
    disk_guard_free(world->service.disk);
    world->service.disk = NULL;
    world_free(world);
}

TestSuite(console_pause, .init = open_world, .fini = close_world);

static void submit(const char *id)
{
    world_submit(world, id, "test");
    world_schedule(world);
}

static struct console_partition *partition_of(const char *id)
{
    return world->console->api.partitions[world_partition(id)];
}

static int64_t folded(const char *id)
{
    return view_checkpoint(console_partition_view(partition_of(id)))->next_event_offset;
}

static void set_room(int64_t bytes)
{
    free_now = bytes;
    world_advance(world, DISK_GUARD_CHECK_MS);
}

/* Until `lag` records wait in the partition of order `id`. */
static void wait_for_lag(const char *id, int64_t lag)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (console_partition_lag(partition_of(id)) < lag) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "the lag is less than %lld",
                     (long long)lag);
        world_turn(world);
    }
}

static bool is_current(const char *id, char *ret_reason, size_t size)
{
    return console_partition_is_current(partition_of(id), ret_reason, size);
}

Test(console_pause, stops_folding_while_the_disk_is_full)
{
    char reason[256] = "";
    world_open(world);
    look_after_the_disk();
    submit("one");
    world_settle(world);
    json_decref(world_get(world, 200, "/api/orders/one"));

    set_room(1 * MB);
    int64_t before = folded("one");
    cr_assert(is_current("one", reason, sizeof(reason)), "nothing is there to be folded");
    world_report(world, "one", "A", true);
    world_schedule(world);
    wait_for_lag("one", 1);
    world_report(world, "one", "B", true);
    world_schedule(world);
    wait_for_lag("one", 2); /* it checks its lag */
    cr_assert_eq(folded("one"), before);
    cr_assert_not(is_current("one", reason, sizeof(reason)));
    cr_assert(strstr(reason, "free disk space") != NULL, "%s", reason);
    SHOWS(world_get(world, 200, "/api/orders/one"), {"state", "Processing"});

    set_room(1000 * MB);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/one"), {"state", "Processed"});
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (!is_current("one", reason, sizeof(reason))) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "%s", reason);
        world_turn(world);
    }
    cr_assert_eq(console_partition_lag(partition_of("one")), 0);
}

/* The pause comes before the commit is due; on a slow machine this may show less, never fail. */
Test(console_pause, commits_what_was_folded_before_a_pause)
{
    world_open(world);
    submit("one");
    world_settle(world);
    world_advance(world, 100);
    look_after_the_disk();
    free_now = 1 * MB;
    world->offset_ms += DISK_GUARD_CHECK_MS - 10;
    world_report(world, "one", "A", true);
    world_schedule(world);
    world_settle(world);
    int64_t before = folded("one");
    world->offset_ms += 10;
    while (!disk_guard_is_low(world->service.disk))
        world_turn(world);
    world_report(world, "one", "B", true);
    world_schedule(world);
    wait_for_lag("one", 1);
    cr_assert_eq(view_committed(console_partition_view(partition_of("one")))->next_event_offset,
                 before);
}

Test(console_pause, sends_watchers_the_changes_during_a_pause)
{
    char path[256];
    world_open(world);
    look_after_the_disk();
    json_t *answer = world_get(world, 200, "/api/watch");
    snprintf(path, sizeof(path), "/api/watch?after=%s", world_text(answer, "cursor"));
    json_decref(answer);
    set_room(1 * MB);
    world_ask(world, path, NULL);
    submit("one");
    wait_for_lag("one", 1);
    cr_assert_not(world->answered);
    set_room(1000 * MB);
    SHOWS(world_answer(world, 200), {"changes.0.order_id", "one"});
}

Test(console_pause, starts_on_a_full_disk_and_folds_later)
{
    char reason[512];
    free_now = 1 * MB;
    submit("one");
    world_open_unready(world);
    look_after_the_disk();
    while (world->console->api.owners == NULL)
        world_turn(world);
    int64_t before = folded("one");
    wait_for_lag("one", 1);
    cr_assert_eq(before, 0);
    cr_assert_eq(folded("one"), 0);
    cr_assert_not(console_is_ready(world->console, reason, sizeof(reason)));
    cr_assert_not_null(strstr(reason, "the first waits for "), "%s", reason);
    set_room(1000 * MB);
    world_settle(world);
    json_decref(world_get(world, 200, "/api/orders/one"));
}
