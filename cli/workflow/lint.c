/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow lint`: explains every mistake in workflow files. */
#include "cli/output.h"
#include "cli/workflow/tested_file.h"
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

static int lint_workflow(struct cli *cli, struct output *output, const char *path)
{
    struct workflow_file file;
    struct error error = {0};
    enum error_class class = cli_flag_given(cli, "notes")
                                 ? workflow_file_read_with_notes(path, &file, &error)
                                 : workflow_file_read(path, &file, &error);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow *workflow = file.workflow;
    workflow_print_problems(cli, output, path, &file.problems);
    if (workflow != NULL && output == NULL)
        fprintf(cli->out, "%s: %.*s version %u, %u steps: OK\n", path, TEXT_ARG(workflow->name),
                workflow->version, workflow->step_count);
    workflow_file_deinit(&file);
    return workflow != NULL ? EXIT_CODE_OK : EXIT_CODE_DATA;
}

static int lint_tests(struct cli *cli, struct output *output, const char *path)
{
    struct tested_file file;
    struct error error = {0};
    const char *where = NULL;
    if (tested_file_read(path, &file, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow_problems *problems = tested_file_problems(&file, &where);
    if (problems != NULL)
        workflow_print_problems(cli, output, where, problems);
    else if (output == NULL)
        fprintf(cli->out, "%s: tests of %.*s version %u, %u case%s: OK\n", path,
                TEXT_ARG(file.workflow.workflow->name), file.workflow.workflow->version,
                file.cases.case_count, file.cases.case_count == 1 ? "" : "s");
    tested_file_deinit(&file);
    return problems == NULL ? EXIT_CODE_OK : EXIT_CODE_DATA;
}

/* As a table: like the messages of a compiler. */
int workflow_run_lint(struct cli *cli)
{
    struct output *output = NULL;
    int code = EXIT_CODE_OK;
    if (cli->output != CLI_OUTPUT_TABLE)
        output = output_new(cli, NULL);
    for (int i = 0; i < cli->argument_count; i++) {
        const char *path = cli->arguments[i];
        int of_file = string_ends_with(path, TESTED_FILE_SUFFIX) ? lint_tests(cli, output, path)
                                                                 : lint_workflow(cli, output, path);
        if (of_file != EXIT_CODE_OK)
            code = of_file;
    }
    return output_finish(output, code);
}
