/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow deploy`: appends workflow files to the workflows topic. */
#include "cli/output.h"
#include "cli/workflow/agent_check.h"
#include "cli/workflow/next_version.h"
#include "cli/workflow/verbs.h"
#include "workflow/diff.h"

#include <assert.h>
#include <stdlib.h>

static const struct output_column columns[] = {
    {"WORKFLOW", "workflow", output_value, false},
    {"VERSION", "version", output_value, true},
    {"RESULT", "result", output_value, false},
    {0},
};

void workflow_warn_of_changes(struct cli *cli, const struct workflow *before,
                              const struct workflow *after)
{
    struct heap_arena heap;
    const struct text *texts;
    if (before == NULL)
        return;
    heap_arena_init(&heap, 64 * 1024);
    uint32_t count = workflow_diff_warnings(before, after, &heap.arena, &texts);
    for (uint32_t i = 0; i < count; i++)
        cli_warn(cli, CODE_INPUT_CHANGED, "%.*s", TEXT_ARG(texts[i]));
    heap_arena_deinit(&heap);
}

int workflow_deploy_run(struct cli *cli, struct cli_session *session, struct agent_check *agents,
                        struct workflow_file *file, struct output *output)
{
    struct error error = {0};
    const char *result = "";
    if (cli_flag_given(cli, "next-version") &&
        workflow_file_number(session->cluster->workflows, file, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow *before =
        workflow_deployment_before(session->cluster->workflows, file->workflow);
    /* The topics first: a deployed workflow without them would lose its requests. */
    if (workflow_make_topics(session, file->workflow, &error) != ERROR_OK ||
        workflow_deploy(session, file, !cli_flag_given(cli, "no-activate"), &result, &error) !=
            ERROR_OK)
        return cli_fail(cli, &error);
    if (cli_flag_given(cli, "next-version") && string_starts_with(result, "already deployed"))
        result = "unchanged";
    output_row(output, json_pack("{s:s%, s:i, s:s}", "workflow", file->workflow->name.data,
                                 (size_t)file->workflow->name.size, "version",
                                 (int)file->workflow->version, "result", result));
    workflow_warn_of_changes(cli, before, file->workflow);
    if (cli_flag_given(cli, "no-agent-check"))
        return EXIT_CODE_OK;
    agent_check_read(agents, session);
    agent_check_warn(agents, cli, file->workflow);
    return EXIT_CODE_OK;
}

/* All files are checked before the first one is deployed. */
int workflow_run_deploy(struct cli *cli)
{
    size_t count = (size_t)cli->argument_count;
    struct error error = {0};
    struct cli_session session;
    int code = EXIT_CODE_OK;
    size_t read = 0;
    struct workflow_file *files = calloc(count, sizeof(*files));
    assert(files != NULL);
    for (size_t i = 0; i < count; i++) {
        if (workflow_file_read(cli->arguments[i], &files[read], &error) != ERROR_OK) {
            code = cli_fail(cli, &error);
            continue;
        }
        workflow_print_problems(cli, NULL, cli->arguments[i], &files[read].problems);
        if (files[read].workflow == NULL && code == EXIT_CODE_OK)
            code = EXIT_CODE_DATA;
        read++;
    }
    if (code == EXIT_CODE_OK &&
        cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        code = cli_fail(cli, &error);
    else if (code == EXIT_CODE_OK) {
        struct agent_check agents = {.table = NULL};
        struct output *output = output_new(cli, columns);
        for (size_t i = 0; i < count && code == EXIT_CODE_OK; i++)
            code = workflow_deploy_run(cli, &session, &agents, &files[i], output);
        code = output_finish(output, code);
        agent_check_deinit(&agents);
        cli_session_close(&session);
    }
    while (read > 0)
        workflow_file_deinit(&files[--read]);
    free(files);
    return code;
}
