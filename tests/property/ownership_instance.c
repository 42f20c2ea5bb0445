/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_instance.h"

#include "platform/failpoint.h"
#include "platform/files.h"
#include "tests/lib/store_copy.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_deployments.h"
#include "tests/property/ownership_expiry.h"
#include "tests/property/ownership_group.h"
#include "tests/property/ownership_process.h"
#include "tests/property/ownership_route.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BORN_PERCENT = 3, TICK_PERCENT = 10, CLEAN_PERCENT = 50 };

void instance_init(struct world *world, struct instance *instance, uint32_t number)
{
    snprintf(instance->name, sizeof(instance->name), "scheduler-%u", number);
    for (int32_t i = 0; i < world->partitions; i++)
        snprintf(instance->partitions[i].path, sizeof(instance->partitions[i].path), "%s/%u-%d",
                 world->run->folder, number, i);
    instance_lose_stores(world, instance);
}

void instance_lose_stores(struct world *world, struct instance *instance)
{
    assert(instance->process.cluster == NULL);
    for (int32_t i = 0; i < world->partitions; i++)
        files_remove_tree(instance->partitions[i].path, NULL);
}

/* ---- life ---- */

void instance_boot(struct world *world, struct instance *instance)
{
    process_boot(world, &instance->process, &instance->host, instance->name,
                 CLUSTER_FOLLOWS_WORKFLOWS);
    instance->owner_metrics = owner_metrics_new(instance->process.metrics);
    route_boot(world, instance);
    group_boot(world, instance);
    deployments_booted(world, instance);
}

void instance_shut(struct world *world, struct instance *instance)
{
    if (instance->process.cluster == NULL)
        return;
    const struct metrics_counter *given_up = metrics_counter(
        instance->process.metrics, "reeve_claims_given_up_total", "", METRICS_NO_LABELS);
    world->run->sometimes.counts[SOMETIMES_CLAIM_GIVEN_UP] += given_up->value;
    broker_memory_disconnect(instance->process.broker);
    for (int32_t i = 0; i < world->partitions; i++)
        instance->partitions[i].killed = true;
    group_shut(instance);
    for (int32_t i = 0; i < world->partitions; i++)
        ownership_release(&instance->partitions[i]);
    route_shut(instance);
    owner_metrics_free(instance->owner_metrics);
    process_shut(&instance->process);
}

/* ---- partitions ---- */

void instance_make_store(struct world *world, const char *path)
{
    if (files_exists(path))
        return;
    if (dice_percent(&world->dice, BORN_PERCENT))
        world_count(world, SOMETIMES_STORE_BORN);
    else
        store_copy(world->run->empty_store, path);
}

static enum error_class open_owner(struct world *world, struct instance *instance,
                                   int32_t partition, bool standby, struct error *ret_error)
{
    struct ownership *ownership = &instance->partitions[partition];
    struct owner_options options = {
        .view = {.env = world->stores,
                 .codec = instance->process.cluster->codec,
                 .path = ownership->path,
                 .cache_bytes = 2048 * (1 + dice_roll(&world->dice, 4))},
        .router = instance->router,
        .batch_max = 1 + dice_roll(&world->dice, 6),
        .margin_ms = MARGIN_MS,
        .standby = standby};
    if (world->batch_max > 0)
        options.batch_max = world->batch_max;
    trim_configure(world, &options);
    expiry_configure(world, &options);
    instance_make_store(world, ownership->path);
    upgrade_opened(world);
    enum error_class class = owner_new(instance->process.cluster, partition, &options,
                                       instance->owner_metrics, &ownership->owner, ret_error);
    ownership->compared = -1;
    return class;
}

enum error_class instance_open(struct world *world, struct instance *instance, int32_t partition,
                               struct error *ret_error)
{
    struct owner *owner = instance->partitions[partition].owner;
    if (owner == NULL)
        return open_owner(world, instance, partition, false, ret_error);
    if (owner_state(owner) == OWNER_STANDBY) {
        world_count(world, SOMETIMES_PROMOTED);
        owner_promote(owner);
    }
    return ERROR_OK;
}

void instance_take(struct world *world, struct instance *instance, int32_t partition)
{
    struct error error;
    if (group_assigns(world)) {
        group_rebalance(world);
        return;
    }
    enum error_class class = instance_open(world, instance, partition, &error);
    assert(class == ERROR_OK);
}

void instance_stand_by(struct world *world, struct instance *instance, int32_t partition)
{
    struct error error;
    if (instance->partitions[partition].owner != NULL)
        return;
    enum error_class class = open_owner(world, instance, partition, true, &error);
    assert(class == ERROR_OK);
}

/* A crash may jump out of it: then the owner is released. */
void ownership_release(struct ownership *ownership)
{
    struct owner *owner = ownership->owner;
    ownership->owner = NULL;
    ownership->killed = false;
    if (owner != NULL)
        owner_release(owner, NULL, NULL);
}

void instance_lose(struct world *world, struct instance *instance, int32_t partition)
{
    struct ownership *ownership = &instance->partitions[partition];
    if (group_assigns(world)) {
        group_expire(instance);
        return;
    }
    if (ownership->owner != NULL && dice_percent(&world->dice, CLEAN_PERCENT))
        owner_flush(ownership->owner);
    ownership_release(ownership);
}

/* ---- crashes between any two steps ---- */

bool instance_at_failpoint(const char *name, void *ctx)
{
    struct world *world = ctx;
    if (!world->crash_armed)
        return false;
    if (strcmp(name, world->poison) == 0)
        longjmp(world->crash, 1);
    if (trim_dies(world, name) || expiry_dies(world, name) ||
        dice_roll(&world->dice, 1000) < sometimes_crash_weight(name) * world->crash_permille) {
        sometimes_crashed_at(&world->run->sometimes, name);
        longjmp(world->crash, 1);
    }
    if (chaos_fails(world, name))
        return true;
    if (strcmp(name, "cycle.store") != 0 ||
        dice_roll(&world->dice, 1000) >= world->store_fail_permille)
        return false;
    world_count(world, SOMETIMES_STORE_FAILED);
    return true;
}

void instance_crashed(struct world *world)
{
    world->crash_armed = false;
    world_count(world, SOMETIMES_CRASHED);
}

void instance_turn(struct world *world, struct instance *instance)
{
    if (instance->process.cluster == NULL)
        return;
    if (setjmp(world->crash) != 0) {
        instance_crashed(world);
        instance_shut(world, instance);
        return;
    }
    world->crash_armed = true;
    if (dice_percent(&world->dice, TICK_PERCENT))
        route_tick(instance);
    loop_once(instance->process.service.loop, 0);
    world->crash_armed = false;
}

bool instances_deliver(struct world *world)
{
    if (setjmp(world->crash) != 0) {
        instance_crashed(world);
        for (uint32_t i = 0; i < INSTANCES; i++)
            instance_shut(world, &world->instances[i]);
        supervisor_shut(world);
        return false;
    }
    world->crash_armed = true;
    bool more = broker_memory_step(world->kafka);
    world->crash_armed = false;
    return more;
}
