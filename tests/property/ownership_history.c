/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_history.h"

#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_route.h"

#include <stdio.h>

enum { PEACE_ROUNDS_MAX = 4000, LAST_ROUNDS = 50 };

static const char *step_world(struct world *world, uint32_t deliveries)
{
    for (uint32_t i = 0; i < deliveries && instances_deliver(world); i++)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    agent_read_requests(world);
    clock_manual_advance(&world->clock, 1 + dice_roll(&world->dice, 20));
    return compare_stores(world);
}

/* ---- peace: one owner, no faults, an agent that succeeds, until every order has ended ---- */

static void begin_peace(struct world *world)
{
    struct broker_memory_faults none = {0};
    struct instance *instance = &world->instances[0];
    broker_memory_set_faults(world->kafka, &none);
    world->crash_permille = world->store_fail_permille = 0;
    for (uint32_t i = 1; i < INSTANCES; i++)
        instance_shut(world, &world->instances[i]);
    if (instance->cluster == NULL)
        instance_boot(world, instance);
    broker_memory_continue(instance->broker);
    broker_memory_connect(instance->broker);
    route_make_peace(instance);
    for (int32_t p = 0; p < world->partitions; p++)
        instance_take(world, instance, p);
}

enum rest {
    REST_BUSY,    /* commands wait for their Decision */
    REST_WAITING, /* for the agent, or for a deadline */
    REST_ENDED
};

/* *ret_why (static) says what is still going on, unless it has ended. */
static enum rest rest_of_partition(struct world *world, int32_t partition, const char **ret_why)
{
    static struct fold fold;
    int64_t commands = log_end(world, "p.commands", partition);
    *ret_why = fold_log(world, partition, log_end(world, "p.events", partition), NULL, &fold);
    if (*ret_why != NULL)
        return REST_BUSY;
    const struct owner *owner = world->instances[0].partitions[partition].owner;
    if (fold.checkpoint.next_command_offset < commands) {
        *ret_why = wrong("stuck: next command %lld of %lld; the owner is %s",
                         (long long)fold.checkpoint.next_command_offset, (long long)commands,
                         owner != NULL ? owner_state_name(owner_state(owner)) : "gone");
        return REST_BUSY;
    }
    for (uint32_t i = 0; i < fold.order_count; i++) {
        const struct order *order = &fold.orders[i];
        if (order_ended(order) || order->state == ORDER_ERROR)
            continue;
        *ret_why = wrong("stuck: %.*s is %s", TEXT_ARG(order->details.order_id),
                         order_state_name(order->state));
        return REST_WAITING;
    }
    return REST_ENDED;
}

static enum rest rest_of(struct world *world, const char **ret_why)
{
    enum rest least = REST_ENDED;
    for (int32_t p = 0; p < world->partitions; p++) {
        const char *why;
        enum rest rest = rest_of_partition(world, p, &why);
        if (rest < least) {
            least = rest;
            *ret_why = why;
        }
    }
    return least;
}

static const char *check_ends(struct world *world, int32_t partition)
{
    static struct fold fold;
    const char *failed = fold_log(world, partition, log_end(world, "p.events", partition),
                                  &world->run->sometimes, &fold);
    for (uint32_t i = 0; i < fold.order_count && failed == NULL; i++) {
        const struct order *order = &fold.orders[i];
        uint64_t *counts = world->run->sometimes.counts;
        counts[SOMETIMES_PROCESSED] += order->state == ORDER_PROCESSED;
        counts[SOMETIMES_COMPENSATED] += order->state == ORDER_COMPENSATED;
        counts[SOMETIMES_ERROR] += order->state == ORDER_ERROR;
        if (order->alert_open != (order->state == ORDER_ERROR))
            failed = wrong("%.*s is %s with alert %d", TEXT_ARG(order->details.order_id),
                           order_state_name(order->state), order->alert_open);
    }
    return failed != NULL ? failed : check_statuses(world, partition);
}

/* No new request before the last one is answered: otherwise the queue might only grow. */
static void let_go_on(struct world *world)
{
    for (int i = 0; i < 20; i++)
        agent_answer(world, 90);
    supervise(world, false);
}

static const char *make_peace(struct world *world)
{
    const char *failed = NULL;
    const char *why = NULL;
    begin_peace(world);
    for (uint32_t round = 0; round < PEACE_ROUNDS_MAX && failed == NULL; round++) {
        failed = step_world(world, 200);
        if (failed != NULL || round % 4 != 0)
            continue;
        enum rest rest = rest_of(world, &why);
        if (rest == REST_ENDED && broker_memory_settle(world->kafka, 1) == 0)
            break;
        if (rest != REST_BUSY)
            let_go_on(world);
        clock_manual_advance(&world->clock, 500);
    }
    /* Effects of the last Decisions, and a look back at emission that went back. */
    for (uint32_t round = 0; round < LAST_ROUNDS && failed == NULL; round++) {
        clock_manual_advance(&world->clock, 100);
        failed = step_world(world, 2000);
    }
    if (failed == NULL && rest_of(world, &why) != REST_ENDED)
        return why;
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
        failed = check_ends(world, p);
    return failed;
}

/* ---- a case ---- */

static void draw_faults(struct world *world)
{
    struct broker_memory_faults faults = {.ack_without_offset =
                                              dice_percent(&world->dice, 30) ? 5 : 0,
                                          .append_lost = dice_percent(&world->dice, 30) ? 5 : 0,
                                          .append_unknown = dice_percent(&world->dice, 30) ? 5 : 0,
                                          .reply_failed = dice_percent(&world->dice, 30) ? 5 : 0};
    broker_memory_set_faults(world->kafka, &faults);
    world->crash_permille = dice_percent(&world->dice, 50) ? 3 : 0;
    world->store_fail_permille = dice_percent(&world->dice, 20) ? 50 : 0;
}

const char *ownership_history(struct ownership_run *run, uint64_t seed, uint32_t steps)
{
    struct world *world = world_new(run, seed, seed % 8 == 0 ? 2 : 1);
    const char *failed = NULL;
    draw_faults(world);
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_boot(world, &world->instances[i]);
    for (int32_t p = 0; p < world->partitions; p++)
        instance_take(world, &world->instances[0], p);
    for (uint32_t i = 0; i < steps && failed == NULL; i++) {
        act(world);
        failed = step_world(world, dice_roll(&world->dice, 40));
    }
    if (failed == NULL)
        failed = make_peace(world);
    world_free(world);
    return failed;
}
