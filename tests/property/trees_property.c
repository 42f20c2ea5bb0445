/* SPDX-License-Identifier: Apache-2.0 */
/* Random trees: files with bodies in bodies, orders on several partitions, messages that are lost,
 * repeated and late, agents that fail, operators who change their minds. Every Decision and every
 * message is checked against the rules of docs/design/decisions/0018-suborders.md; in the end all
 * orders have ended, parents and sub-orders agree, and what remains at the agents is what they say.
 *
 * REEVE_SEED repeats a run: each case has the seed after the one before. REEVE_PROPERTY_CASES is
 * the number of cases. */
#include "tests/lib/seed.h"
#include "tests/property/engine_digest.h"
#include "tests/property/trees_rules.h"
#include "tests/property/trees_workflow.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Four slices, because Criterion runs tests in parallel. */
enum { CASES = 80000, SLICES = 4, ENOUGH_CASES = 20000, REST_MAX = 100000 };
/* Deadlines in a row that change nothing, for each order; and how often operators try. */
enum { VAIN_MAX = 12, ROUNDS_MAX = 100 };

static uint64_t rare[TREES_RARE_COUNT];
static uint64_t endings[ORDER_STATE_COUNT];
static uint64_t orders;
static uint64_t decisions;

/* ---- what happens ---- */

static void deliver(void)
{
    uint32_t number = dice_roll(&world.dice, world.partition_count);
    if (!world.partitions[number].stopped && world_decide(number) && world.resets &&
        world_reset(number) && dice_percent(&world.dice, 70))
        senders_cancel_root();
}

static void emit(void)
{
    uint32_t from = dice_roll(&world.dice, world.partition_count);
    world_emit(from, dice_roll(&world.dice, world.partition_count + 1));
}

static void time_passes(void)
{
    uint32_t roll = dice_roll(&world.dice, 100);
    uint32_t some = 1 + dice_roll(&world.dice, 1000);
    if (roll < 70)
        world.now += some * 5;
    else if (roll < 90)
        world.now += some * 3600;
    else if (roll < 97)
        world.now += some * INT64_C(100000);
    else
        world.now += (SUBMISSION_DAYS + dice_roll(&world.dice, 3)) * DAY_MS;
    if (dice_percent(&world.dice, 50))
        world_expire();
}

static void something_happens(void)
{
    uint32_t roll = dice_roll(&world.dice, 1000);
    struct partition *some = &world.partitions[dice_roll(&world.dice, world.partition_count)];
    if (roll < 340)
        deliver();
    else if (roll < 640)
        emit();
    else if (roll < 800)
        agents_step();
    else if (roll < 860)
        senders_deadline(false);
    else if (roll < 870)
        senders_deadline(true);
    else if (roll < 900)
        time_passes();
    else if (roll < 920)
        world_take_over((uint32_t)(some - world.partitions));
    else if (roll < 940)
        world_copy();
    else if (roll < 960)
        world_deliver_copy();
    else if (roll < 985)
        senders_operator();
    else if (roll < 990)
        senders_submit_root();
    else
        some->stopped = !some->stopped && dice_percent(&world.dice, 30);
}

/* ---- coming to rest ---- */

/* Emits and decides whatever there is; false: nothing. */
static bool all_is_delivered(void)
{
    bool none = true;
    for (uint32_t from = 0; from < world.partition_count; from++) {
        for (uint32_t target = 0; target <= world.partition_count; target++) {
            while (world_emit(from, target))
                none = false;
        }
        while (world_decide(from))
            none = false;
    }
    return none;
}

static bool any_alert(void)
{
    for (uint32_t i = 0; i < world.member_count; i++) {
        if (!world.members[i]->expired && world.members[i]->order.alert_open)
            return true;
    }
    return false;
}

/* How much has happened, but for asking: deadlines that change nothing do not count. */
static uint64_t progress(void)
{
    uint64_t sum = world.member_count;
    for (uint32_t i = 0; i < world.member_count; i++)
        sum += world.members[i]->order.version;
    for (uint32_t i = 0; i < world.told_count; i++) {
        enum event_kind kind = world.told[i]->decision.events[0].kind;
        sum -= kind == EVENT_SUBORDERS_ASKED || kind == EVENT_ORDER_DEADLINE_SET;
    }
    return sum;
}

