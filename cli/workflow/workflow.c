/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow`: the table of its verbs. */
#include "cli/workflow/verbs.h"
#include "replica/settings.h"

static const struct cli_verb verbs[] = {
    {
        .name = "lint",
        .arguments = "FILE...",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary = "Explains every mistake in workflow files. Needs no broker.",
        .examples = "reeve workflow lint examples/workflows/order-fulfilment.yaml\n"
                    "reeve workflow lint *.yaml --output json",
        .output = true,
        .run = workflow_run_lint,
    },
    {
        .name = "deploy",
        .arguments = "FILE...",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary =
            "Deploys workflows. A deployed version never changes: increase Version to change one.",
        .examples = "reeve workflow deploy order-fulfilment.yaml",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = workflow_run_deploy,
    },
    {
        .name = "list",
        .summary = "Lists the deployed workflows.",
        .examples = "reeve workflow list\nreeve workflow list --output jsonl",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = workflow_run_list,
    },
    {
        .name = "show",
        .arguments = "NAME[:VERSION]",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "Shows the text of a deployed workflow; without VERSION, of the newest.",
        .examples = "reeve workflow show order-fulfilment\n"
                    "reeve workflow show order-fulfilment:1 --output json",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = workflow_run_show,
    },
};

const struct cli_noun cli_workflow = {"workflow", "Workflow files and deployed workflows.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
