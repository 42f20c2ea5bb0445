/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted workflow file compiles or is rejected with sensible problems. A file that begins
 * with a brace is JSON. */
#include "base/heap_arena.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow_problems problems;
    if (size == 0 || size > WORKFLOW_BYTES_MAX)
        return 0;
    enum workflow_format format = data[0] == '{' ? WORKFLOW_JSON : WORKFLOW_YAML;
    struct text source = {(const char *)data, (uint32_t)size};
    struct heap_arena scratch;
    struct workflow *workflow = NULL;
    heap_arena_init(&scratch, 32 * 1024);
    bool compiled = workflow_parse(source, format, &scratch.arena, &problems, &workflow);
    check_problems(&problems);
    assert(compiled == (problems.errors == 0) && compiled == (workflow != NULL));
    heap_arena_deinit(&scratch);
    return 0;
}
