/* SPDX-License-Identifier: Apache-2.0 */
/* The note that an owner of a partition leaves to the next one: which requests behind an unfinished
 * one are settled. */
#include "services/agent/core/settled_note.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct settled_ranges none;

/* Requests at these offsets, of which those in `settled` are. */
static struct agent_offsets offsets_of(const int64_t *all, const char *settled)
{
    struct agent_offsets offsets;
    agent_offsets_init(&offsets);
    for (size_t i = 0; settled[i] != '\0'; i++)
        agent_offsets_add(&offsets, all[i]);
    for (size_t i = 0; settled[i] != '\0'; i++)
        if (settled[i] == 'x')
            agent_offsets_settle(&offsets, i);
    return offsets;
}

static void expect_note(const char *settled, const struct settled_ranges *known, const char *text)
{
    static const int64_t all[] = {10, 11, 12, 13, 15, 16, 20};
    char note[SETTLED_NOTE_SIZE];
    struct agent_offsets offsets = offsets_of(all, settled);
    settled_note_write(&offsets, known, note);
    cr_assert_str_eq(note, text);
    agent_offsets_deinit(&offsets);
}

Test(settled_note, names_what_is_settled_behind_the_position)
{
    expect_note(".......", &none, "");
    expect_note("xxxxxxx", &none, "");
    expect_note("xx.....", &none, "");
    expect_note(".x.....", &none, "settled 1+1");
    expect_note(".xxx.xx", &none, "settled 1+3,2+5");
    expect_note("x.x.x.x", &none, "settled 1+1,2+1,4+1");
}

Test(settled_note, keeps_what_earlier_owners_settled_and_was_not_read_yet)
{
    struct settled_ranges known = {.count = 3, .ranges = {{11, 12}, {16, 22}, {30, 31}}};
    expect_note(".xx....", &known, "settled 1+2,8+2,7+2");
    expect_note(".", &known, "settled 1+2,3+7,7+2");
    known.next = 2;
    expect_note("......x", &known, "settled 10+1,9+2");
}

Test(settled_note, reads_what_it_writes)
{
    struct settled_ranges ranges;
    settled_note_read("settled 1+3,2+5", 10, &ranges);
    static const char expected[] = "----------"
                                   "-xxx--xxxxx--";
    for (int64_t offset = 0; expected[offset] != '\0'; offset++)
        cr_assert_eq(settled_ranges_pass(&ranges, offset), expected[offset] == 'x', "%lld",
                     (long long)offset);
}

Test(settled_note, ignores_notes_of_other_clients)
{
    static const char *const notes[] = {"",
                                        "settled ",
                                        "settled 1",
                                        "settled 1+",
                                        "settled 0+1",
                                        "settled 1+0",
                                        "settled 1+1,",
                                        "settled 1+1;2+2",
                                        "settled 1+1 ",
                                        "settled -1+1",
                                        "settled 9999999999999999999+1",
                                        "settled 2000000000000000000+2000000000000000000,1+1",
                                        "checkpoint 7",
                                        "\xff\x01"};
    struct settled_ranges ranges;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        settled_note_read(notes[i], 5, &ranges);
        cr_assert_eq(ranges.count, 0, "%s", notes[i]);
    }
    settled_note_read("settled 1+1", -1, &ranges);
    cr_assert_eq(ranges.count, 0);
}

Test(settled_note, holds_as_much_as_fits)
{
    struct agent_offsets offsets;
    struct settled_ranges ranges;
    char note[SETTLED_NOTE_SIZE];
    agent_offsets_init(&offsets);
    for (int i = 0; i < 20000; i++)
        agent_offsets_add(&offsets, 1000000 + 3 * i);
    for (uint64_t i = 1; i < 20000; i += 2)
        agent_offsets_settle(&offsets, i);
    settled_note_write(&offsets, &none, note);
    cr_assert_leq(strlen(note), BROKER_NOTE_BYTES_MAX);
    settled_note_read(note, offsets.position, &ranges);
    cr_assert_gt(ranges.count, 300);
    for (uint64_t i = 0; i < 600; i++)
        cr_assert_eq(settled_ranges_pass(&ranges, 1000000 + 3 * (int64_t)i), i % 2 == 1);
    agent_offsets_deinit(&offsets);
}

/* ---- at a takeover ---- */

enum { ORDERS = 200, FAR = 1 << 30 };

static void succeed_but_the_first_of_each_partition(struct world *world, struct instance *instance)
{
    uint32_t kept = 0;
    bool seen[WORLD_PARTITIONS] = {false};
    while (instance->call_count > kept) {
        int32_t partition =
            broker_partition_of(instance->calls[kept]->request->order_id, WORLD_PARTITIONS);
        if (!seen[partition]) {
            seen[partition] = true;
            kept++;
            continue;
        }
        struct agent_call *call = instance->calls[kept];
        memmove(instance->calls + kept, instance->calls + kept + 1,
                (instance->call_count - kept - 1) * sizeof(instance->calls[0]));
        instance->call_count--;
        agent_call_succeed(call, TEXT(""));
    }
    world_settle(world);
}

