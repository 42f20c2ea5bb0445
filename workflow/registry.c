/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed workflows of a process. See registry.h. */
#include "workflow/registry.h"

#include "base/heap_arena.h"
#include "base/names.h"
#include "workflow/bodies.h"
#include "workflow/problems.h"

#include <assert.h>
#include <stdlib.h>

/* Sorted by name, then version. */
struct table {
    struct workflow_entry **entries;
    uint32_t count;
    uint32_t capacity;
};

struct workflow_registry {
    struct heap_arena memory;
    struct table deployed;
    struct table refused;              /* first definitions that do not compile: they also count */
    struct workflow_problems problems; /* of the definition being compiled: too big for the stack */
    uint64_t activations;
};

struct workflow_registry *workflow_registry_new(void)
{
    struct workflow_registry *registry = calloc(1, sizeof(*registry));
    assert(registry != NULL);
    heap_arena_init(&registry->memory, 32 * 1024);
    return registry;
}

void workflow_registry_free(struct workflow_registry *registry)
{
    if (registry == NULL)
        return;
    heap_arena_deinit(&registry->memory);
    free(registry->deployed.entries);
    free(registry->refused.entries);
    free(registry);
}

/* ---- tables ---- */

static int compare(const struct workflow_entry *entry, struct text name, uint32_t version)
{
    int order = text_compare(entry->definition.name, name);
    if (order != 0)
        return order;
    return (entry->definition.version > version) - (entry->definition.version < version);
}

/* The first entry that is not before name:version. */
static uint32_t lower_bound(const struct table *table, struct text name, uint32_t version)
{
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(table->entries[middle], name, version) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct workflow_entry *find(const struct table *table, struct text name, uint32_t version)
{
    uint32_t at = lower_bound(table, name, version);
    bool found = at < table->count && compare(table->entries[at], name, version) == 0;
    return found ? table->entries[at] : NULL;
}

static void insert(struct table *table, struct workflow_entry *entry)
{
    if (table->count == table->capacity) {
        table->capacity = table->capacity == 0 ? 16 : table->capacity * 2;
        table->entries = realloc(table->entries, table->capacity * sizeof(table->entries[0]));
        assert(table->entries != NULL);
    }
    uint32_t at = lower_bound(table, entry->definition.name, entry->definition.version);
    memmove(&table->entries[at + 1], &table->entries[at],
            (table->count - at) * sizeof(table->entries[0]));
    table->entries[at] = entry;
    table->count++;
}

/* ---- adding ---- */

/* What the compiler has just found; a text that compiles has no errors. */
static void keep_warnings(struct workflow_registry *registry, struct workflow_entry *entry)
{
    const struct workflow_problems *problems = &registry->problems;
    assert(problems->errors == 0 && problems->count <= WORKFLOW_PROBLEMS_MAX);
    if (problems->count == 0)
        return;
    struct workflow_problem *warnings =
        ARENA_ARRAY(&registry->memory.arena, struct workflow_problem, problems->count);
    memcpy(warnings, problems->items, problems->count * sizeof(warnings[0]));
    entry->warnings = warnings;
    entry->warning_count = problems->count;
}

static enum error_class compile(struct workflow_registry *registry,
                                const struct workflow_definition *definition,
                                struct workflow **ret_workflow, struct error *ret_error)
{
    struct workflow *workflow = NULL;
    bool json = text_equal(definition->format, TEXT("json"));
    if (!workflow_parse_deployed(definition->text, json ? WORKFLOW_JSON : WORKFLOW_YAML,
                                 &registry->memory.arena, &registry->problems, &workflow)) {
        const struct workflow_problem *problem = problems_first_error(&registry->problems);
        return error_set(ret_error, CODE_BAD_WORKFLOW, "%.*s:%u does not compile: %u:%u: %s",
                         TEXT_ARG(definition->name), definition->version,
                         problem != NULL ? problem->line : 0, problem != NULL ? problem->column : 0,
                         problem != NULL ? problem->text : "too many problems");
    }
    if (!text_equal(workflow->name, definition->name) || workflow->version != definition->version)
        return error_set(ret_error, CODE_BAD_WORKFLOW, "the record says %.*s:%u, its text %.*s:%u",
                         TEXT_ARG(definition->name), definition->version, TEXT_ARG(workflow->name),
                         workflow->version);
    *ret_workflow = workflow;
    return ERROR_OK;
}

enum error_class workflow_registry_add(struct workflow_registry *registry,
                                       const struct workflow_definition *definition,
                                       struct error *ret_error)
{
    struct arena *arena = &registry->memory.arena;
    if (find(&registry->deployed, definition->name, definition->version) != NULL)
        return ERROR_OK;
    if (find(&registry->refused, definition->name, definition->version) != NULL)
        return error_set(ret_error, CODE_BAD_WORKFLOW,
                         "the first definition of %.*s:%u does not compile, and the first one "
                         "counts: deploy another version",
                         TEXT_ARG(definition->name), definition->version);
    struct workflow_entry *entry = ARENA_NEW(arena, struct workflow_entry);
    struct workflow *workflow = NULL;
    enum error_class class = compile(registry, definition, &workflow, ret_error);
    entry->definition.name = arena_text(arena, definition->name);
    entry->definition.version = definition->version;
    if (class != ERROR_OK) {
        insert(&registry->refused, entry);
        return class;
    }
    entry->definition.text = arena_text(arena, definition->text);
    entry->definition.format = arena_text(arena, definition->format);
    entry->definition.deployed_by = arena_text(arena, definition->deployed_by);
    entry->definition.deployed_at = definition->deployed_at;
    entry->workflow = workflow;
    keep_warnings(registry, entry);
    /* Until a version is chosen, the newest one is active. */
    const struct workflow_entry *active = workflow_registry_entry(registry, definition->name, 0);
    if (!workflow_registry_is_chosen(registry, definition->name) &&
        (active == NULL || active->definition.version < definition->version))
        entry->activated = ++registry->activations;
    insert(&registry->deployed, entry);
    return ERROR_OK;
}

enum error_class workflow_registry_activate(struct workflow_registry *registry,
                                            const struct workflow_activation *activation,
                                            struct error *ret_error)
{
    struct arena *arena = &registry->memory.arena;
    struct workflow_entry *entry = find(&registry->deployed, activation->name, activation->version);
    if (entry == NULL)
        return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                         "%.*s:%u is activated or retired, but not deployed",
                         TEXT_ARG(activation->name), activation->version);
    entry->latest = *activation;
    entry->latest.name = entry->definition.name;
    entry->latest.by = arena_text(arena, activation->by);
    entry->latest.reason = arena_text(arena, activation->reason);
    entry->retired = !activation->active;
    if (activation->active) {
        entry->chosen = true;
        entry->activated = ++registry->activations;
    }
    return ERROR_OK;
}

