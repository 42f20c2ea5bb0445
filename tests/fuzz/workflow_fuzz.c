/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted workflow file compiles or is rejected with sensible problems. A file that begins
 * with a brace is JSON. What compiles does so again once it is deployed, does not differ from
 * itself, can be drawn, and has its bodies under their names. What follows a NUL is the input of an
 * order: if it is JSON, it has the file's InputShape or is refused with a sensible reason. */
#include "base/heap_arena.h"
#include "engine/shape.h"
#include "workflow/bodies.h"
#include "workflow/diff.h"
#include "workflow/graph.h"
#include "workflow/workflow_file.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static void check_bodies(const struct workflow *file)
{
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    uint32_t count = workflow_list_file(file, workflows);
    uint32_t steps = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow *workflow = workflows[i];
        assert(workflow->is_body == (i > 0) && workflow->version == file->version);
        assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
        assert(workflow->name.size <= BODY_NAME_BYTES_MAX);
        assert(workflow_find_in_file(file, workflow->name) == workflow);
        steps += workflow->step_count;
        for (uint32_t s = 0; s < workflow->step_count; s++)
            assert((workflow->steps[s].kind == STEP_KIND_SUBORDERS) ==
                   (workflow->steps[s].suborders.body != NULL));
    }
    assert(steps <= WORKFLOW_FILE_STEPS_MAX);
}

static void check_compiled(const struct workflow *file, const struct workflow *deployed,
                           struct arena *arena)
{
    const struct workflow_difference *differences;
    check_bodies(file);
    check_bodies(deployed);
    assert(workflow_diff(file, deployed, arena, &differences) == 0);
    for (uint32_t format = 0; format < GRAPH_FORMAT_COUNT; format++)
        assert(workflow_graph(file, (enum workflow_graph_format)format, NULL, 0) > 0);
}

static void check_shape(const struct shape *shape, struct text data, struct arena *arena)
{
    struct text input;
    struct error error = {0};
    if (!json_canonical(data, ORDER_INPUT_BYTES_MAX, arena, &input, NULL))
        return;
    enum error_class class = shape_check(shape, input, &error);
    assert(class == ERROR_OK || class == ERROR_REJECT);
    assert((class == ERROR_OK) == (error.message[0] == '\0'));
    for (const char *at = error.message; *at != '\0'; at++)
        assert((unsigned char)*at >= ' ' && *at != 0x7F);
    assert(class == ERROR_OK || strncmp(error.message, "input", 5) == 0);
    assert(shape->kind != SHAPE_ANY || class == ERROR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow_problems problems;
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    struct text rest = {0};
    if (nul != NULL) {
        rest = (struct text){(const char *)nul + 1, (uint32_t)(data + size - nul - 1)};
        size = (size_t)(nul - data);
    }
    if (size == 0 || size > WORKFLOW_BYTES_MAX)
        return 0;
    enum workflow_format format = data[0] == '{' ? WORKFLOW_JSON : WORKFLOW_YAML;
    struct text source = {(const char *)data, (uint32_t)size};
    struct heap_arena scratch;
    struct workflow *workflow = NULL, *deployed = NULL;
    heap_arena_init(&scratch, 32 * 1024);
    bool compiled = workflow_parse(source, format, &scratch.arena, &problems, &workflow);
    check_problems(&problems);
    assert(compiled == (problems.errors == 0) && compiled == (workflow != NULL));
    if (compiled) {
        bool again = workflow_parse_deployed(source, format, &scratch.arena, &problems, &deployed);
        assert(again);
        check_compiled(workflow, deployed, &scratch.arena);
        if (workflow->input_shape != NULL)
            check_shape(workflow->input_shape, rest, &scratch.arena);
    }
    heap_arena_deinit(&scratch);
    return 0;
}
