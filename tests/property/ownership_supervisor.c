/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_supervisor.h"

#include "platform/files.h"
#include "services/supervisor/partition.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_process.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct watcher {
    struct process process;
    struct supervisor_metrics metrics;
    struct supervisor_partition *partitions[PARTITIONS_MAX];
};

static void open_partition(struct world *world, struct watcher *watcher, int32_t number)
{
    char path[512];
    struct error error;
    snprintf(path, sizeof(path), "%s/supervisor-%d", world->run->folder, number);
    instance_make_store(world, path);
    upgrade_opened(world);
    struct view_options options = {.env = world->stores,
                                   .codec = watcher->process.cluster->codec,
                                   .path = path,
                                   .cache_bytes = 2048 * (1 + dice_roll(&world->chaos.dice, 4)),
                                   .deadlines = true};
    enum error_class class =
        supervisor_partition_new(watcher->process.cluster, number, &options, &watcher->metrics,
                                 NULL, &watcher->partitions[number], &error);
    assert(class == ERROR_OK);
}

static void boot(struct world *world)
{
    struct watcher *watcher = world->watcher;
    process_boot(world, &watcher->process, &world->watcher_host, "supervisor", 0);
    supervisor_metrics_init(&watcher->metrics, watcher->process.metrics);
    for (int32_t p = 0; p < world->partitions; p++)
        open_partition(world, watcher, p);
}

void supervisor_begin(struct world *world)
{
    char path[512];
    for (int32_t p = 0; p < world->partitions; p++) {
        snprintf(path, sizeof(path), "%s/supervisor-%d", world->run->folder, p);
        files_remove_tree(path, NULL);
    }
    world->watcher = calloc(1, sizeof(*world->watcher));
    assert(world->watcher != NULL);
    boot(world);
}

void supervisor_shut(struct world *world)
{
    struct watcher *watcher = world->watcher;
    if (watcher == NULL || watcher->process.cluster == NULL)
        return;
    broker_memory_disconnect(watcher->process.broker);
    for (int32_t p = 0; p < world->partitions; p++)
        supervisor_partition_free(watcher->partitions[p]);
    process_shut(&watcher->process);
}

void supervisor_disturb(struct world *world)
{
    struct watcher *watcher = world->watcher;
    if (watcher->process.cluster == NULL) {
        boot(world);
        return;
    }
    switch (dice_roll(&world->chaos.dice, 4)) {
    case 0:
        supervisor_shut(world);
        world_count(world, SOMETIMES_SUPERVISOR_DISTURBED);
        break;
    case 1:
        broker_memory_disconnect(watcher->process.broker);
        world_count(world, SOMETIMES_SUPERVISOR_DISTURBED);
        break;
    default:
        broker_memory_connect(watcher->process.broker);
        break;
    }
}

void supervisor_repair(struct world *world)
{
    if (world->watcher == NULL)
        return;
    if (world->watcher->process.cluster == NULL)
        boot(world);
    broker_memory_connect(world->watcher->process.broker);
}

void supervisor_turn(struct world *world)
{
    if (world->watcher == NULL || world->watcher->process.cluster == NULL)
        return;
    if (setjmp(world->crash) != 0) {
        instance_crashed(world);
        supervisor_shut(world);
        return;
    }
    world->crash_armed = true;
    loop_once(world->watcher->process.service.loop, 0);
    world->crash_armed = false;
}

const char *supervisor_compare(struct world *world)
{
    const char *failed = NULL;
    if (world->watcher == NULL || world->watcher->process.cluster == NULL)
        return NULL;
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
        failed = compare_view(world, p, supervisor_partition_view(world->watcher->partitions[p]));
    return failed;
}

bool supervisor_is_behind(struct world *world, int32_t partition)
{
    const struct watcher *watcher = world->watcher;
    return watcher != NULL && watcher->process.cluster != NULL &&
           !supervisor_partition_is_ready(watcher->partitions[partition]);
}

struct process *supervisor_process(struct world *world)
{
    return &world->watcher->process;
}

struct view *supervisor_view(struct world *world, int32_t partition)
{
    return supervisor_partition_view(world->watcher->partitions[partition]);
}
