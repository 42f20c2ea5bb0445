/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow graph`: the steps of a workflow as a picture. */
#include "workflow/graph.h"

#include "cli/workflow/operands.h"
#include "cli/workflow/verbs.h"

#include <assert.h>
#include <stdlib.h>

static int print(struct cli *cli, const struct workflow *workflow,
                 enum workflow_graph_format format)
{
    size_t size = workflow_graph(workflow, format, NULL, 0);
    char *picture = malloc(size);
    assert(picture != NULL);
    workflow_graph(workflow, format, picture, size);
    bool written = fwrite(picture, 1, size, cli->out) == size && fflush(cli->out) == 0;
    free(picture);
    return written ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

int workflow_run_graph(struct cli *cli)
{
    struct workflow_operands operands;
    uint32_t format = GRAPH_TEXT;
    char list[64];
    int code = EXIT_CODE_OK;
    const char *given = cli_flag_value(cli, "format");
    if (given != NULL && !enum_names_find(&workflow_graph_format_names, text_of(given), &format)) {
        enum_names_list(&workflow_graph_format_names, list, sizeof(list));
        return cli_usage(cli, "--format %.40s: expected %s", given, list);
    }
    if (workflow_operands_init(cli, false, &operands, &code))
        code = print(cli, operands.of[0].workflow, (enum workflow_graph_format)format);
    workflow_operands_deinit(&operands);
    return code;
}
