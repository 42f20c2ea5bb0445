/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/registry.h"

#include "base/heap_arena.h"
#include "base/names.h"
#include "base/suggest.h"
#include "workflow/problems.h"

#include <assert.h>
#include <stdlib.h>

struct slot {
    struct schedule_entry entry;
    struct heap_arena heap; /* all that it names, and itself */
};

struct schedule_registry {
    struct slot *slots[SCHEDULES_MAX]; /* by name */
    uint32_t count;
    uint64_t number;
    struct workflow_problems problems; /* of the text being compiled: too big for the stack */
};

struct schedule_registry *schedule_registry_new(void)
{
    struct schedule_registry *registry = calloc(1, sizeof(*registry));
    assert(registry != NULL);
    return registry;
}

static void slot_free(struct slot *slot)
{
    heap_arena_deinit(&slot->heap);
    free(slot);
}

void schedule_registry_free(struct schedule_registry *registry)
{
    if (registry == NULL)
        return;
    for (uint32_t i = 0; i < registry->count; i++)
        slot_free(registry->slots[i]);
    free(registry);
}

/* ---- the table ---- */

static struct text name_of(const struct slot *slot)
{
    return slot->entry.definition.name;
}

/* The first slot that is not before the name. */
static uint32_t lower_bound(const struct schedule_registry *registry, struct text name)
{
    uint32_t low = 0;
    uint32_t high = registry->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (text_compare(name_of(registry->slots[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct schedule_registry *registry, uint32_t at, struct text name)
{
    return at < registry->count && text_equal(name_of(registry->slots[at]), name);
}

void schedule_registry_remove(struct schedule_registry *registry, struct text key)
{
    uint32_t at = lower_bound(registry, key);
    if (!is_at(registry, at, key))
        return;
    slot_free(registry->slots[at]);
    registry->count--;
    memmove(&registry->slots[at], &registry->slots[at + 1],
            (registry->count - at) * sizeof(registry->slots[0]));
}

/* A new slot in the place of the one of this name. NULL: the table is full, or the key is not a
 * name. */
static struct slot *take_slot(struct schedule_registry *registry, struct text key,
                              int64_t appended_at, struct error *ret_error)
{
    if (!name_valid(key)) {
        error_set(ret_error, CODE_BAD_SCHEDULE, "the record's key must be " NAME_EXPECTED);
        return NULL;
    }
    uint32_t at = lower_bound(registry, key);
    if (is_at(registry, at, key)) {
        slot_free(registry->slots[at]);
    } else if (registry->count == SCHEDULES_MAX) {
        error_set(ret_error, CODE_TOO_MANY_SCHEDULES,
                  "%d schedules are deployed already: %.*s is ignored; delete one first",
                  SCHEDULES_MAX, TEXT_ARG(key));
        return NULL;
    } else {
        memmove(&registry->slots[at + 1], &registry->slots[at],
                (registry->count - at) * sizeof(registry->slots[0]));
        registry->count++;
    }
    struct slot *slot = calloc(1, sizeof(*slot));
    assert(slot != NULL);
    heap_arena_init(&slot->heap, 4096);
    slot->entry.definition.name = arena_text(&slot->heap.arena, key);
    slot->entry.appended_at = appended_at;
    slot->entry.number = ++registry->number;
    registry->slots[at] = slot;
    return slot;
}

/* ---- records ---- */

static void copy(struct slot *slot, const struct schedule_definition *from)
{
    struct arena *arena = &slot->heap.arena;
    struct schedule_definition *to = &slot->entry.definition;
    to->text = arena_text(arena, from->text);
    to->format = arena_text(arena, from->format);
    to->deployed_by = arena_text(arena, from->deployed_by);
    to->deployed_at = from->deployed_at;
    to->paused = from->paused;
    to->by = arena_text(arena, from->by);
    to->reason = arena_text(arena, from->reason);
    to->at = from->at;
}

static enum error_class compile(struct schedule_registry *registry, struct slot *slot,
                                struct text name, struct error *ret_error)
{
    const struct schedule_definition *definition = &slot->entry.definition;
    struct schedule *schedule = NULL;
    bool json = text_equal(definition->format, TEXT("json"));
    if (!schedule_parse_deployed(definition->text, json ? WORKFLOW_JSON : WORKFLOW_YAML,
                                 &slot->heap.arena, &registry->problems, &schedule)) {
        const struct workflow_problem *problem = problems_first_error(&registry->problems);
        return error_set(ret_error, CODE_BAD_SCHEDULE, "its text does not compile: %u:%u: %s",
                         problem != NULL ? problem->line : 0, problem != NULL ? problem->column : 0,
                         problem != NULL ? problem->text : "too many problems");
    }
    if (!text_equal(schedule->name, definition->name) || !text_equal(name, definition->name))
        return error_set(ret_error, CODE_BAD_SCHEDULE,
                         "the record's key is %.*s, its name %.*s, and its text says %.*s",
                         TEXT_ARG(definition->name), TEXT_ARG(name), TEXT_ARG(schedule->name));
    slot->entry.schedule = schedule;
    return ERROR_OK;
}

enum error_class schedule_registry_put(struct schedule_registry *registry, struct text key,
                                       const struct schedule_definition *definition,
                                       int64_t appended_at, struct error *ret_error)
{
    struct error error = {.class = ERROR_OK};
    struct slot *slot = take_slot(registry, key, appended_at, ret_error);
    if (slot == NULL)
        return ERROR_REJECT;
    copy(slot, definition);
    if (compile(registry, slot, definition->name, &error) == ERROR_OK)
        return ERROR_OK;
    slot->entry.problem = arena_text(&slot->heap.arena, text_of(error.message));
    return error_wrap(ret_error, &error, "%s", error.message);
}

enum error_class schedule_registry_put_unreadable(struct schedule_registry *registry,
                                                  struct text key, const struct error *why,
                                                  int64_t appended_at, struct error *ret_error)
{
    struct slot *slot = take_slot(registry, key, appended_at, ret_error);
    if (slot == NULL)
        return ERROR_REJECT;
    error_set(ret_error, CODE_BAD_SCHEDULE, "its record cannot be read: %s", why->message);
    slot->entry.problem = arena_text(&slot->heap.arena, text_of(ret_error->message));
    return ERROR_REJECT;
}

/* ---- reading ---- */

const struct schedule_entry *schedule_registry_find(const struct schedule_registry *registry,
                                                    struct text name)
{
    uint32_t at = lower_bound(registry, name);
    return is_at(registry, at, name) ? &registry->slots[at]->entry : NULL;
}

uint32_t schedule_registry_count(const struct schedule_registry *registry)
{
    return registry->count;
}

const struct schedule_entry *schedule_registry_at(const struct schedule_registry *registry,
                                                  uint32_t index)
{
    assert(index < registry->count);
    return &registry->slots[index]->entry;
}

enum error_class schedule_registry_get(const struct schedule_registry *registry, struct text name,
                                       const struct schedule_entry **ret_entry,
                                       struct error *ret_error)
{
    struct text names[SCHEDULES_MAX];
    const struct schedule_entry *entry = schedule_registry_find(registry, name);
    if (entry != NULL && entry->schedule != NULL) {
        *ret_entry = entry;
        return ERROR_OK;
    }
    if (entry != NULL)
        return error_set(ret_error, CODE_BAD_SCHEDULE, "schedule %.*s: %.*s", TEXT_ARG(name),
                         TEXT_ARG(entry->problem));
    for (uint32_t i = 0; i < registry->count; i++)
        names[i] = name_of(registry->slots[i]);
    const struct text *near = suggest_text(name, names, registry->count);
    if (near != NULL)
        return error_set(ret_error, CODE_UNKNOWN_SCHEDULE,
                         "schedule %.*s is not deployed: did you mean %.*s?", QUOTE_ARG(name),
                         TEXT_ARG(*near));
    return error_set(ret_error, CODE_UNKNOWN_SCHEDULE, "schedule %.*s is not deployed",
                     QUOTE_ARG(name));
}
