/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of the steps: no cycles; one pivot at most, every step before or after it, and
 * behind it no way back. */
#include "workflow/compile.h"

#include <assert.h>
#include <stdio.h>

#define BIT(index) (UINT64_C(1) << (index))

/* ---- cycles ---- */

/* "A -> B -> A", each waiting for the next one's end, in the order in which they would run. */
static void report_cycle(struct workflow_compiler *compiler, const uint32_t *path, uint32_t length)
{
    char names[WORKFLOW_PROBLEM_TEXT_SIZE] = "";
    size_t size = 0;
    for (uint32_t i = 0; i <= length && size < sizeof(names); i++) {
        struct text name = compiler->drafts[path[(2 * length - i) % length]].step.name;
        size += (size_t)snprintf(names + size, sizeof(names) - size, "%s%.*s", i > 0 ? " -> " : "",
                                 TEXT_ARG(name));
    }
    problems_add_error(compiler->values.problems, compiler->drafts[path[0]].mark,
                       "these steps wait for each other in a cycle: %s", names);
}

/* Of the steps that still wait for each other, follow predecessors until one comes again. */
static void find_cycle(struct workflow_compiler *compiler, uint64_t waiting)
{
    uint32_t path[WORKFLOW_STEPS_MAX + 1];
    uint32_t length = 0;
    uint64_t seen = 0;
    uint32_t at = (uint32_t)__builtin_ctzll(waiting);
    while ((seen & BIT(at)) == 0) {
        seen |= BIT(at);
        path[length++] = at;
        uint64_t before = compiler->drafts[at].step.after & waiting;
        assert(before != 0);
        at = (uint32_t)__builtin_ctzll(before);
    }
    uint32_t first = 0;
    while (path[first] != at)
        first++;
    /* It begins with the step that stands first in the file. */
    uint32_t cycle[WORKFLOW_STEPS_MAX];
    uint32_t size = length - first;
    uint32_t least = first;
    for (uint32_t i = first; i < length; i++) {
        if (path[i] < path[least])
            least = i;
    }
    for (uint32_t i = 0; i < size; i++)
        cycle[i] = path[first + (least - first + i) % size];
    report_cycle(compiler, cycle, size);
}

static uint64_t all_drafts(const struct workflow_compiler *compiler)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        all |= BIT(i);
    return all;
}

/* The same as workflow_find_before(); returns those of which it is known. */
static uint64_t find_ancestors(const struct workflow_compiler *compiler,
                               uint64_t ret_before[WORKFLOW_STEPS_MAX])
{
    uint64_t done = 0;
    uint64_t all = all_drafts(compiler);
    for (bool progress = true; progress && done != all;) {
        progress = false;
        for (uint32_t i = 0; i < compiler->draft_count; i++) {
            uint64_t after = compiler->drafts[i].step.after;
            if ((done & BIT(i)) != 0 || (after & ~done) != 0)
                continue;
            ret_before[i] = after;
            for (uint32_t j = 0; j < compiler->draft_count; j++)
                ret_before[i] |= (after & BIT(j)) != 0 ? ret_before[j] : 0;
            done |= BIT(i);
            progress = true;
        }
    }
    return done;
}

bool workflow_find_before(const struct workflow_compiler *compiler,
                          uint64_t ret_before[WORKFLOW_STEPS_MAX])
{
    return find_ancestors(compiler, ret_before) == all_drafts(compiler);
}

/* ---- the pivot ---- */

static void find_pivot(struct workflow_compiler *compiler)
{
    struct workflow_problems *problems = compiler->values.problems;
    compiler->pivot = -1;
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct draft *draft = &compiler->drafts[i];
        if (!draft->step.pivot)
            continue;
        if (compiler->pivot >= 0)
            problems_add_error(problems, draft->fields.of[FIELD_PIVOT]->mark,
                               "there can be only one pivot, and %.*s in line %u is one",
                               TEXT_ARG(compiler->drafts[compiler->pivot].step.name),
                               compiler->drafts[compiler->pivot].mark.line);
        else
            compiler->pivot = (int)i;
        if (draft->step.has_compensate)
            problems_add_error(problems, draft->fields.of[FIELD_COMPENSATE]->mark,
                               "the pivot %.*s is never undone: Compensate has no meaning here",
                               TEXT_ARG(draft->step.name));
        if (!draft->own_on_exhausted)
            compiler->drafts[i].step.on_exhausted = OUTCOME_ERROR;
    }
}

/* Catchers that say $compensate: reported when they are the step's own, else changed. */
static void close_way_back(struct workflow_compiler *compiler, struct draft *draft)
{
    struct catcher *catchers =
        ARENA_ARRAY(compiler->values.arena, struct catcher, draft->step.catcher_count);
    for (uint32_t i = 0; i < draft->step.catcher_count; i++) {
        catchers[i] = draft->step.catchers[i];
        if (catchers[i].next == OUTCOME_COMPENSATE && draft->own_catch)
            problems_add_error(
                compiler->values.problems, draft->fields.of[FIELD_CATCH]->mark,
                "step %.*s comes after the pivot, where there is no way back: $compensate "
                "is not possible",
                TEXT_ARG(draft->step.name));
        if (catchers[i].next == OUTCOME_COMPENSATE)
            catchers[i].next = OUTCOME_ERROR;
    }
    draft->step.catchers = catchers;
}

