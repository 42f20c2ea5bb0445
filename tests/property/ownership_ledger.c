/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_ledger.h"

#include "tests/property/ownership_trees.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 512 };

enum entry_state { ENTRY_NOTHING, ENTRY_APPLIED, ENTRY_UNDONE };

struct entry {
    char key[REQUEST_KEY_SIZE]; /* ORDER/STEP/do/GENERATION */
    enum entry_state state;
};

struct ledger {
    bool done_after_undo; /* a key was asked for that was undone before */
    uint32_t count;
    struct entry entries[ENTRIES_MAX];
};

struct ledger *ledger_new(void)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    assert(ledger != NULL);
    return ledger;
}

void ledger_free(struct ledger *ledger)
{
    free(ledger);
}

static struct entry *entry_of(struct ledger *ledger, const char *key)
{
    for (uint32_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->entries[i].key, key) == 0)
            return &ledger->entries[i];
    assert(ledger->count < ENTRIES_MAX);
    struct entry *entry = &ledger->entries[ledger->count++];
    snprintf(entry->key, sizeof(entry->key), "%s", key);
    return entry;
}

/* ---- calls ---- */

/* The answer is lost, so its caller cannot know whether anything happened. */
static const struct ledger_answer unknown = {.succeeded = false, .effect = EFFECT_UNKNOWN};
static const struct ledger_answer refused = {.succeeded = false, .effect = EFFECT_NONE};
static const struct ledger_answer done = {.succeeded = true, .effect = EFFECT_APPLIED};

static struct ledger_answer apply(struct world *world, struct entry *entry, bool succeeds)
{
    if (entry->state == ENTRY_UNDONE) {
        world->ledger->done_after_undo = true;
        return refused;
    }
    if (succeeds || entry->state == ENTRY_APPLIED) {
        entry->state = ENTRY_APPLIED;
        return succeeds ? done : unknown;
    }
    switch (dice_roll(&world->chaos.later, 4)) {
    case 0:
        entry->state = ENTRY_APPLIED;
        return unknown;
    case 1:
        entry->state = ENTRY_APPLIED;
        return (struct ledger_answer){.succeeded = false, .effect = EFFECT_APPLIED};
    case 2:
        return unknown;
    default:
        return refused;
    }
}

static struct ledger_answer undo(struct world *world, struct entry *entry, bool succeeds)
{
    if (succeeds) {
        entry->state = ENTRY_UNDONE;
        return done;
    }
    if (dice_percent(&world->chaos.later, 50))
        return entry->state == ENTRY_UNDONE ? unknown : refused;
    if (dice_percent(&world->chaos.later, 50))
        entry->state = ENTRY_UNDONE;
    return unknown;
}

struct ledger_answer ledger_call(struct world *world, enum direction direction, const char *do_key,
                                 uint32_t success_percent)
{
    struct entry *entry = entry_of(world->ledger, do_key);
    bool succeeds = dice_percent(&world->chaos.later, success_percent);
    return direction == DIRECTION_DO ? apply(world, entry, succeeds) : undo(world, entry, succeeds);
}

/* ---- what is left of them ---- */

/* Keys of the step, of whatever generation, that are applied. */
static uint32_t applied_of(const struct ledger *ledger, struct text order_id, struct text step)
{
    char prefix[REQUEST_KEY_SIZE];
    uint32_t applied = 0;
    int size =
        snprintf(prefix, sizeof(prefix), "%.*s/%.*s/do/", TEXT_ARG(order_id), TEXT_ARG(step));
    for (uint32_t i = 0; i < ledger->count; i++)
        applied += ledger->entries[i].state == ENTRY_APPLIED &&
                   strncmp(ledger->entries[i].key, prefix, (size_t)size) == 0;
    return applied;
}

/* Nothing of it is applied: the order has got a version without this step. */
static const char *check_dropped(const struct world *world, const struct order *order,
                                 struct text step)
{
    uint32_t applied = applied_of(world->ledger, order->details.order_id, step);
    return applied == 0 || order_find_step(order, step) >= 0
               ? NULL
               : wrong("%.*s has no step %.*s any more, and it is applied",
                       TEXT_ARG(order->details.order_id), TEXT_ARG(step));
}

static const char *check_dropped_steps(const struct world *world, const struct order *order)
{
    const char *failed = NULL;
    for (uint32_t v = 0; v < world->version_count; v++)
        for (uint32_t i = 0; i < world->versions[v]->step_count && failed == NULL; i++)
            failed = check_dropped(world, order, world->versions[v]->steps[i].name);
    return failed;
}

const char *ledger_check(const struct world *world, const struct order *order)
{
    bool tree = trees_has(order->details.order_id);
    const struct workflow *workflow = tree ? trees_workflow(world, &order->details)
                                           : world_workflow(world, order->details.workflow_version);
    if (world->ledger->done_after_undo)
        return wrong("the agent was to do a step after its undo");
    if (order->state != ORDER_PROCESSED && order->state != ORDER_COMPENSATED)
        return NULL;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        const struct workflow_step *step = &workflow->steps[i];
        uint32_t applied = applied_of(world->ledger, order->details.order_id, step->name);
        if (step->kind == STEP_KIND_SUBORDERS)
            continue;                                                    /* theirs are */
        uint32_t wanted = order->steps[i].state == STEP_SKIPPED ? 0 : 1; /* by an operator */
        bool right = order->state == ORDER_PROCESSED ? applied == wanted
                                                     : applied == 0 || !step->has_compensate;
        if (!right)
            return wrong("%.*s is %s, and %.*s is applied %u times",
                         TEXT_ARG(order->details.order_id), order_state_name(order->state),
                         TEXT_ARG(step->name), applied);
    }
    return tree ? NULL : check_dropped_steps(world, order);
}
