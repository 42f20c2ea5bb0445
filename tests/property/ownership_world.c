/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_world.h"
#include "tests/property/ownership_route.h"

#include "platform/failpoint.h"
#include "platform/files.h"
#include "tests/lib/site.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_deployments.h"
#include "tests/property/ownership_garbage.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_ledger.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_tail.h"
#include "tests/property/ownership_trees.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/ownership_upgrade.h"
#include "tests/property/ownership_workflow.h"
#include "tests/property/ownership_yaml.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { YAML_MAX = 64 * 1024 };

const char *wrong(const char *format, ...)
{
    static char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return message;
}

/* ---- a run ---- */

static struct store_env *new_stores(void)
{
    struct store_options options = {.cache_bytes = 1 << 20, .write_buffer_bytes = 1 << 20};
    return store_env_new(&options);
}

/* RocksDB takes ten times as long to make a store as to open one, and would take most of the time
 * of a run. */
static void make_empty_store(const struct ownership_run *run)
{
    struct store *store = NULL;
    struct error error;
    struct store_env *stores = new_stores();
    enum error_class class = store_open(stores, run->empty_store, &store, &error);
    assert(class == ERROR_OK);
    store_close(store);
    store_env_free(stores);
}

void ownership_run_begin(struct ownership_run *run, const char *folder)
{
    *run = (struct ownership_run){.folder = folder, .codec = codec_new()};
    snprintf(run->empty_store, sizeof(run->empty_store), "%s/empty", folder);
    make_empty_store(run);
}

void ownership_run_end(struct ownership_run *run)
{
    codec_free(run->codec);
    run->codec = NULL;
}

/* ---- records into the topics and from them ---- */

int64_t send_record(struct world *world, const char *topic, int32_t partition, struct text key,
                    enum record_kind kind, const void *record)
{
    return site_append(world->kafka, world->run->codec, topic, partition, key, kind, record);
}

int32_t partition_of(const struct world *world, struct text order_id)
{
    return broker_partition_of(order_id, world->partitions);
}

int64_t send_command(struct world *world, const struct command *cmd)
{
    return site_append_command(world->kafka, world->run->codec, "p.commands", world->partitions,
                               cmd);
}

struct text order_name(struct world *world, uint32_t number)
{
    char *name = arena_bytes(&world->scratch.arena, 16);
    int size = snprintf(name, 16, "order-%u", number);
    return (struct text){name, (uint32_t)size};
}

int64_t submit_order(struct world *world, uint32_t number)
{
    return submit_order_to(world, number, world->workflow->version, "p.replies.app");
}

int64_t submit_order_to(struct world *world, uint32_t number, uint32_t version,
                        const char *reply_to)
{
    struct command cmd = site_submission(order_name(world, number), world->workflow->name, version);
    cmd.submit_order.reply_to = text_of(reply_to);
    /* Now and then the same id with other content. */
    cmd.submit_order.content_hash.bytes[0] = dice_percent(&world->dice, 5) ? 2 : 1;
    return send_command(world, &cmd);
}

int64_t log_end(const struct world *world, const char *topic, int32_t partition)
{
    return site_end(world->kafka, topic, partition);
}

bool is_foreign(const struct world *world, const char *topic, int32_t partition, int64_t offset)
{
    struct broker_record record;
    if (strcmp(topic, "p.events") == 0 && garbage_is_at(world, partition, offset))
        return true;
    return broker_memory_record(world->kafka, topic, partition, offset, &record) &&
           (record.value.size < 2 || memcmp(record.value.data, "\xc3\x01", 2) != 0);
}

const char *read_log(struct world *world, const char *topic, int32_t partition, int64_t offset,
                     struct record *ret_record)
{
    struct broker_record record;
    struct error error;
    if (!broker_memory_record(world->kafka, topic, partition, offset, &record))
        return wrong("%s[%d]@%lld is missing", topic, partition, (long long)offset);
    if (codec_decode(world->run->codec, record.value, true, &world->scratch.arena, ret_record,
                     &error) != ERROR_OK)
        return wrong("%s[%d]@%lld: %s", topic, partition, (long long)offset, error.message);
    return NULL;
}

