/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_deployments.h"

#include "tests/property/engine_other_version.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_versions.h"
#include "workflow/registry.h"

#include <assert.h>
#include <stdlib.h>

enum {
    RECORDS_MAX = 64,
    OBSERVATIONS_MAX = 1024,
    ACTS_MAX = 4,
    TRIES_MAX = 5,
    DEPLOYED_PERCENT = 70
};

#define WHO TEXT("ann")

enum deployment_kind { DEPLOYED, ACTIVATED, RETIRED };

/* A record of <p>.workflows. */
struct deployment {
    enum deployment_kind what;
    uint32_t version;
    int64_t appended_at;
    int64_t commands[PARTITIONS_MAX]; /* the ends of <p>.commands then */
};

/* A scheduler knew the first `known` records at that time, or was new. */
struct observation {
    uint32_t instance;
    int64_t at;
    uint32_t known;
    bool booted;
};

struct deployments {
    struct deployment records[RECORDS_MAX];
    uint32_t count;
    uint32_t known[INSTANCES]; /* as observed last */
    struct observation observations[OBSERVATIONS_MAX];
    uint32_t observation_count;
};

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.own[CHAOS_DEPLOYMENTS], n);
}

static bool percent(struct world *world, uint32_t percent)
{
    return dice_percent(&world->chaos.own[CHAOS_DEPLOYMENTS], percent);
}

/* ---- what happens ---- */

static void note(struct world *world, enum deployment_kind what, uint32_t version)
{
    struct deployments *deployments = world->deployments;
    assert(deployments->count < RECORDS_MAX);
    struct deployment *record = &deployments->records[deployments->count++];
    record->what = what;
    record->version = version;
    record->appended_at = world->clock.now_wall_ms;
    for (int32_t p = 0; p < world->partitions; p++)
        record->commands[p] = log_end(world, "p.commands", p);
    if (what != DEPLOYED && world->upgrade != NULL)
        world_count(world, SOMETIMES_LATER_ACTIVATION);
}

/* What lint refuses is drawn again; false: nothing came of it. */
static bool deploy_another(struct world *world)
{
    if (world->deployments->count == RECORDS_MAX)
        return false;
    struct dice *dice = &world->chaos.own[CHAOS_DEPLOYMENTS];
    for (uint32_t tries = 0; tries < TRIES_MAX && world->version_count < VERSIONS_MAX; tries++) {
        const struct workflow *newest = world->versions[world->version_count - 1];
        const struct workflow *other = other_version(dice, &world->arena.arena, newest);
        if (!deploy_if_sound(world, other))
            continue;
        note(world, DEPLOYED, other->version);
        return true;
    }
    return false;
}

/* One of those deployed, or the next one, which is not. */
static uint32_t some_version(struct world *world)
{
    return world->versions[0]->version + roll(world, world->version_count + 1);
}

static void activate_or_retire(struct world *world)
{
    struct workflow_activation record = {.name = world->workflow->name,
                                         .version = some_version(world),
                                         .active = percent(world, 50),
                                         .by = WHO,
                                         .reason = TEXT("it is better, or worse"),
                                         .at = world->clock.now_wall_ms};
    if (world->deployments->count == RECORDS_MAX)
        return;
    send_record(world, "p.workflows", 0, record.name, RECORD_WORKFLOW_ACTIVATION, &record);
    note(world, record.active ? ACTIVATED : RETIRED, record.version);
}

static void migrate(struct world *world, uint32_t version)
{
    static const struct text names[] = {TEXT_CONST("random"), TEXT_CONST("other"), TEXT_CONST("")};
    struct command cmd = {.kind = COMMAND_MIGRATE_ORDER};
    if (world->orders == 0)
        return;
    cmd.order_id = order_name(world, roll(world, world->orders));
    cmd.migrate_order =
        (struct migrate_order){.order_id = cmd.order_id,
                               .workflow = names[percent(world, 80) ? 2 : roll(world, 2)],
                               .from_version = percent(world, 70) ? 0 : some_version(world),
                               .version = version,
                               .by = WHO,
                               .reason = TEXT("to get what was repaired")};
    send_command(world, &cmd);
}