/* Until nothing is due; or until only operators can help. */
static void come_to_rest(void)
{
    uint64_t known = 0;
    uint32_t vain = 0;
    for (int i = 0; i < REST_MAX && !world_is_wrong(); i++) {
        if (!all_is_delivered() || agents_step() || senders_resume_all())
            continue;
        world_expire();
        uint64_t now = progress();
        vain = now == known ? vain + 1 : 0;
        known = now;
        if (vain > VAIN_MAX * (world.member_count + 1)) {
            if (!any_alert())
                world_say("orders ask each other for ever");
            return;
        }
        if (!senders_next_deadline())
            return;
    }
    world_say("no rest: the orders go on for ever");
}

static void repair(void)
{
    for (uint32_t round = 0; round < ROUNDS_MAX && !world_is_wrong(); round++) {
        bool any = false;
        for (uint32_t i = 0; i < world.member_count; i++)
            any = senders_repair(world.members[i], round % 4) || any;
        if (!any)
            return;
        come_to_rest();
    }
}

static void run_case(uint64_t seed)
{
    world_begin(seed, rare);
    struct arena *arena = &world.memory.arena;
    if (dice_percent(&world.dice, 1)) {
        world.workflow = trees_workflow_large(arena, &world.file);
        world.input = trees_large_input(arena);
    } else {
        world.workflow = trees_workflow_draw(&world.dice, arena, &world.file);
        world.input = TEXT("{\"n\":1}");
    }
    senders_submit_root();
    uint32_t steps = 50 + dice_roll(&world.dice, dice_percent(&world.dice, 20) ? 3000 : 600);
    for (uint32_t i = 0; i < steps && !world_is_wrong(); i++)
        something_happens();
    while (world.copy_count > 0)
        world_deliver_copy();
    world.healthy = true;
    come_to_rest();
    repair();
    if (!world_is_wrong())
        trees_check_end();
    for (uint32_t i = 0; i < world.member_count; i++)
        endings[world.members[i]->order.state]++;
    orders += world.member_count;
    decisions += world.told_count;
}

/* ---- the test ---- */

static const char *const rare_names[] = {
#define WORDS_OF(name, words) [TREES_##name] = (words),
    TREES_RARE(WORDS_OF)
#undef WORDS_OF
};

static void check_rare(uint64_t cases)
{
    for (unsigned i = 0; i < TREES_RARE_COUNT; i++) {
        printf("  %8" PRIu64 " %s\n", rare[i], rare_names[i]);
        /* A few in 20,000 cases: those, unit tests have as well. */
        bool may_be_missing = i == TREES_UNDO_FAILED;
        cr_expect(cases < ENOUGH_CASES || rare[i] > 0 || may_be_missing, "never happened: %s",
                  rare_names[i]);
    }
}

static void expect_right(uint64_t seed)
{
    run_case(seed);
    if (world_is_wrong()) {
        char *told = world_tell();
        fprintf(stderr, "%s\n", told);
        free(told);
        cr_assert_fail("%s", world.wrong);
    }
    world_end();
}

static void run_slice(uint32_t slice)
{
    struct seed_range range = seed_slice(CASES, slice, SLICES);
    seed_run(range, expect_right);
    printf("%" PRIu64 " cases from seed %" PRIu64 ": %" PRIu64 " decisions about %" PRIu64
           " orders: %" PRIu64 " Processed, %" PRIu64 " Compensated\n",
           range.count, range.first, decisions, orders, endings[ORDER_PROCESSED],
           endings[ORDER_COMPENSATED]);
    digest_print();
    check_rare(range.count);
}

Test(trees_property, keeps_the_rules_in_random_trees_slice_1)
{
    run_slice(0);
}

Test(trees_property, keeps_the_rules_in_random_trees_slice_2)
{
    run_slice(1);
}

Test(trees_property, keeps_the_rules_in_random_trees_slice_3)
{
    run_slice(2);
}

Test(trees_property, keeps_the_rules_in_random_trees_slice_4)
{
    run_slice(3);
}
