/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_history.h"

#include "services/scheduler/emitter/internal.h"
#include "services/scheduler/owner/internal.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_deployments.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_group.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_ledger.h"
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_route.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_tail.h"
#include "tests/property/ownership_trees.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/ownership_upgrade.h"

#include <stdio.h>

enum { PEACE_ROUNDS_MAX = 4000, LAST_ROUNDS = 50, REQUESTS_EVERY = 5, LEDGER_PERCENT = 50 };

/* What assignments that move, with an overlap, lead to. */
static void count_owners(struct world *world)
{
    for (int32_t p = 0; p < world->partitions; p++) {
        uint32_t running = 0;
        uint32_t standing_by = 0;
        for (uint32_t i = 0; i < INSTANCES; i++) {
            const struct owner *owner = world->instances[i].partitions[p].owner;
            bool here = world->instances[i].process.cluster != NULL && owner != NULL;
            running += here && owner_is_running(owner);
            standing_by += here && owner_is_warm(owner) && owner_state(owner) == OWNER_STANDBY;
        }
        world->run->sometimes.counts[SOMETIMES_OWNED_TWICE] += running > 1;
        world->run->sometimes.counts[SOMETIMES_STANDBY_NEXT] += running > 0 && standing_by > 0;
    }
}

static const char *step_world(struct world *world, uint32_t deliveries)
{
    for (uint32_t i = 0; i < deliveries && instances_deliver(world); i++)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    supervisor_turn(world);
    agent_read_requests(world);
    count_owners(world);
    deployments_observe(world);
    world_advance(world, 1 + dice_roll(&world->dice, 20));
    const char *failed = upgrade_check(world);
    if (failed == NULL)
        failed = trim_check(world);
    return failed != NULL ? failed : compare_stores(world);
}

/* Also of targets that acknowledge nothing, for which an owner does not count as busy. */
static bool has_effects_under_way(const struct owner *owner)
{
    const struct emitter *emitter = owner->emitter;
    return !emitter->live || emitter->listed > 0 || emitter->behind > 0;
}

/* L6: what runs has a request, as far as the owner is at the end of its log and has nothing under
 * way. */
static const char *check_requests(struct world *world)
{
    const char *failed = NULL;
    for (uint32_t i = 0; i < INSTANCES; i++) {
        const struct instance *instance = &world->instances[i];
        for (int32_t p = 0; p < world->partitions && failed == NULL; p++) {
            const struct owner *owner = instance->partitions[p].owner;
            if (instance->process.cluster == NULL || owner == NULL ||
                owner_state(owner) != OWNER_RUNNING || owner_is_busy(owner) ||
                has_effects_under_way(owner) ||
                view_checkpoint(owner_view(owner))->next_event_offset !=
                    log_end(world, "p.events", p) ||
                tail_excuses(world, i, p, owner_view((struct owner *)owner)))
                continue;
            failed = model_check_requests(world, p);
            world_count(world, SOMETIMES_IDLE);
        }
    }
    return failed;
}

/* ---- peace: one owner, no faults, an agent that succeeds, until every order has ended ---- */

static void begin_peace(struct world *world)
{
    struct broker_memory_faults none = {0};
    struct instance *instance = &world->instances[0];
    broker_memory_set_faults(world->kafka, &none);
    chaos_end(world);
    world->crash_permille = world->store_fail_permille = 0;
    for (uint32_t i = 1; i < INSTANCES; i++)
        instance_shut(world, &world->instances[i]);
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
    broker_memory_continue(instance->process.broker);
    broker_memory_connect(instance->process.broker);
    route_make_peace(world, instance);
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
        bool repaired = trees_has(order->details.order_id);
        if (order_ended(order) || (order->state == ORDER_ERROR && !repaired))
            continue;
        *ret_why = wrong("stuck: %.*s is %s", TEXT_ARG(order->details.order_id),
                         order_state_name(order->state));
        return REST_WAITING;
    }
    /* It still owes effects; after several failed checks of a store, the next is 30 s later. */
    if (owner == NULL || !owner_is_running(owner)) {
        *ret_why = wrong("stuck: the owner is %s",
                         owner != NULL ? owner_state_name(owner_state(owner)) : "gone");
        return REST_WAITING;
    }
    /* Its store is opened again as rarely. */
    if (supervisor_is_behind(world, partition)) {
        *ret_why = wrong("stuck: the supervisor has not read events[%d] to its end", partition);
        return REST_WAITING;
    }
    /* The owner learns of another claim when it writes, which it does every ten seconds only while
     * its clock is wrong, and never if it has decided every command. */
    const struct checkpoint *own = view_checkpoint(owner_view(owner));
    if (!uuid_equal(&own->claim_id, &fold.checkpoint.claim_id) &&
        own->next_command_offset < fold.checkpoint.next_command_offset) {
        *ret_why = wrong("stuck: the owner has not noticed that another one has claimed");
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
        if (failed == NULL && world->ledger != NULL)
            failed = ledger_check(world, order);
        counts[SOMETIMES_LEDGER_COMPENSATED] +=
            world->ledger != NULL && order->state == ORDER_COMPENSATED;
    }
    return failed != NULL ? failed : model_check(world, partition);
}

/* ---- a takeover at rest ---- */

