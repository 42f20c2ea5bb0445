/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow`: the table of its verbs. */
#include "cli/workflow/agent_check.h"
#include "cli/workflow/migrate.h"
#include "cli/workflow/verbs.h"

static const struct cli_flag lint_flags[] = {
    {"notes", NULL,
     "Also says what is often meant otherwise: what may remain after an undo, what can only end "
     "in Error, and what is not checked."},
    {NULL, NULL, NULL},
};

static const struct cli_flag deploy_flags[] = {
    {"no-activate", NULL,
     "New orders go on to take the version that they take now, until `activate`."},
    {"next-version", NULL,
     "A file whose text is not that of the highest deployed version gets the number after it, "
     "unless its own is higher. For trying things out."},
    AGENT_CHECK_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag list_flags[] = {AGENT_CHECK_FLAG, {NULL, NULL, NULL}};
static const struct cli_flag activation_flags[] = {
    {"reason", "TEXT", "Why; required, and stays in the topic."},
    {"by", "NAME", "Who decides this; by default user@host."},
    {NULL, NULL, NULL},
};

static const struct cli_flag graph_flags[] = {
    {"format", "FORMAT", "text (the default), or dot for Graphviz."},
    {NULL, NULL, NULL},
};

static const struct cli_flag schema_flags[] = {
    {"tests", NULL, "The JSON Schema of files of tests (`reeve test`)."},
    {NULL, NULL, NULL},
};

static const struct cli_flag eval_flags[] = {
    {"input", "FILE|JSON",
     "The order's input: JSON, or a file of it, - for stdin; by default null."},
    {"output", "STEP=JSON",
     "The output of a step, for each of several; `STEP=`, and a step that is not named: it has "
     "none."},
    {"error", "STEP=NAME", "The step failed with this error and was caught."},
    {"body", "STEP",
     "Within the body of this step, STEP/STEP in a body within it: its steps have the outputs, and "
     "the input is that of its orders."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "lint",
        .arguments = "FILE...",
        .summary = "Explains every mistake in workflow files and in files of tests "
                   "(`*.test.yaml`). Needs no broker. Exit code 65: there are errors; warnings and "
                   "notes alone give 0.",
        .examples = "reeve workflow lint examples/workflows/order-fulfilment.yaml\n"
                    "reeve workflow lint *.yaml --notes --output json",
        .flags = lint_flags,
        .settings = CLI_SETTINGS_NONE,
        .run = workflow_run_lint,
    },
    {
        .name = "deploy",
        .arguments = "FILE...",
        .summary = "Deploys workflows; new orders take them from here on. A deployed version never "
                   "changes: increase Version to change one.",
        .examples = "reeve workflow deploy order-fulfilment.yaml\n"
                    "reeve workflow deploy order-fulfilment.yaml --no-activate",
        .flags = deploy_flags,
        .run = workflow_run_deploy,
    },
    {
        .name = "list",
        .summary = "Lists the deployed workflows, with the number of lint's warnings (as JSON with "
                   "the warnings), and warns of active versions with an agent that no running "
                   "instance serves. `reeve orders count --versions` counts their orders.",
        .examples = "reeve workflow list\nreeve workflow list --no-agent-check --output jsonl",
        .flags = list_flags,
        .run = workflow_run_list,
    },
    {
        .name = "show",
        .arguments = "NAME[:VERSION]",
        .summary = "Shows the text of a deployed workflow; without VERSION, of the active one.",
        .examples = "reeve workflow show order-fulfilment\n"
                    "reeve workflow show order-fulfilment:1 --output json",
        .run = workflow_run_show,
    },
    {
        .name = "graph",
        .arguments = "NAME[:VERSION]|FILE",
        .summary = "Draws the steps of a deployed workflow or of a file. A file needs no broker.",
        .examples = "reeve workflow graph order-fulfilment:2\n"
                    "reeve workflow graph order-fulfilment.yaml --format dot > graph.dot",
        .flags = graph_flags,
        .plain = true,
        .run = workflow_run_graph,
    },
    {
        .name = "schema",
        .arguments = "[NAME[:VERSION]|FILE]",
        .summary = "Prints the `InputShape` of a deployed workflow or of a file as JSON Schema; "
                   "without an argument, the JSON Schema of workflow files, for editors. Only a "
                   "deployed workflow needs a broker.",
        .examples = "reeve workflow schema order-fulfilment\n"
                    "reeve workflow schema order-fulfilment.yaml > input.schema.json\n"
                    "reeve workflow schema > workflow.schema.json\n"
                    "reeve workflow schema --tests > workflow-tests.schema.json",
        .flags = schema_flags,
        .plain = true,
        .run = workflow_run_schema,
    },
    {
        .name = "diff",
        .arguments = "NAME:VERSION|FILE [NAME:VERSION|FILE]",
        .summary = "Shows what differs between two versions, by step and field; a single file is "
                   "compared with the active version. Exit code 1: they differ.",
        .examples = "reeve workflow diff order-fulfilment:1 order-fulfilment:2\n"
                    "reeve workflow diff order-fulfilment.yaml --output json",
        .run = workflow_run_diff,
    },
    {
        .name = "eval",
        .arguments = "FILE EXPRESSION",
        .summary = "Evaluates an expression over the steps of a file, as the scheduler does, and "
                   "prints its value as JSON. Needs no broker.",
        .examples = "reeve workflow eval order-fulfilment.yaml 'input.total > 100' "
                    "--input '{\"total\": 129.5}'\n"
                    "reeve workflow eval order-fulfilment.yaml 'has(output.TakePayment)' "
                    "--output 'TakePayment={}'\n"
                    "reeve workflow eval etl.yaml --body Load 'output.Store.rows' "
                    "--output 'Store={\"rows\": 7}'\n"
                    "reeve workflow eval order-fulfilment.yaml --input 2 -- '-input'",
        .flags = eval_flags,
        .settings = CLI_SETTINGS_NONE,
        .plain = true,
        .run = workflow_run_eval,
    },
    {
        .name = "activate",
        .arguments = "NAME:VERSION",
        .summary = "Has new orders that name no version take this one; a retired one takes orders "
                   "again.",
        .examples = "reeve workflow activate order-fulfilment:2 --reason 'tested'",
        .flags = activation_flags,
        .run = workflow_run_change,
        .of = &(const enum workflow_change){WORKFLOW_ACTIVATE},
    },
    {
        .name = "rollback",
        .arguments = "NAME",
        .summary = "Has new orders take the version that was active before. Orders that run keep "
                   "theirs.",
        .examples = "reeve workflow rollback order-fulfilment --reason 'the receipts are wrong'",
        .flags = activation_flags,
        .run = workflow_run_change,
        .of = &(const enum workflow_change){WORKFLOW_ROLLBACK},
    },
    {
        .name = "retire",
        .arguments = "NAME:VERSION",
        .summary = "Refuses new orders for a version, with the reason. Orders that run go on.",
        .examples = "reeve workflow retire order-fulfilment:1 --reason 'charges twice'",
        .flags = activation_flags,
        .run = workflow_run_change,
        .of = &(const enum workflow_change){WORKFLOW_RETIRE},
    },
    {
        .name = "migrate",
        .arguments = "NAME:FROM NAME:TO [ORDER...|-]",
        .summary = "Has orders go on with the steps of another version; without ORDER, all of the "
                   "version that have not ended. Exit code 1: the scheduler refused one, because "
                   "what it has done or is doing differs; with --dry-run, it would.",
        .examples = "reeve workflow migrate order-fulfilment:1 order-fulfilment:2 --dry-run\n"
                    "reeve workflow migrate order-fulfilment:1 order-fulfilment:2 --state Error "
                    "--reason 'version 1 asks the wrong carrier' --yes\n"
                    "reeve workflow migrate etl/Load:1 etl/Load:2 --dry-run",
        .flags = operator_flags,
        .run = operator_command_run,
        .of = &workflow_migrate,
    },
};

const struct cli_noun cli_workflow = {"workflow", "Workflow files and deployed workflows.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
