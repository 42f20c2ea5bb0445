/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow schema`: the InputShape of a workflow as JSON Schema; without a workflow, the
 * files themselves. */
#include "base/heap_arena.h"
#include "cli/workflow/operands.h"
#include "cli/workflow/verbs.h"
#include "rehearsal/case_file.h"
#include "workflow/field_schema.h"
#include "workflow/fields.h"
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

/* Of workflow files, or of files of tests: for editors. */
static int print_of_files(struct cli *cli, bool tests)
{
    json_t *schema = tests ? field_table_schema(&case_fields, "A file of tests for reeve test")
                           : field_table_schema(&workflow_fields, "A workflow of reeve");
    bool done = json_dumpf(schema, cli->out, JSON_INDENT(2)) == 0 && fputc('\n', cli->out) >= 0 &&
                fflush(cli->out) == 0;
    json_decref(schema);
    return done ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

int workflow_run_schema(struct cli *cli)
{
    struct workflow_operands operands;
    int code = EXIT_CODE_OK;
    bool tests = cli_flag_given(cli, "tests");
    if (cli->argument_count == 0)
        return print_of_files(cli, tests);
    if (tests)
        return cli_usage(cli, "--tests prints the schema of files of tests: leave out %.80s",
                         cli->arguments[0]);
    if (workflow_operands_init(cli, false, &operands, &code))
        code = print(cli, operands.of[0].workflow);
    workflow_operands_deinit(&operands);
    return code;
}