static void append_requests(struct world *world, const char *prefix)
{
    char order[16];
    for (int i = 0; i < ORDERS; i++) {
        snprintf(order, sizeof(order), "%s%d", prefix, i);
        world_append_request(world, order, PRIORITY_NORMAL, DIRECTION_DO, 1, FAR);
    }
    world_settle(world);
}

static struct world *world_with_slow_calls(struct instance **ret_first)
{
    struct world *world = world_new(1);
    *ret_first = world_add(world, NULL);
    world_rebalance(world);
    append_requests(world, "o");
    cr_assert_eq((*ret_first)->call_count, ORDERS);
    succeed_but_the_first_of_each_partition(world, *ret_first);
    cr_assert_eq((*ret_first)->call_count, WORLD_PARTITIONS);
    cr_assert_eq(world_count(world, "t.commands"), ORDERS - WORLD_PARTITIONS);
    return world;
}

Test(settled_note, spares_the_next_owner_what_was_settled_before_a_crash)
{
    struct instance *first;
    struct world *world = world_with_slow_calls(&first);
    world_advance(world, 200);
    world_kill(first);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_eq(second->call_count, WORLD_PARTITIONS, "%u calls", second->call_count);
    /* And the one after it. */
    world_advance(world, 200);
    world_kill(second);
    struct instance *third = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_eq(third->call_count, WORLD_PARTITIONS, "%u calls", third->call_count);
    while (third->call_count > 0)
        world_succeed(third, "");
    cr_assert_eq(world_count(world, "t.commands"), ORDERS, "each was reported once");
    world_advance(world, 200);
    for (int i = 0; i < WORLD_PARTITIONS; i++)
        cr_assert_not(agent_queued(third->agent));
    world_free(world);
}

Test(settled_note, spares_the_next_owner_what_was_settled_since_the_last_commit)
{
    struct instance *first;
    struct world *world = world_with_slow_calls(&first);
    world_advance(world, 200);
    append_requests(world, "p");
    succeed_but_the_first_of_each_partition(world, first);
    world_advance(world, 200);
    world_kill(first);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_eq(second->call_count, WORLD_PARTITIONS, "%u calls", second->call_count);
    world_free(world);
}

Test(settled_note, spares_the_next_owner_what_was_settled_before_a_handover)
{
    struct instance *first;
    struct world *world = world_with_slow_calls(&first);
    world_advance(world, 200);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world); /* half of the partitions move */
    cr_assert_eq(second->call_count, WORLD_PARTITIONS / 2, "%u calls", second->call_count);
    while (second->call_count > 0)
        world_succeed(second, "");
    cr_assert_eq(world_count(world, "t.commands"), ORDERS - WORLD_PARTITIONS / 2);
    world_free(world);
}

/* ---- how many reports are repeated ---- */

enum { TICK_MS = 10, TICKS = 109 };

/* An order every TICK_MS whose call succeeds at once, and whose report is acknowledged. A commit
 * comes every 100 ms: the latest one is nearly as long ago at the end. */
static struct world *world_with_steady_work(struct instance **ret_first)
{
    struct world *world = world_new(1);
    char order[16];
    *ret_first = world_add(world, NULL);
    world_rebalance(world);
    for (int i = 0; i < TICKS; i++) {
        snprintf(order, sizeof(order), "s%d", i);
        world_append_request(world, order, PRIORITY_NORMAL, DIRECTION_DO, 1, FAR);
        world_settle(world);
        while ((*ret_first)->call_count > 0)
            world_succeed(*ret_first, "");
        world_advance(world, TICK_MS);
    }
    cr_assert_eq(world_count(world, "t.commands"), TICKS);
    return world;
}

static void note_stopped(void *ctx)
{
    ((struct instance *)ctx)->drained = true;
}

Test(settled_note, leaves_nothing_to_repeat_after_a_clean_shutdown)
{
    struct instance *first;
    struct world *world = world_with_steady_work(&first);
    agent_drain(first->agent, note_stopped, first);
    world_advance(world, 1000);
    cr_assert(first->drained);
    world_stop(first);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_eq(second->call_count, 0, "%u calls", second->call_count);
    cr_assert_eq(world_count(world, "t.commands"), TICKS);
    world_free(world);
}

Test(settled_note, leaves_a_tenth_of_a_second_to_repeat_after_a_crash)
{
    struct instance *first;
    struct world *world = world_with_steady_work(&first);
    world_kill(first);
    struct instance *second = world_add(world, NULL);
    world_rebalance(world);
    cr_assert_gt(second->call_count, 0, "the crash is to come just before a commit");
    cr_assert_leq(second->call_count, 100 / TICK_MS, "%u calls", second->call_count);
    world_free(world);
}