/* ---- a world ---- */

bool deploy_if_sound(struct world *world, const struct workflow *workflow)
{
    assert(world->version_count < VERSIONS_MAX);
    static char yaml[YAML_MAX];
    static struct workflow_problems problems;
    struct workflow *compiled = NULL;
    uint32_t size = (uint32_t)workflow_to_yaml(workflow, yaml, sizeof(yaml));
    if (!workflow_parse((struct text){yaml, size}, WORKFLOW_YAML, &world->arena.arena, &problems,
                        &compiled))
        return false;
    site_deploy(world->kafka, world->run->codec, "p.workflows", workflow->name, workflow->version,
                "yaml", (struct text){yaml, size});
    world->versions[world->version_count++] = workflow;
    return true;
}

/* What lint still refuses (retries that cannot fit) is thrown again. */
static void deploy(struct world *world)
{
    do
        world->workflow = random_sound_workflow(&world->dice, &world->arena.arena);
    while (!deploy_if_sound(world, world->workflow));
}

void deploy_spare(struct world *world)
{
    static const struct text agents[] = {{"spare", 5}};
    const struct workflow *usual = world->workflow;
    struct workflow *spare = ARENA_NEW(&world->arena.arena, struct workflow);
    struct workflow_step *steps =
        ARENA_ARRAY(&world->arena.arena, struct workflow_step, usual->step_count);
    *spare = *usual;
    spare->version++;
    spare->steps = steps;
    for (uint32_t i = 0; i < usual->step_count; i++) {
        steps[i] = usual->steps[i];
        steps[i].agents = agents;
        steps[i].agent_count = 1;
    }
    bool sound = deploy_if_sound(world, spare);
    assert(sound);
    world->spare = spare;
}

const struct workflow *world_workflow(const struct world *world, uint32_t version)
{
    for (uint32_t i = 0; i < world->version_count; i++)
        if (world->versions[i]->version == version)
            return world->versions[i];
    return NULL;
}

struct world *world_new(struct ownership_run *run, uint64_t seed, int32_t partitions)
{
    struct world *world = calloc(1, sizeof(*world));
    assert(world != NULL && partitions <= PARTITIONS_MAX);
    world->run = run;
    world->dice = dice_of(seed);
    world->chaos.dice = dice_of(~seed);
    world->chaos.later = dice_of(seed * 3 + 1);
    world->chaos.last = dice_of(seed * 5 + 9);    /* so no kept seed has one of the last kinds */
    world->chaos.newest = dice_of(seed * 7 + 12); /* likewise */
    for (uint32_t i = CHAOS_UPGRADE + 1; i < CHAOS_KIND_COUNT; i++)
        world->chaos.own[i] = dice_of(seed * 11 + 986 + i); /* likewise */
    world->partitions = partitions;
    route_draw(world);
    clock_manual_init(&world->clock, 1700000000000);
    clocks_begin(world);
    world->kafka = broker_memory_cluster_new(seed, &world->clock.clock);
    world->stores = new_stores();
    heap_arena_init(&world->arena, 64 * 1024);
    heap_arena_init(&world->scratch, 256 * 1024);
    SITE_TOPICS(world->kafka, partitions, "p.commands", "p.events", "p.requests.agent",
                "p.replies.app", "p.alerts", "p.dead-letters");
    SITE_TOPICS(world->kafka, 1, "p.schemas", "p.workflows", "p.agents");
    deploy(world);
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_init(world, &world->instances[i], i);
    failpoint_on_pass(instance_at_failpoint, world);
    return world;
}

void world_free(struct world *world)
{
    failpoint_on_pass(NULL, NULL);
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_shut(world, &world->instances[i]);
    supervisor_shut(world);
    free(world->watcher);
    upgrade_free(world);
    deployments_free(world);
    trees_free(world);
    tail_free(world);
    trim_free(world);
    ledger_free(world->ledger);
    broker_memory_cluster_free(world->kafka);
    store_env_free(world->stores);
    buffer_deinit(&world->bytes);
    heap_arena_deinit(&world->arena);
    heap_arena_deinit(&world->scratch);
    free(world);
}
