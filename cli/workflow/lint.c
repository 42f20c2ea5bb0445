/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow lint`: explains every mistake in workflow files. */
#include "cli/output.h"
#include "cli/workflow/verbs.h"
#include "replica/cluster/workflow_entry_json.h"

void workflow_print_problems(struct cli *cli, struct output *output, const char *path,
                             const struct workflow_problems *problems)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct workflow_problem *problem = &problems->items[i];
        if (output == NULL) {
            fprintf(cli->err, "%s:%u:%u: %s: ", path, problem->line, problem->column,
                    workflow_severity_name(problem->severity));
            output_text(cli->err, problem->text, 0);
            fputc('\n', cli->err);
        } else {
            json_t *row = json_pack("{s:s}", "file", path);
            json_object_update_new(row, workflow_problem_json(problem));
            output_row(output, row);
        }
    }
}

/* As a table: like the messages of a compiler. */
int workflow_run_lint(struct cli *cli)
{
    struct output *output = NULL;
    int code = EXIT_CODE_OK;
    if (cli->output != CLI_OUTPUT_TABLE)
        output = output_new(cli, NULL);
    for (int i = 0; i < cli->argument_count; i++) {
        struct workflow_file file;
        struct error error = {0};
        if (workflow_file_read(cli->arguments[i], &file, &error) != ERROR_OK) {
            code = cli_fail(cli, &error);
            continue;
        }
        workflow_print_problems(cli, output, cli->arguments[i], &file.problems);
        if (file.workflow == NULL)
            code = EXIT_CODE_DATA;
        else if (output == NULL)
            fprintf(cli->out, "%s: %.*s version %u, %u steps: OK\n", cli->arguments[i],
                    TEXT_ARG(file.workflow->name), file.workflow->version,
                    file.workflow->step_count);
        workflow_file_deinit(&file);
    }
    return output_finish(output, code);
}