/* ---- reading ---- */

/* The entry of the name that became active last, but for `but`; NULL: none. */
static const struct workflow_entry *last_active(const struct workflow_registry *registry,
                                                struct text name, const struct workflow_entry *but)
{
    const struct table *table = &registry->deployed;
    const struct workflow_entry *last = NULL;
    for (uint32_t i = lower_bound(table, name, 0);
         i < table->count && text_equal(table->entries[i]->definition.name, name); i++) {
        const struct workflow_entry *entry = table->entries[i];
        bool counts = but == NULL || (entry != but && !entry->retired);
        if (counts && entry->activated > (last != NULL ? last->activated : 0))
            last = entry;
    }
    return last;
}

const struct workflow_entry *workflow_registry_entry(const struct workflow_registry *registry,
                                                     struct text name, uint32_t version)
{
    return version != 0 ? find(&registry->deployed, name, version)
                        : last_active(registry, name, NULL);
}

const struct workflow_entry *workflow_registry_previous(const struct workflow_registry *registry,
                                                        struct text name)
{
    const struct workflow_entry *active = last_active(registry, name, NULL);
    return active != NULL ? last_active(registry, name, active) : NULL;
}

bool workflow_registry_is_chosen(const struct workflow_registry *registry, struct text name)
{
    const struct table *table = &registry->deployed;
    for (uint32_t i = lower_bound(table, name, 0);
         i < table->count && text_equal(table->entries[i]->definition.name, name); i++) {
        if (table->entries[i]->chosen)
            return true;
    }
    return false;
}

bool workflow_registry_refuses(const struct workflow_registry *registry, struct text name,
                               uint32_t version)
{
    return find(&registry->refused, name, version) != NULL;
}

const struct workflow_entry *workflow_registry_file(const struct workflow_registry *registry,
                                                    struct text name, uint32_t version)
{
    return workflow_registry_entry(registry, workflow_name_file(name), version);
}

const struct workflow *workflow_registry_find(const struct workflow_registry *registry,
                                              struct text name, uint32_t version)
{
    const struct workflow_entry *entry = workflow_registry_file(registry, name, version);
    return entry != NULL ? workflow_find_in_file(entry->workflow, name) : NULL;
}

uint32_t workflow_registry_count(const struct workflow_registry *registry)
{
    return registry->deployed.count;
}

const struct workflow_entry *workflow_registry_at(const struct workflow_registry *registry,
                                                  uint32_t index)
{
    assert(index < registry->deployed.count);
    return registry->deployed.entries[index];
}
