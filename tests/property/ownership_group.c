/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_group.h"

#include "replica/cluster/membership.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_instance.h"

#include <assert.h>

#define GROUP "p.scheduler"

bool group_assigns(const struct world *world)
{
    return chaos_has(world, CHAOS_GROUP);
}

/* ---- what the membership calls ---- */

static struct ownership *ownership_of(struct membership_partition *partition)
{
    return (struct ownership *)partition;
}

static struct membership_partition *open_partition(void *ctx, int32_t number,
                                                   uint32_t assigned_count, struct error *ret_error)
{
    struct group_member *member = ctx;
    (void)assigned_count;
    if (instance_open(member->world, member->instance, number, ret_error) != ERROR_OK)
        return NULL;
    return (struct membership_partition *)&member->instance->partitions[number];
}

static void suspend_partition(struct membership_partition *partition, bool suspended)
{
    owner_suspend(ownership_of(partition)->owner, suspended);
}

static void close_partition(struct membership_partition *partition)
{
    struct ownership *ownership = ownership_of(partition);
    if (!ownership->killed)
        owner_flush(ownership->owner);
    ownership_release(ownership_of(partition));
}

static int64_t committable(struct membership_partition *partition)
{
    return owner_next_command(ownership_of(partition)->owner);
}

static bool works(struct membership_partition *partition, char *ret_trouble, size_t size)
{
    const struct owner *owner = ownership_of(partition)->owner;
    return !owner_trouble(owner, ret_trouble, size) && owner_is_running(owner);
}

static const struct membership_ops membership_ops = {.open = open_partition,
                                                     .suspend = suspend_partition,
                                                     .close = close_partition,
                                                     .committable = committable,
                                                     .works = works,
                                                     .until_then = "claimed and folded"};

/* ---- members ---- */

void group_boot(struct world *world, struct instance *instance)
{
    struct group_member *member = &instance->member;
    assert(member->membership == NULL);
    if (!group_assigns(world))
        return;
    struct cluster *cluster = instance->process.cluster;
    *member = (struct group_member){.world = world, .instance = instance};
    member->membership =
        membership_join(cluster, cluster->topics.commands, &membership_ops, member);
}

static void on_left(void *ctx)
{
    (void)ctx;
}

void group_shut(struct instance *instance)
{
    struct membership *membership = instance->member.membership;
    instance->member.membership = NULL;
    if (membership != NULL)
        membership_leave(membership, on_left, NULL);
}

/* ---- the coordinator ---- */

void group_rebalance(struct world *world)
{
    broker_memory_rebalance(world->kafka, GROUP);
    world_count(world, SOMETIMES_REBALANCED);
}

void group_expire(struct instance *instance)
{
    if (instance->member.membership != NULL)
        broker_memory_expire(instance->process.broker, GROUP);
}

void group_act(struct world *world)
{
    struct instance *instance = &world->instances[dice_roll(&world->chaos.last, INSTANCES)];
    uint32_t roll = dice_roll(&world->chaos.last, 4);
    bool joined = instance->member.membership != NULL;
    if (roll == 0 && joined) /* it hears of it later than the one that takes over */
        broker_memory_pause(instance->process.broker);
    if (roll <= 1)
        group_expire(instance);
    if (roll == 2 && joined)
        broker_memory_revoke(instance->process.broker, GROUP, dice_percent(&world->chaos.last, 50));
    if (roll != 2)
        group_rebalance(world);
}