static int64_t count_effects(struct world *world)
{
    static const char *const topics[] = {"p.replies.app", "p.requests.agent", "p.dead-letters"};
    int64_t count = 0;
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        for (int32_t p = 0; p < world->partitions; p++)
            count += log_end(world, topics[i], p);
    return count + trees_count_messages(world);
}

/* Without a supervisor, no deadline leads to anything. */
static void rest(struct world *world)
{
    for (uint32_t round = 0; round < LAST_ROUNDS; round++) {
        for (uint32_t i = 0; i < 2000 && instances_deliver(world); i++)
            continue;
        instance_turn(world, &world->instances[0]);
        world_advance(world, 100);
    }
}

/* Everything is acknowledged, and a flushed store knows it: a new owner emits nothing again. */
static const char *take_over_at_rest(struct world *world)
{
    int64_t before = count_effects(world);
    if (group_assigns(world)) /* what it assigns again, it does not take over */
        return NULL;
    for (int32_t p = 0; p < world->partitions; p++) {
        owner_flush(world->instances[0].partitions[p].owner);
        ownership_release(&world->instances[0].partitions[p]);
        instance_take(world, &world->instances[0], p);
    }
    rest(world);
    int64_t again = count_effects(world) - before;
    return again == 0 ? NULL
                      : wrong("a takeover at rest sends %lld effects again", (long long)again);
}

/* The rest of a trimmed log is enough: the store is that of a fold of all of it. It still is when a
 * broker forgets the deletion, and an older version leaves it alone. */
static const char *begin_again_at_rest(struct world *world)
{
    trim_begin_again(world);
    rest(world);
    const char *failed = compare_stores(world);
    if (failed == NULL && trim_forget_at_rest(world)) {
        rest(world);
        failed = compare_stores(world);
    }
    return failed != NULL ? failed : upgrade_begin_older(world);
}

/* ---- the end ---- */

/* No new request before the last one is answered: otherwise the queue might only grow. */
static void let_go_on(struct world *world)
{
    for (int i = 0; i < 20; i++)
        agent_answer(world, 90);
    supervise(world, false);
    trees_go_on(world);
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
        trees_reset_purged(world);
        enum rest rest = rest_of(world, &why);
        if (rest == REST_ENDED && broker_memory_settle(world->kafka, 1) == 0)
            break;
        if (rest != REST_BUSY)
            let_go_on(world);
        world_advance(world, 500);
    }
    /* Effects of the last Decisions, and a look back at emission that went back. */
    for (uint32_t round = 0; round < LAST_ROUNDS && failed == NULL; round++) {
        world_advance(world, 100);
        failed = step_world(world, 2000);
    }
    /* An order in error may still have a step that runs: what its deadline leads to is decided
     * while no time passes. */
    for (uint32_t round = 0; round < PEACE_ROUNDS_MAX && failed == NULL; round++) {
        if (rest_of(world, &why) != REST_BUSY)
            break;
        failed = step_world(world, 200);
    }
    if (failed == NULL && rest_of(world, &why) != REST_ENDED)
        return why;
    if (failed == NULL)
        rest(world);
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
        failed = check_ends(world, p);
    if (failed == NULL)
        failed = trees_check(world);
    if (failed == NULL)
        failed = upgrade_check_alerts(world);
    if (failed == NULL)
        failed = tail_check(world);
    if (failed == NULL)
        failed = supervisor_compare(world);
    if (failed == NULL)
        failed = deployments_check(world);
    if (failed == NULL)
        failed = take_over_at_rest(world);
    if (failed == NULL)
        failed = begin_again_at_rest(world);
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
    world->store_fail_permille = dice_percent(&world->dice, 20) ? 200 : 0;
}

static const char *play(struct world *world, uint32_t steps)
{
    const char *failed = NULL;
    /* A service does not forget the keys of an order that has expired, whose id may come again
     * here; nor what a log has lost. */
    bool ledger = dice_percent(&world->chaos.later, LEDGER_PERCENT);
    if (ledger && world->retention_ms == 0 && !chaos_has(world, CHAOS_TAIL))
        world->ledger = ledger_new();
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_boot(world, &world->instances[i]);
    for (int32_t p = 0; p < world->partitions; p++)
        instance_take(world, &world->instances[0], p);
    for (uint32_t i = 0; i < steps && failed == NULL; i++) {
        act(world);
        if (world->trees != NULL)
            trees_act(world);
        chaos_act(world);
        failed = step_world(world, dice_roll(&world->dice, 40));
        if (failed == NULL && i % REQUESTS_EVERY == 0)
            failed = check_requests(world);
        if (failed == NULL && i % REQUESTS_EVERY == 0)
            failed = trees_check_deadlines(world);
    }
    if (failed == NULL)
        failed = make_peace(world);
    world_free(world);
    return failed;
}

const char *ownership_history(struct ownership_run *run, uint64_t seed, uint32_t steps)
{
    struct world *world = world_new(run, seed, seed % 8 == 0 ? 2 : 1);
    draw_faults(world);
    chaos_draw(world, 0);
    return play(world, steps);
}

const char *ownership_trees(struct ownership_run *run, uint64_t seed, uint32_t steps)
{
    struct world *world = world_new(run, seed, 1 + (int32_t)(seed % 3));
    draw_faults(world);
    trees_begin(world);
    chaos_draw(world, trees_excludes(world));
    return play(world, steps);
}
