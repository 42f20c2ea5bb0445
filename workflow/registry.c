/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed workflows of a process. See registry.h. */
#include "workflow/registry.h"

#include "base/heap_arena.h"
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
    struct table refused;              /* first definitions that do not compile: they count, too */
    struct workflow_problems problems; /* of the definition being compiled: too big for the stack */
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

static const struct workflow_entry *find(const struct table *table, struct text name,
                                         uint32_t version)
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

static enum error_class compile(struct workflow_registry *registry,
                                const struct workflow_definition *definition,
                                struct workflow **ret_workflow, struct error *ret_error)
{
    struct workflow *workflow = NULL;
    bool json = text_equal(definition->format, TEXT("json"));
    if (!workflow_parse(definition->source, json ? WORKFLOW_JSON : WORKFLOW_YAML,
                        &registry->memory.arena, &registry->problems, &workflow)) {
        const struct workflow_problem *problem = problems_first_error(&registry->problems);
        return error_set(ret_error, ERROR_REJECT, "BadWorkflow",
                         "%.*s:%u does not compile: %u:%u: %s", TEXT_ARG(definition->name),
                         definition->version, problem != NULL ? problem->line : 0,
                         problem != NULL ? problem->column : 0,
                         problem != NULL ? problem->text : "too many problems");
    }
    if (!text_equal(workflow->name, definition->name) || workflow->version != definition->version)
        return error_set(ret_error, ERROR_REJECT, "BadWorkflow",
                         "the record says %.*s:%u, its text %.*s:%u", TEXT_ARG(definition->name),
                         definition->version, TEXT_ARG(workflow->name), workflow->version);
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
        return error_set(ret_error, ERROR_REJECT, "BadWorkflow",
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
    entry->definition.source = arena_text(arena, definition->source);
    entry->definition.format = arena_text(arena, definition->format);
    entry->definition.deployed_by = arena_text(arena, definition->deployed_by);
    entry->definition.deployed_at = definition->deployed_at;
    entry->workflow = workflow;
    insert(&registry->deployed, entry);
    return ERROR_OK;
}

/* ---- reading ---- */

const struct workflow_entry *workflow_registry_entry(const struct workflow_registry *registry,
                                                     struct text name, uint32_t version)
{
    const struct table *table = &registry->deployed;
    if (version != 0)
        return find(table, name, version);
    /* The newest stands before the first one of the next name. */
    const struct workflow_entry *largest = find(table, name, UINT32_MAX);
    uint32_t end = lower_bound(table, name, UINT32_MAX);
    if (largest != NULL || end == 0)
        return largest;
    const struct workflow_entry *last = table->entries[end - 1];
    return text_equal(last->definition.name, name) ? last : NULL;
}

const struct workflow *workflow_registry_find(const struct workflow_registry *registry,
                                              struct text name, uint32_t version)
{
    const struct workflow_entry *entry = workflow_registry_entry(registry, name, version);
    return entry != NULL ? entry->workflow : NULL;
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
