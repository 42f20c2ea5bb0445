/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted file of tests is read or rejected with sensible problems, and cases that are read
 * come to an end, in the same way each time. */
#include "base/heap_arena.h"
#include "rehearsal/rehearsal.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CASES_RUN_MAX = 4 }; /* of one input */

/* The names are short, so that the fuzzer finds them. */
static const char workflow_text[] =
    "Name: w\nVersion: 1\nTimeoutSeconds: 600\n"
    "Steps:\n"
    "  - Name: A\n    Agent: a\n    MaxExtensionSeconds: 20\n"
    "    Retry: [{ErrorEquals: [States.ALL], MaxAttempts: 2}]\n"
    "    Input: {n: \"${input.n}\"}\n    Compensate: {Action: U, Input: \"${result}\"}\n"
    "  - {Name: B, Agent: b, Catch: [{ErrorEquals: [C], Next: $continue}]}\n"
    "  - {Name: S, When: \"has(output.B)\", Set: {sum: \"${output.A}\"}}\n"
    "  - Name: F\n    When: has(input.l)\n"
    "    ForEach: {Items: input.l, MaxConcurrency: 2, ToleratedFailureCount: 1,\n"
    "              StopWhen: result == 7}\n"
    "    Steps:\n"
    "      - {Name: X, Agent: x, Compensate: {Action: U}}\n"
    "      - {Name: W, After: X, When: input == 3, Await: {}, TimeoutSeconds: 60}\n"
    "      - {Name: N, After: X, When: input == 4, Steps: [{Name: Y, Agent: y}]}\n"
    "    Output: \"${output.X}\"\n"
    "    Catch: [{ErrorEquals: [C], Next: $continue}]\n"
    "  - {Name: P, Agent: p, Pivot: true, OnExhausted: error}\n"
    "Output: {sum: \"${has(output.S) ? output.S.sum : 0}\"}\n";

static const struct workflow *the_workflow(void)
{
    static struct heap_arena heap;
    static struct workflow *workflow;
    static struct workflow_problems problems;
    if (workflow != NULL)
        return workflow;
    heap_arena_init(&heap, 32 * 1024);
    struct text text = {workflow_text, sizeof(workflow_text) - 1};
    bool compiled = workflow_parse(text, WORKFLOW_YAML, &heap.arena, &problems, &workflow);
    assert(compiled);
    (void)compiled;
    return workflow;
}

static void check_problems(const struct workflow_problems *problems)
{
    assert(problems->count <= WORKFLOW_PROBLEMS_MAX);
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct workflow_problem *problem = &problems->items[i];
        assert(problem->text[0] != '\0' && (problem->line == 0) == (problem->column == 0));
        for (const char *at = problem->text; *at != '\0'; at++)
            assert((unsigned char)*at >= ' ' && *at != 0x7F);
    }
}

static uint32_t run(const struct test_case *test, struct arena *arena, struct rehearsal *rehearsal)
{
    uint32_t count = 0;
    rehearse(test, the_workflow(), arena, rehearsal);
    assert(!rehearsal->endless);
    const struct rehearsal_difference *differences =
        rehearsal_compare(test, rehearsal, arena, &count);
    for (uint32_t i = 0; i < count; i++)
        assert(!text_empty(differences[i].what) &&
               !text_equal(differences[i].expected, differences[i].actual));
    return count;
}

static void run_twice(const struct test_case *test, struct arena *arena)
{
    struct rehearsal first, second;
    uint32_t differences = run(test, arena, &first);
    assert(run(test, arena, &second) == differences);
    const struct rehearsal_entry *left = first.story, *right = second.story;
    for (; left != NULL && right != NULL; left = left->next, right = right->next)
        assert(left->at == right->at && text_equal(left->words, right->words));
    assert(left == NULL && right == NULL && first.story != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow_problems problems;
    static struct case_file file;
    struct heap_arena heap;
    if (size == 0 || size > WORKFLOW_BYTES_MAX)
        return 0;
    heap_arena_init(&heap, 32 * 1024);
    struct text text = {(const char *)data, (uint32_t)size};
    bool begun = case_file_begin(text, &heap.arena, &problems, &file);
    assert(begun == (problems.errors == 0));
    if (begun && case_file_read(&file, the_workflow(), &heap.arena, &problems)) {
        for (uint32_t i = 0; i < file.case_count && i < CASES_RUN_MAX; i++)
            run_twice(&file.cases[i], &heap.arena);
    }
    check_problems(&problems);
    heap_arena_deinit(&heap);
    return 0;
}
