/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow schema`: the InputShape of a workflow as JSON Schema. */
#include "base/heap_arena.h"
#include "cli/workflow/operands.h"
#include "cli/workflow/verbs.h"
#include "workflow/shape_schema.h"

static int print(struct cli *cli, const struct workflow *workflow)
{
    static const struct shape any = {.kind = SHAPE_ANY};
    const struct shape *shape = workflow->input_shape != NULL ? workflow->input_shape : &any;
    struct heap_arena heap;
    heap_arena_init(&heap, 16 * 1024);
    struct text schema = shape_schema(shape, workflow->name, &heap.arena);
    int code = EXIT_CODE_OK;
    if (text_empty(schema)) {
        cli_report(cli, CODE_BAD_WORKFLOW,
                   "the InputShape of %.*s is too deep for JSON Schema of %d levels",
                   TEXT_ARG(workflow->name), JSON_DEPTH_MAX);
        code = EXIT_CODE_DATA;
    } else if (fprintf(cli->out, "%.*s\n", TEXT_ARG(schema)) < 0 || fflush(cli->out) != 0) {
        code = EXIT_CODE_INTERNAL;
    }
    heap_arena_deinit(&heap);
    return code;
}

int workflow_run_schema(struct cli *cli)
{
    struct workflow_operands operands;
    int code = EXIT_CODE_OK;
    if (workflow_operands_init(cli, false, &operands, &code))
        code = print(cli, operands.of[0].workflow);
    workflow_operands_deinit(&operands);
    return code;
}