static void submit(struct world *world)
{
    struct dice *dice = &world->chaos.own[CHAOS_DEPLOYMENTS];
    uint32_t newest = roll(world, world->version_count);
    uint32_t version = percent(world, 50) ? 0 : world->versions[newest]->version;
    submit_order_to(world, some_order(world, dice), version, "p.replies.app");
}

static void act_once(struct world *world)
{
    uint32_t what = roll(world, 10);
    heap_arena_reset(&world->scratch);
    if (what >= 8)
        submit(world);
    else if (what >= 4)
        migrate(world, some_version(world));
    else if (what >= 2)
        activate_or_retire(world);
    else if (deploy_another(world)) /* its schedulers may not have read of it yet */
        migrate(world, world->versions[world->version_count - 1]->version);
}

void deployments_begin(struct world *world)
{
    world->deployments = calloc(1, sizeof(*world->deployments));
    assert(world->deployments != NULL);
    for (uint32_t i = 0; i < world->version_count; i++)
        note(world, DEPLOYED, world->versions[i]->version);
    if (percent(world, DEPLOYED_PERCENT))
        deploy_another(world);
}

void deployments_act(struct world *world)
{
    for (uint32_t acts = 1 + roll(world, ACTS_MAX); acts > 0; acts--)
        act_once(world);
}

void deployments_free(struct world *world)
{
    free(world->deployments);
    world->deployments = NULL;
}

/* ---- what records say ---- */

/* Bit i is the version that comes i after the oldest. */
struct knowledge {
    uint32_t deployed;
    uint32_t retired;
    uint32_t active; /* 0: none is deployed */
    bool chosen;     /* by an activation; before the first, the newest version is active */
};

static uint32_t bit_of(const struct world *world, uint32_t version)
{
    uint32_t oldest = world->versions[0]->version;
    assert(version >= oldest && version <= oldest + VERSIONS_MAX);
    return UINT32_C(1) << (version - oldest);
}

static void learn(const struct world *world, const struct deployment *record,
                  struct knowledge *knowledge)
{
    uint32_t bit = bit_of(world, record->version);
    if (record->what == DEPLOYED) {
        knowledge->deployed |= bit;
        if (!knowledge->chosen && record->version > knowledge->active)
            knowledge->active = record->version;
    } else if ((knowledge->deployed & bit) == 0) {
        return; /* what is not deployed cannot be chosen */
    } else if (record->what == RETIRED) {
        knowledge->retired |= bit;
    } else {
        knowledge->retired &= ~bit;
        knowledge->active = record->version;
        knowledge->chosen = true;
    }
}

static struct knowledge knowledge_of(const struct world *world, uint32_t known, bool older)
{
    struct knowledge knowledge = {0};
    for (uint32_t i = 0; i < known; i++) {
        const struct deployment *record = &world->deployments->records[i];
        if (record->what == DEPLOYED || !older)
            learn(world, record, &knowledge);
    }
    return knowledge;
}

static bool is_in_state(const struct world *world, const struct knowledge *knowledge,
                        uint32_t version, enum version_state state)
{
    bool deployed = (knowledge->deployed & bit_of(world, version)) != 0;
    bool retired = (knowledge->retired & bit_of(world, version)) != 0;
    switch (state) {
    case VERSION_UNKNOWN:
        return !deployed;
    case VERSION_USABLE:
        return deployed && !retired;
    case VERSION_RETIRED:
        return deployed && retired;
    case VERSION_ACTIVE:
        return knowledge->active == version;
    }
    return false;
}

/* ---- what schedulers are seen to know ---- */

static void observe(struct world *world, uint32_t instance, uint32_t known, bool booted)
{
    struct deployments *deployments = world->deployments;
    assert(deployments->observation_count < OBSERVATIONS_MAX);
    deployments->known[instance] = known;
    deployments->observations[deployments->observation_count++] =
        (struct observation){instance, world->clock.now_wall_ms, known, booted};
}

void deployments_booted(struct world *world, const struct instance *instance)
{
    if (world->deployments != NULL)
        observe(world, (uint32_t)(instance - world->instances), 0, true);
}