static void check_after_pivot(struct workflow_compiler *compiler, struct draft *draft)
{
    struct workflow_problems *problems = compiler->values.problems;
    if (draft->step.has_compensate)
        problems_add_error(
            problems, draft->fields.of[FIELD_COMPENSATE]->mark,
            "step %.*s comes after the pivot, where there is no way back: it is never "
            "undone",
            TEXT_ARG(draft->step.name));
    if (draft->own_on_exhausted && draft->step.on_exhausted == OUTCOME_COMPENSATE)
        problems_add_error(
            problems, draft->fields.of[FIELD_ON_EXHAUSTED]->mark,
            "step %.*s comes after the pivot, where there is no way back: OnExhausted "
            "must be error",
            TEXT_ARG(draft->step.name));
    draft->step.on_exhausted = OUTCOME_ERROR;
    if (draft->step.catcher_count > 0)
        close_way_back(compiler, draft);
}

static void check_by_pivot(struct workflow_compiler *compiler, uint32_t i,
                           const uint64_t before[WORKFLOW_STEPS_MAX])
{
    uint32_t pivot = (uint32_t)compiler->pivot;
    struct draft *draft = &compiler->drafts[i];
    if ((before[i] & BIT(pivot)) != 0)
        check_after_pivot(compiler, draft);
    else if (i != pivot && (before[pivot] & BIT(i)) == 0)
        problems_add_error(compiler->values.problems, draft->mark,
                           "step %.*s comes neither before nor after the pivot %.*s: let one name "
                           "the other in After",
                           TEXT_ARG(draft->step.name), TEXT_ARG(compiler->drafts[pivot].step.name));
}

/* ---- bodies ---- */

/* Up to the pivot of this workflow, a step with a body may have to be undone as a whole; from the
 * pivot on, nothing of it can be recalled. The engine relies on both. */
static void check_body(struct workflow_compiler *compiler, const struct draft *draft, bool recalled)
{
    struct workflow_problems *problems = compiler->values.problems;
    const struct workflow_compiler *body = draft->body;
    const struct yaml_node *timeout = draft->fields.of[FIELD_TIMEOUT_SECONDS];
    if (!recalled && timeout != NULL)
        problems_add_error(problems, timeout->key->mark,
                           "step %.*s has TimeoutSeconds, but from the pivot on its orders are not "
                           "undone: leave it out, the steps of the body have their own",
                           TEXT_ARG(draft->step.name));
    if (!recalled || body->pivot < 0)
        return;
    const struct draft *pivot = &body->drafts[body->pivot];
    problems_add_error(
        problems, pivot->fields.of[FIELD_PIVOT]->mark,
        "%.*s is a pivot in the body of %.*s, which may still have to be undone: make "
        "%.*s the pivot as well, or put it behind the pivot",
        TEXT_ARG(pivot->step.name), TEXT_ARG(draft->step.name), TEXT_ARG(draft->step.name));
}

static void check_bodies(struct workflow_compiler *compiler,
                         const uint64_t before[WORKFLOW_STEPS_MAX])
{
    int pivot = compiler->pivot;
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        bool behind = pivot >= 0 && (before[i] & BIT((uint32_t)pivot)) != 0;
        if (compiler->drafts[i].body != NULL)
            check_body(compiler, &compiler->drafts[i], !behind && (int)i != pivot);
    }
}

/* ---- notes ---- */

/* Of each step, by whether it comes after the pivot. */
static void note_step(struct workflow_compiler *compiler, const struct draft *draft, bool after)
{
    const struct workflow_step *step = &draft->step;
    struct workflow_problems *problems = compiler->values.problems;
    bool may_pass_then = step->kind == STEP_KIND_AWAIT || draft->body != NULL;
    if (after && step->kind != STEP_KIND_TASK && !may_pass_then)
        problems_add_note(problems, draft->mark,
                          "step %.*s comes after the pivot: if it fails, the order ends in Error, "
                          "and a resubmission fails again; put it before the pivot if you can",
                          TEXT_ARG(step->name));
    if (!after && step->kind == STEP_KIND_TASK && !step->has_compensate &&
        step->on_exhausted != OUTCOME_ERROR)
        problems_add_note(problems, draft->mark,
                          "what step %.*s did may remain when the order is undone: if it changes "
                          "anything, give it Compensate, or OnExhausted: error",
                          TEXT_ARG(step->name));
}

void workflow_check_graph(struct workflow_compiler *compiler)
{
    uint64_t before[WORKFLOW_STEPS_MAX] = {0};
    find_pivot(compiler);
    uint64_t waiting = all_drafts(compiler) & ~find_ancestors(compiler, before);
    if (waiting != 0) {
        find_cycle(compiler, waiting);
        return;
    }
    workflow_check_timeouts(compiler);
    for (uint32_t i = 0; i < compiler->draft_count && compiler->pivot >= 0; i++)
        check_by_pivot(compiler, i, before);
    check_bodies(compiler, before);
    for (uint32_t i = 0; i < compiler->draft_count && compiler->values.notes != NULL; i++) {
        bool after = compiler->pivot >= 0 && (before[i] & BIT((uint32_t)compiler->pivot)) != 0;
        note_step(compiler, &compiler->drafts[i], after);
    }
}
