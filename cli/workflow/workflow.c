/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow`: checks workflow files, deploys them, shows those that are deployed. */
#include "base/numbers.h"
#include "cli/output.h"
#include "cli/workflow/deploy.h"
#include "platform/files.h"
#include "replica/settings.h"

#include <assert.h>
#include <stdlib.h>

/* ---- lint ---- */

static const struct output_column lint_columns[] = {{"file", "FILE", false},
                                                    {"line", "LINE", true},
                                                    {"column", "COLUMN", true},
                                                    {"severity", "SEVERITY", false},
                                                    {"message", "WHAT", false}};

static void print_problems(struct cli *cli, struct output *output, const char *path,
                           const struct workflow_problems *problems)
{
    uint32_t shown =
        problems->count < WORKFLOW_PROBLEMS_MAX ? problems->count : (uint32_t)WORKFLOW_PROBLEMS_MAX;
    for (uint32_t i = 0; i < shown; i++) {
        const struct workflow_problem *problem = &problems->items[i];
        const char *severity = problem->severity == WORKFLOW_ERROR ? "error" : "warning";
        if (output == NULL)
            fprintf(cli->err, "%s:%u:%u: %s: %s\n", path, problem->line, problem->column, severity,
                    problem->text);
        else
            output_row(output, json_pack("{s:s, s:i, s:i, s:s, s:s}", "file", path, "line",
                                         (int)problem->line, "column", (int)problem->column,
                                         "severity", severity, "message", problem->text));
    }
}

/* Like a compiler's messages for people. */
static int run_lint(struct cli *cli)
{
    struct output *output = NULL;
    int code = EXIT_CODE_OK;
    if (cli->output != CLI_OUTPUT_TABLE)
        output = output_new(cli->out, cli->output, lint_columns, 5);
    for (int i = 0; i < cli->argument_count; i++) {
        struct workflow_source source;
        struct error error = {0};
        if (workflow_source_read(cli->arguments[i], &source, &error) != ERROR_OK) {
            code = cli_fail(cli, &error);
            continue;
        }
        print_problems(cli, output, cli->arguments[i], &source.problems);
        if (source.workflow == NULL)
            code = EXIT_CODE_DATA;
        else if (output == NULL)
            fprintf(cli->out, "%s: %.*s version %u, %u steps: fine\n", cli->arguments[i],
                    TEXT_ARG(source.workflow->name), source.workflow->version,
                    source.workflow->step_count);
        workflow_source_deinit(&source);
    }
    if (output != NULL)
        (void)output_finish(output);
    return code;
}

/* ---- deploy ---- */

static const struct output_column deploy_columns[] = {
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
static int run_deploy(struct cli *cli)
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
        print_problems(cli, NULL, cli->arguments[i], &sources[i].problems);
        if (sources[i].workflow == NULL && code == EXIT_CODE_OK)
            code = EXIT_CODE_DATA;
    }
    if (code == EXIT_CODE_OK &&
        cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        code = cli_fail(cli, &error);
    else if (code == EXIT_CODE_OK) {
        struct output *output = output_new(cli->out, cli->output, deploy_columns, 3);
        for (size_t i = 0; i < count && code == EXIT_CODE_OK; i++)
            code = deploy_source(cli, &session, &sources[i], output);
        (void)output_finish(output);
        cli_session_close(&session);
    }
    for (size_t i = 0; i < count; i++)
        workflow_source_deinit(&sources[i]);
    free(sources);
    return code;
}

/* ---- list, show ---- */

static const struct output_column list_columns[] = {
    {"workflow", "WORKFLOW", false},    {"version", "VERSION", true},
    {"steps", "STEPS", true},           {"agents", "AGENTS", false},
    {"deployed_at", "DEPLOYED", false}, {"deployed_by", "BY", false}};

static json_t *agents_of(const struct workflow *workflow)
{
    json_t *agents = json_object(); /* a set */
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        const struct workflow_step *step = &workflow->steps[i];
        for (uint32_t j = 0; j < step->agent_count; j++)
            json_object_setn_new(agents, step->agents[j].data, step->agents[j].size, json_null());
    }
    char names[512];
    size_t used = 0;
    const char *name;
    json_t *value;
    names[0] = '\0';
    json_object_foreach(agents, name, value) {
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used > 0 ? "," : "", name);
    }
    json_decref(agents);
    return json_string(names);
}

static json_t *entry_row(const struct workflow_entry *entry)
{
    const struct workflow_definition *definition = &entry->definition;
    char when[CLOCK_TEXT_SIZE];
    clock_text(definition->deployed_at, when);
    return json_pack("{s:s%, s:i, s:i, s:o, s:s, s:s%}", "workflow", definition->name.data,
                     (size_t)definition->name.size, "version", (int)definition->version, "steps",
                     (int)entry->workflow->step_count, "agents", agents_of(entry->workflow),
                     "deployed_at", when, "deployed_by",
                     definition->deployed_by.size > 0 ? definition->deployed_by.data : "",
                     (size_t)definition->deployed_by.size);
}

static int run_list(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow_registry *registry = session.cluster->workflows;
    struct output *output = output_new(cli->out, cli->output, list_columns, 6);
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++)
        output_row(output, entry_row(workflow_registry_at(registry, i)));
    bool written = output_finish(output);
    cli_session_close(&session);
    return written ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

/* NAME or NAME:VERSION. */
static bool parse_name(const char *argument, struct text *ret_name, uint32_t *ret_version)
{
    const char *colon = strrchr(argument, ':');
    struct text name = text_of(argument);
    int64_t version = 0;
    if (colon != NULL && !number_parse(text_of(colon + 1), 1, INT32_MAX, &version))
        return false;
    if (colon != NULL)
        name.size = (uint32_t)(colon - argument);
    *ret_name = name;
    *ret_version = (uint32_t)version;
    return true;
}

static void show(struct cli *cli, const struct workflow_entry *entry)
{
    struct text source = entry->definition.source;
    if (cli->output == CLI_OUTPUT_TABLE) {
        fwrite(source.data, 1, source.size, cli->out);
        return;
    }
    struct output *output = output_new(cli->out, cli->output, list_columns, 6);
    json_t *row = entry_row(entry);
    json_object_set_new(row, "format",
                        json_stringn(entry->definition.format.data, entry->definition.format.size));
    json_object_set_new(row, "source", json_stringn(source.data, source.size));
    output_single(output);
    output_row(output, row);
    (void)output_finish(output);
}

static int run_show(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    struct text name;
    uint32_t version;
    if (!parse_name(cli->arguments[0], &name, &version))
        return cli_usage(cli, "\"%.80s\": expected NAME or NAME:VERSION", cli->arguments[0]);
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow_entry *entry =
        workflow_registry_entry(session.cluster->workflows, name, version);
    if (entry == NULL)
        fprintf(cli->err, "reeve: there is no workflow %.80s\n", cli->arguments[0]);
    else
        show(cli, entry);
    int code = entry != NULL ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
    cli_session_close(&session);
    return code;
}

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
        .run = run_lint,
    },
    {
        .name = "deploy",
        .arguments = "FILE...",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary = "Puts workflows to work. What is deployed never changes: count Version up.",
        .examples = "reeve workflow deploy order-fulfilment.yaml",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_deploy,
    },
    {
        .name = "list",
        .summary = "The deployed workflows.",
        .examples = "reeve workflow list\nreeve workflow list --output jsonl",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_list,
    },
    {
        .name = "show",
        .arguments = "NAME[:VERSION]",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "A deployed workflow's text; without a version, the newest.",
        .examples = "reeve workflow show order-fulfilment\n"
                    "reeve workflow show order-fulfilment:1 --output json",
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_show,
    },
};

const struct cli_noun cli_workflow = {"workflow", "Workflow files and deployed workflows.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
