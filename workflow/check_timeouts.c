/* SPDX-License-Identifier: Apache-2.0 */
/* Do the timeouts add up? The order's own is compared with what its steps may take at worst: each
 * attempt its whole timeout and extension, each retry its whole wait. */
#include "workflow/compile.h"

#include <inttypes.h>
#include <stdio.h>

enum { DURATION_TEXT_SIZE = 32 };

/* Of each attempt its timeout and its extension, of each retry its wait. */
#define STEP_MS_MAX \
    ((RETRIERS_MAX * RETRIES_MAX + 1) * 3 * DURATION_MS_MAX) /* one with a body: less */
_Static_assert(STEP_MS_MAX < INT64_MAX / WORKFLOW_STEPS_MAX, "sums of timeouts fit an int64_t");

/* "1.5 s" */
static const char *duration_text(int64_t ms, char ret_text[DURATION_TEXT_SIZE])
{
    int size =
        snprintf(ret_text, DURATION_TEXT_SIZE, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    while (ret_text[size - 1] == '0')
        size--;
    if (ret_text[size - 1] == '.')
        size--;
    snprintf(ret_text + size, (size_t)(DURATION_TEXT_SIZE - size), " s");
    return ret_text;
}

/* The steps in an order in which each comes after its predecessors. There is no cycle. */
static void sort_steps(const struct workflow_compiler *compiler,
                       uint32_t ret_order[WORKFLOW_STEPS_MAX])
{
    uint64_t done = 0;
    for (uint32_t count = 0; count < compiler->draft_count;) {
        for (uint32_t i = 0; i < compiler->draft_count; i++) {
            uint64_t bit = UINT64_C(1) << i;
            if ((done & bit) == 0 && (compiler->drafts[i].step.after & ~done) == 0) {
                done |= bit;
                ret_order[count++] = i;
            }
        }
    }
}

static int64_t longest_path_ms(const struct workflow_compiler *compiler,
                               const int64_t durations[WORKFLOW_STEPS_MAX])
{
    uint32_t order[WORKFLOW_STEPS_MAX];
    int64_t ends[WORKFLOW_STEPS_MAX] = {0};
    int64_t longest = 0;
    sort_steps(compiler, order);
    for (uint32_t n = 0; n < compiler->draft_count; n++) {
        uint32_t i = order[n];
        int64_t start = 0;
        for (uint32_t j = 0; j < compiler->draft_count; j++) {
            bool before = (compiler->drafts[i].step.after & (UINT64_C(1) << j)) != 0;
            if (before && ends[j] > start)
                start = ends[j];
        }
        ends[i] = start + durations[i];
        longest = ends[i] > longest ? ends[i] : longest;
    }
    return longest;
}

static int64_t longest_of(const struct draft *draft)
{
    return step_compilers[draft->step.kind].longest_ms(draft);
}

int64_t workflow_longest_ms(const struct workflow_compiler *compiler)
{
    int64_t durations[WORKFLOW_STEPS_MAX] = {0};
    if (compiler->place.cycle)
        return 0;
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        durations[i] = longest_of(&compiler->drafts[i]);
    return longest_path_ms(compiler, durations);
}

/* A step with a body has one limit for all of it. */
static void check_bodies(struct workflow_compiler *compiler)
{
    char body[DURATION_TEXT_SIZE], whole[DURATION_TEXT_SIZE];
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct draft *draft = &compiler->drafts[i];
        int64_t longest = draft->body != NULL ? workflow_longest_ms(draft->body) : 0;
        if (longest <= draft->step.timeout_ms || draft->fields.of[FIELD_TIMEOUT_SECONDS] == NULL)
            continue;
        problems_add_warning(compiler->values.problems, draft->mark,
                             "the body of step %.*s may take %s with all its retries, longer than "
                             "the whole step (%s)",
                             TEXT_ARG(draft->step.name), duration_text(longest, body),
                             duration_text(draft->step.timeout_ms, whole));
    }
}

/* True: something was reported. */
static bool check_steps(struct workflow_compiler *compiler, int64_t ret_longest[WORKFLOW_STEPS_MAX])
{
    char own[DURATION_TEXT_SIZE], whole[DURATION_TEXT_SIZE];
    struct workflow_problems *problems = compiler->values.problems;
    bool reported = false;
    duration_text(compiler->timeout_ms, whole);
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct draft *draft = &compiler->drafts[i];
        ret_longest[i] = longest_of(draft);
        bool tries = draft->step.agent_count > 0;
        if (tries && draft->step.timeout_ms > compiler->timeout_ms && !compiler->values.deployed) {
            problems_add_error(
                problems, draft->mark,
                "one attempt of step %.*s may take %s, longer than the whole order (%s)",
                TEXT_ARG(draft->step.name), duration_text(draft->step.timeout_ms, own), whole);
            reported = true;
        } else if (ret_longest[i] > compiler->timeout_ms) {
            problems_add_warning(problems, draft->mark,
                                 "step %.*s%s%s may take %s, longer than the whole order (%s)",
                                 TEXT_ARG(draft->step.name), tries ? " with all its retries" : "",
                                 draft->step.max_extension_ms > 0 ? " and extensions" : "",
                                 duration_text(ret_longest[i], own), whole);
            reported = true;
        }
    }
    return reported;
}

void workflow_check_timeouts(struct workflow_compiler *compiler)
{
    int64_t durations[WORKFLOW_STEPS_MAX] = {0};
    char path[DURATION_TEXT_SIZE], whole[DURATION_TEXT_SIZE];
    check_bodies(compiler);
    if (compiler->timeout_ms == 0 || check_steps(compiler, durations))
        return;
    duration_text(compiler->timeout_ms, whole);
    int64_t longest = longest_path_ms(compiler, durations);
    if (longest > compiler->timeout_ms)
        problems_add_warning(
            compiler->values.problems, compiler->timeout_mark,
            "the steps one after the other may take %s with all their retries, longer "
            "than the whole order (%s)",
            duration_text(longest, path), whole);
}
