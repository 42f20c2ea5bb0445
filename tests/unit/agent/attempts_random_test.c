/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests, answers, acknowledgements and rebalances, from a seed: the invariants of
 * attempts.h hold at every moment. REEVE_SEED repeats a run. */
#include "services/agent/core/attempts.h"
#include "tests/lib/seed.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CASES = 300,
    TURNS = 400,
    STEPS = 5,
    PARTITIONS = 2,
    PLACES_MAX = 2 * TURNS,
    IN_HAND_MAX = 2 * TURNS,
    MARGIN_MS = 1000
};

enum fate { FATE_OPEN, FATE_SETTLED, FATE_LEFT };

struct world {
    uint64_t state; /* of the generator */
    struct clock_manual clock;
    struct attempts *attempts;
    struct agent_attempt *running[IN_HAND_MAX];
    uint32_t running_count;
    struct agent_attempt *waits[IN_HAND_MAX];
    uint32_t wait_count;
    struct agent_attempt *reports[IN_HAND_MAX];
    uint32_t report_count;
    uint32_t attempt_number[STEPS];
    enum direction direction[STEPS];
    enum fate fates[PLACES_MAX];
    uint64_t places;
    int64_t decision_offset;
    bool owned[PARTITIONS];
    uint64_t successes, successes_reported;
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = world->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static struct agent_attempt *take_any(struct world *world, struct agent_attempt **list,
                                      uint32_t *count)
{
    if (*count == 0)
        return NULL;
    uint32_t at = (uint32_t)draw(world, *count);
    struct agent_attempt *attempt = list[at];
    list[at] = list[--*count];
    return attempt;
}

static void end_try(struct world *world, struct agent_attempt *attempt)
{
    uint64_t kind = draw(world, 4);
    if (kind == 0) {
        world->successes++;
        attempts_succeeded(world->attempts, attempt, TEXT(""));
        return;
    }
    struct agent_failure failure = {
        .name = TEXT("Oops"),
        .effect = (enum effect)draw(world, EFFECT_COUNT),
        .retriable = kind > 1,
        .retry_after_ms = kind == 2 ? (int64_t)draw(world, 2000) : 0,
    };
    attempts_failed(world->attempts, attempt, &failure);
}

static void on_start(void *ctx, struct agent_attempt *attempt)
{
    struct world *world = ctx;
    cr_assert_lt(clock_wall_ms(&world->clock.clock), attempt->request.complete_by);
    cr_assert(world->owned[attempt->receipt.partition]);
    for (uint32_t i = 0; i < world->running_count; i++)
        cr_assert_neq(world->running[i]->step, attempt->step, "two calls of one order and step");
    if (draw(world, 4) == 0)
        end_try(world, attempt);
    else
        world->running[world->running_count++] = attempt;
}

static void on_wait(void *ctx, struct agent_attempt *attempt, int64_t delay_ms)
{
    struct world *world = ctx;
    cr_assert_gt(delay_ms, 0);
    world->waits[world->wait_count++] = attempt;
}

static void on_unwait(void *ctx, struct agent_attempt *attempt)
{
    struct world *world = ctx;
    for (uint32_t i = 0; i < world->wait_count; i++) {
        if (world->waits[i] == attempt) {
            world->waits[i] = world->waits[--world->wait_count];
            return;
        }
    }
    cr_assert_fail("it does not wait");
}

static void on_report(void *ctx, struct agent_attempt *attempt)
{
    struct world *world = ctx;
    if (attempt->answer.succeeded)
        world->successes_reported++;
    else
        cr_assert_lt(clock_wall_ms(&world->clock.clock), attempt->request.complete_by);
    world->reports[world->report_count++] = attempt;
}

static void on_settled(void *ctx, const struct request_receipt *receipt)
{
    struct world *world = ctx;
    cr_assert_eq(world->fates[receipt->place], FATE_OPEN, "settled twice");
    world->fates[receipt->place] = FATE_SETTLED;
}

static const struct attempts_ops ops = {on_start,   on_wait, on_unwait, on_report,
                                        on_settled, NULL,    NULL};

/* A new attempt of a step, a repeat of its latest, or a late request of a zombie owner. */
static void offer(struct world *world)
{
    static const char *const orders[STEPS] = {"A", "B", "C", "D", "E"};
    uint32_t step = (uint32_t)draw(world, STEPS);
    int32_t partition = (int32_t)(step % PARTITIONS);
    if (!world->owned[partition] || world->places == PLACES_MAX)
        return;
    uint64_t kind = draw(world, 5);
    if (kind < 3 || world->attempt_number[step] == 0) {
        if (draw(world, 6) == 0 && world->direction[step] == DIRECTION_DO) {
            world->direction[step] = DIRECTION_UNDO;
            world->attempt_number[step] = 0;
        }
        world->attempt_number[step]++;
    }
    uint32_t number = world->attempt_number[step] - (kind == 4 && world->attempt_number[step] > 1);
    struct agent_attempt *attempt = attempts_take(world->attempts);
    attempt->request = (struct step_request){
        .order_id = text_of(orders[step]),
        .ref = {TEXT("pay"), world->direction[step], number},
        .complete_by = clock_wall_ms(&world->clock.clock) + (int64_t)draw(world, 3000),
        .decision_offset = (world->direction[step] == DIRECTION_UNDO) * 100000 + number,
    };
    struct request_receipt receipt = {.partition = partition, .place = world->places++};
    attempts_offer(world->attempts, attempt, &receipt);
}

static void rebalance(struct world *world)
{
    int32_t partitions[PARTITIONS];
    uint32_t count = 0;
    attempts_revoke(world->attempts);
    memset(world->owned, 0, sizeof(world->owned));
    if (draw(world, 2) == 0)
        return; /* for a while no partition is owned */
    for (int32_t partition = 0; partition < PARTITIONS; partition++) {
        if (draw(world, 3) > 0) {
            world->owned[partition] = true;
            partitions[count++] = partition;
        }
    }
    attempts_own(world->attempts, partitions, count);
}

static void turn(struct world *world)
{
    struct agent_attempt *attempt;
    switch (draw(world, 16)) {
    case 0:
        rebalance(world);
        break;
    case 1:
    case 2:
        clock_manual_advance(&world->clock, (int64_t)draw(world, 500));
        break;
    case 3:
    case 4:
    case 5:
        attempt = take_any(world, world->running, &world->running_count);
        if (attempt != NULL)
            end_try(world, attempt);
        break;
    case 6:
    case 7:
        attempt = take_any(world, world->reports, &world->report_count);
        if (attempt != NULL)
            attempts_reported(world->attempts, attempt);
        break;
    case 8:
    case 9:
        attempt = take_any(world, world->waits, &world->wait_count);
        if (attempt != NULL)
            attempts_resume(world->attempts, attempt);
        break;
    default:
        offer(world);
        break;
    }
}

static void run_case(struct world *world, uint64_t seed)
{
    seed_begin(seed);
    *world = (struct world){.state = seed, .owned = {true, true}};
    clock_manual_init(&world->clock, 1000000);
    struct attempts_options options = {.clock = &world->clock.clock,
                                       .idle_steps_max = (uint32_t)draw(world, 4),
                                       .backoff_ms = 50,
                                       .backoff_ms_max = 400,
                                       .try_ms_min = 5};
    world->attempts = attempts_new(&options, &ops, world);
    attempts_own(world->attempts, (const int32_t[]){0, 1}, 2);
    for (int i = 0; i < TURNS; i++)
        turn(world);
    attempts_drain(world->attempts);
    struct agent_attempt *attempt;
    while ((attempt = take_any(world, world->running, &world->running_count)) != NULL)
        end_try(world, attempt);
    while ((attempt = take_any(world, world->reports, &world->report_count)) != NULL)
        attempts_reported(world->attempts, attempt);
    cr_assert_eq(world->wait_count, 0);
    cr_assert_eq(attempts_in_flight(world->attempts), 0);
    cr_assert_eq(world->successes, world->successes_reported);
    const struct attempts_counts *counts = attempts_counts(world->attempts);
    uint64_t left = 0;
    for (uint64_t place = 0; place < world->places; place++)
        left += world->fates[place] == FATE_OPEN;
    /* An attempt that is given up may have merged several requests. */
    cr_assert(left >= counts->given_up, "%llu left", (unsigned long long)left);
    if (counts->given_up == 0)
        cr_assert_eq(left, 0);
    attempts_free(world->attempts);
    seed_end();
}

Test(attempts_random, keeps_the_invariants_in_random_histories)
{
    static struct world world;
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(&world, first + i);
}
