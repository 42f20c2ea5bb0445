/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_instance.h"

#include "platform/failpoint.h"
#include "platform/files.h"
#include "replica/settings.h"
#include "tests/property/ownership_route.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, BORN_PERCENT = 3, TICK_PERCENT = 10 };

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
    assert(instance->cluster == NULL);
    for (int32_t i = 0; i < world->partitions; i++)
        (void)files_remove_tree(instance->partitions[i].path, NULL);
}

/* ---- life ---- */

static void on_cluster_ready(void *ctx)
{
    (void)ctx;
}

void instance_boot(struct world *world, struct instance *instance)
{
    struct error error;
    enum error_class class;
    instance->config = config_new(&settings_schema);
    class = config_set(instance->config, "topics.prefix", "p", &error);
    assert(class == ERROR_OK);
    class = config_finish(instance->config, &error);
    assert(class == ERROR_OK);
    instance->metrics = metrics_new();
    instance->service = (struct service_context){.name = "scheduler",
                                                 .instance_id = instance->name,
                                                 .data_dir = world->run->folder,
                                                 .clock = &world->clock.clock,
                                                 .config = instance->config,
                                                 .metrics = instance->metrics};
    class = loop_new(&world->clock.clock, &instance->service.loop, &error);
    assert(class == ERROR_OK);
    instance->broker = broker_memory_new(world->kafka, instance->name);
    class = cluster_open_on(&instance->service, instance->broker, CLUSTER_FOLLOWS_WORKFLOWS,
                            on_cluster_ready, instance, &instance->cluster, &error);
    assert(class == ERROR_OK);
    instance->owner_metrics = owner_metrics_new(instance->metrics);
    route_boot(world, instance);
}

void instance_shut(struct world *world, struct instance *instance)
{
    if (instance->cluster == NULL)
        return;
    const struct metrics_counter *given_up =
        metrics_counter(instance->metrics, "reeve_claims_given_up_total", "", METRICS_NO_LABELS);
    world->run->sometimes.counts[SOMETIMES_CLAIM_GIVEN_UP] += given_up->value;
    broker_memory_disconnect(instance->broker);
    for (int32_t i = 0; i < world->partitions; i++)
        instance_release(instance, i);
    route_shut(instance);
    cluster_close(instance->cluster);
    owner_metrics_free(instance->owner_metrics);
    metrics_free(instance->metrics);
    loop_free(instance->service.loop);
    config_free(instance->config);
    instance->cluster = NULL;
}

/* ---- partitions ---- */

static void copy_file(int from_dir, int to_dir, const char *name)
{
    static char bytes[COPY_BYTES];
    int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
    int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    assert(from >= 0 && to >= 0);
    ssize_t size;
    while ((size = read(from, bytes, sizeof(bytes))) > 0) {
        ssize_t written = write(to, bytes, (size_t)size);
        assert(written == size);
    }
    assert(size == 0);
    close(from);
    close(to);
}

/* The flat directory `from` as the new directory `to`. */
static void copy_store(const char *from, const char *to)
{
    enum error_class class = files_make_dirs(to, NULL);
    assert(class == ERROR_OK);
    int to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = opendir(from);
    assert(to_dir >= 0 && dir != NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            copy_file(dirfd(dir), to_dir, entry->d_name);
    closedir(dir);
    close(to_dir);
}

static void open_owner(struct world *world, struct instance *instance, int32_t partition,
                       bool standby)
{
    struct ownership *ownership = &instance->partitions[partition];
    struct error error;
    struct owner_options options = {.view = {.env = world->stores,
                                             .codec = instance->cluster->codec,
                                             .path = ownership->path,
                                             .cache_orders = 1 + dice_roll(&world->dice, 4)},
                                    .router = instance->router,
                                    .batch_max = 1 + dice_roll(&world->dice, 6),
                                    .margin_ms = MARGIN_MS,
                                    .standby = standby};
    if (!files_exists(ownership->path)) {
        if (dice_percent(&world->dice, BORN_PERCENT))
            world_count(world, SOMETIMES_STORE_BORN);
        else
            copy_store(world->run->empty_store, ownership->path);
    }
    enum error_class class = owner_new(instance->cluster, partition, &options,
                                       instance->owner_metrics, &ownership->owner, &error);
    assert(class == ERROR_OK);
    ownership->compared = -1;
}

void instance_take(struct world *world, struct instance *instance, int32_t partition)
{
    struct owner *owner = instance->partitions[partition].owner;
    if (owner == NULL) {
        open_owner(world, instance, partition, false);
    } else if (owner_state(owner) == OWNER_STANDBY) {
        world_count(world, SOMETIMES_PROMOTED);
        owner_promote(owner);
    }
}

void instance_stand_by(struct world *world, struct instance *instance, int32_t partition)
{
    if (instance->partitions[partition].owner == NULL)
        open_owner(world, instance, partition, true);
}

void instance_release(struct instance *instance, int32_t partition)
{
    struct ownership *ownership = &instance->partitions[partition];
    if (ownership->owner != NULL)
        owner_release(ownership->owner, NULL, NULL);
    ownership->owner = NULL;
}

/* ---- crashes between any two steps ---- */

bool instance_at_failpoint(const char *name, void *ctx)
{
    struct world *world = ctx;
    if (!world->crash_armed)
        return false;
    if (strcmp(name, world->poison) == 0)
        longjmp(world->crash, 1);
    if (dice_roll(&world->dice, 1000) < sometimes_crash_weight(name) * world->crash_permille) {
        sometimes_crashed_at(&world->run->sometimes, name);
        longjmp(world->crash, 1);
    }
    if (strcmp(name, "cycle.store") != 0 ||
        dice_roll(&world->dice, 1000) >= world->store_fail_permille)
        return false;
    world_count(world, SOMETIMES_STORE_FAILED);
    return true;
}

static void crashed(struct world *world)
{
    world->crash_armed = false;
    world_count(world, SOMETIMES_CRASHED);
}

void instance_turn(struct world *world, struct instance *instance)
{
    if (instance->cluster == NULL)
        return;
    if (setjmp(world->crash) != 0) {
        crashed(world);
        instance_shut(world, instance);
        return;
    }
    world->crash_armed = true;
    if (dice_percent(&world->dice, TICK_PERCENT))
        route_tick(instance);
    (void)loop_once(instance->service.loop, 0);
    world->crash_armed = false;
}

bool instances_deliver(struct world *world)
{
    if (setjmp(world->crash) != 0) {
        crashed(world);
        for (uint32_t i = 0; i < INSTANCES; i++)
            instance_shut(world, &world->instances[i]);
        return false;
    }
    world->crash_armed = true;
    bool more = broker_memory_step(world->kafka);
    world->crash_armed = false;
    return more;
}
