/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow deploy`: appends workflow files to the workflows topic. */
#include "cli/output.h"
#include "cli/workflow/verbs.h"

#include <assert.h>
#include <stdlib.h>

static const struct output_column columns[] = {
    {"workflow", "WORKFLOW", false}, {"version", "VERSION", true}, {"result", "RESULT", false}};

static int deploy_source(struct cli *cli, struct cli_session *session,
                         const struct workflow_source *source, struct output *output)
{
    struct error error = {0};
    bool is_new = false;
    /* The topics first: a deployed workflow without them would lose its requests. */
    if (workflow_make_topics(session, source->workflow, &error) != ERROR_OK ||
        workflow_deploy(session, source, &is_new, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    output_row(output, json_pack("{s:s%, s:i, s:s}", "workflow", source->workflow->name.data,
                                 (size_t)source->workflow->name.size, "version",
                                 (int)source->workflow->version, "result",
                                 is_new ? "deployed" : "already deployed"));
    return EXIT_CODE_OK;
}

/* All files are checked before the first one is deployed. */
int workflow_run_deploy(struct cli *cli)
{
    size_t count = (size_t)cli->argument_count;
    struct error error = {0};
    struct cli_session session;
    int code = EXIT_CODE_OK;
    struct workflow_source *sources = calloc(count, sizeof(*sources));
    assert(sources != NULL);
    for (size_t i = 0; i < count; i++) {
        if (workflow_source_read(cli->arguments[i], &sources[i], &error) != ERROR_OK)
            code = cli_fail(cli, &error);
        workflow_print_problems(cli, NULL, cli->arguments[i], &sources[i].problems);
        if (sources[i].workflow == NULL && code == EXIT_CODE_OK)
            code = EXIT_CODE_DATA;
    }
    if (code == EXIT_CODE_OK &&
        cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        code = cli_fail(cli, &error);
    else if (code == EXIT_CODE_OK) {
        struct output *output = output_new(cli->out, cli->output, columns, 3);
        for (size_t i = 0; i < count && code == EXIT_CODE_OK; i++)
            code = deploy_source(cli, &session, &sources[i], output);
        code = output_finish(output, code);
        cli_session_close(&session);
    }
    for (size_t i = 0; i < count; i++)
        workflow_source_deinit(&sources[i]);
    free(sources);
    return code;
}
