/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler that crashes while it decides a command leaves an Attempt of it, and a command with
 * five is quarantined. In a process with several partitions another one may guard its own command
 * in that moment, and the innocent command would also collect Attempts: so meanwhile no other
 * partition decides. */
#include "tests/property/ownership_history.h"

#include "platform/failpoint.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"

#include <assert.h>
#include <stdio.h>

enum { ORDERS_MAX = 40, ROUNDS_MAX = 5000, POISON_ATTEMPTS = COMMAND_TRIES_MAX };

/* What the log of a partition says of each of its commands, by offset. */
struct suspects {
    uint32_t attempts[ORDERS_MAX];
    bool quarantined[ORDERS_MAX];
};

static void live(struct world *world)
{
    struct instance *instance = &world->instances[0];
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
    int32_t first = (int32_t)dice_roll(&world->dice, (uint32_t)world->partitions);
    for (int32_t i = 0; i < world->partitions; i++)
        instance_take(world, instance, (first + i) % world->partitions);
    for (uint32_t i = dice_roll(&world->dice, 20); i > 0 && instances_deliver(world); i--)
        continue;
    instance_turn(world, instance);
    world_advance(world, 1 + dice_roll(&world->dice, 200));
}

static bool all_decided(struct world *world)
{
    static struct fold fold;
    for (int32_t p = 0; p < world->partitions; p++)
        if (fold_log(world, p, log_end(world, "p.events", p), NULL, &fold) != NULL ||
            fold.checkpoint.next_command_offset < log_end(world, "p.commands", p))
            return false;
    return true;
}

static const char *read_suspects(struct world *world, int32_t partition,
                                 struct suspects *ret_suspects)
{
    *ret_suspects = (struct suspects){0};
    heap_arena_reset(&world->scratch);
    for (int64_t at = 0; at < log_end(world, "p.events", partition); at++) {
        struct record record;
        const char *failed = read_log(world, "p.events", partition, at, &record);
        if (failed != NULL)
            return failed;
        if (record.kind == RECORD_COMMAND_GUARD)
            ret_suspects->attempts[record.command_guard.command_offset]++;
        if (record.kind == RECORD_DECISION &&
            record.decision.events[0].kind == EVENT_COMMAND_DEAD_LETTERED)
            ret_suspects->quarantined[record.decision.command_offset] =
                record.decision.events[0].command_dead_lettered.quarantined;
    }
    return NULL;
}

/* An innocent command has one guard when a careful owner decides it. One more may be left over from
 * a process that ended before the partition of the poison had a reason to be careful. */
static const char *check_quarantine(struct world *world, int32_t poison_partition,
                                    int64_t poison_offset)
{
    struct suspects suspects;
    for (int32_t p = 0; p < world->partitions; p++) {
        const char *failed = read_suspects(world, p, &suspects);
        if (failed != NULL)
            return failed;
        for (int64_t at = 0; at < log_end(world, "p.commands", p); at++) {
            bool poison = p == poison_partition && at == poison_offset;
            uint32_t attempts = suspects.attempts[at];
            if (poison != suspects.quarantined[at])
                return wrong("partition %d, command %lld: %s after %u attempts", p, (long long)at,
                             poison ? "poison is not quarantined" : "an innocent is quarantined",
                             attempts);
            if (poison ? attempts != POISON_ATTEMPTS : attempts > 2)
                return wrong("partition %d, command %lld: %u attempts of %s command", p,
                             (long long)at, attempts, poison ? "the poison" : "an innocent");
        }
    }
    return NULL;
}

const char *ownership_poison(struct ownership_run *run, uint64_t seed)
{
    struct world *world = world_new(run, seed, 2 + (int32_t)(seed % (PARTITIONS_MAX - 1)));
    uint32_t orders = 8 + dice_roll(&world->dice, ORDERS_MAX - 8);
    uint32_t poison = dice_roll(&world->dice, orders);
    int32_t poison_partition = -1;
    int64_t poison_offset = -1;
    char specification[96];
    snprintf(world->poison, sizeof(world->poison), "cycle.decide/order-%u", poison);
    snprintf(specification, sizeof(specification), "%s=error@1+", world->poison);
    bool configured = failpoint_configure(specification);
    assert(configured);
    const char *failed = "commands stay undecided";
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        heap_arena_reset(&world->scratch);
        if (world->orders < orders && dice_percent(&world->dice, 60)) {
            int64_t offset = submit_order(world, world->orders);
            if (world->orders == poison) {
                poison_partition = partition_of(world, order_name(world, poison));
                poison_offset = offset;
            }
            world->orders++;
        }
        live(world);
        if (world->orders == orders && round % 8 == 0 && all_decided(world)) {
            failed = check_quarantine(world, poison_partition, poison_offset);
            break;
        }
    }
    failpoint_configure(NULL);
    world_free(world);
    return failed;
}