static struct knowledge knowledge_in(const struct world *world,
                                     const struct workflow_registry *registry)
{
    struct knowledge knowledge = {0};
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        const struct workflow_entry *entry = workflow_registry_at(registry, i);
        uint32_t bit = bit_of(world, entry->definition.version);
        knowledge.deployed |= bit;
        knowledge.retired |= entry->retired ? bit : 0;
    }
    const struct workflow_entry *active =
        workflow_registry_entry(registry, world->workflow->name, 0);
    knowledge.active = active != NULL ? active->definition.version : 0;
    return knowledge;
}

static bool same_knowledge(const struct knowledge *a, const struct knowledge *b)
{
    return a->deployed == b->deployed && a->retired == b->retired && a->active == b->active;
}

/* The fewest records that explain what it knows; if there is no such number, the model of its
 * Decisions and the comparison at rest find what is wrong with it. */
static void observe_instance(struct world *world, uint32_t number)
{
    const struct instance *instance = &world->instances[number];
    bool older = world->upgrade != NULL && !versions_is_newer(instance->name);
    struct knowledge seen = knowledge_in(world, instance->process.cluster->workflows);
    for (uint32_t known = world->deployments->known[number]; known <= world->deployments->count;
         known++) {
        struct knowledge knowledge = knowledge_of(world, known, older);
        if (!same_knowledge(&knowledge, &seen))
            continue;
        if (known != world->deployments->known[number])
            observe(world, number, known, false);
        return;
    }
}

void deployments_observe(struct world *world)
{
    for (uint32_t i = 0; i < INSTANCES && world->deployments != NULL; i++)
        if (world->instances[i].process.cluster != NULL)
            observe_instance(world, i);
}

/* Records that the process which has decided was seen to know before it could know the command. */
static uint32_t known_before(const struct deployments *deployments,
                             const struct deployments_reader *reader)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < deployments->observation_count; i++) {
        const struct observation *seen = &deployments->observations[i];
        if (seen->instance != reader->instance || seen->at > reader->appended_at)
            continue;
        if (seen->booted)
            known = 0;
        else if (seen->at < reader->asked_at)
            known = seen->known;
    }
    return known;
}

/* ---- what they may know ---- */

/* Deployed before the command came. */
static bool must_be_known(const struct deployments *deployments, uint32_t version,
                          const struct deployments_reader *reader)
{
    for (uint32_t i = 0; i < deployments->count; i++) {
        const struct deployment *record = &deployments->records[i];
        if (record->what == DEPLOYED && record->version == version)
            return record->commands[reader->partition] <= reader->command_offset;
    }
    return false;
}

bool deployments_explain(const struct world *world, struct deployments_reader *reader,
                         uint32_t version, enum version_state state)
{
    const struct deployments *deployments = world->deployments;
    if (deployments == NULL)
        return true;
    if (state == VERSION_UNKNOWN && must_be_known(deployments, version, reader))
        return false;
    uint32_t known = known_before(deployments, reader);
    for (known = known > reader->known ? known : reader->known; known <= deployments->count;
         known++) {
        if (known > 0 && deployments->records[known - 1].appended_at > reader->appended_at)
            return false;
        struct knowledge knowledge = knowledge_of(world, known, reader->older);
        if (!is_in_state(world, &knowledge, version, state))
            continue;
        reader->known = known;
        return true;
    }
    return false;
}

bool deployments_is_newest(const struct world *world, const struct deployments_reader *reader,
                           uint32_t version)
{
    bool newest = true;
    for (uint32_t i = 0; world->deployments != NULL && i < reader->known; i++)
        newest = newest && (world->deployments->records[i].what != DEPLOYED ||
                            world->deployments->records[i].version <= version);
    return newest;
}

const char *deployments_check(struct world *world)
{
    const struct instance *instance = &world->instances[0];
    if (world->deployments == NULL || instance->process.cluster == NULL)
        return NULL;
    struct knowledge all = knowledge_of(world, world->deployments->count, false);
    struct knowledge seen = knowledge_in(world, instance->process.cluster->workflows);
    return same_knowledge(&all, &seen)
               ? NULL
               : wrong("%s knows versions %x, of which %x are retired and %u is active; they are "
                       "%x, %x and %u",
                       instance->name, seen.deployed, seen.retired, seen.active, all.deployed,
                       all.retired, all.active);
}
