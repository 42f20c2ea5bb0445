/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow list` and `show`: what is deployed. */
#include "base/numbers.h"
#include "base/rfc3339.h"
#include "cli/output.h"
#include "cli/workflow/agent_check.h"
#include "cli/workflow/verbs.h"
#include "services/console/render/render.h"

#include <string.h>

static const struct output_column columns[] = {
    {"workflow", "WORKFLOW", false},    {"version", "VERSION", true}, {"status", "STATUS", false},
    {"steps", "STEPS", true},           {"agents", "AGENTS", false},  {"lint", "LINT", false},
    {"deployed_at", "DEPLOYED", false}, {"deployed_by", "BY", false}};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

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

static const char *status_of(const struct workflow_registry *registry,
                             const struct workflow_entry *entry)
{
    if (entry->retired)
        return "retired";
    return workflow_lifecycle_is_active(registry, entry) ? "active" : "";
}

static json_t *table_row(const struct workflow_registry *registry,
                         const struct workflow_entry *entry)
{
    const struct workflow_definition *definition = &entry->definition;
    uint32_t warnings = entry->warning_count;
    char when[RFC3339_TEXT_SIZE];
    rfc3339_format(definition->deployed_at, when);
    json_t *lint = warnings == 0
                       ? json_string("OK")
                       : json_sprintf("%u warning%s", (unsigned)warnings, warnings == 1 ? "" : "s");
    return json_pack("{s:s%, s:i, s:s, s:i, s:o, s:o, s:s, s:s%}", "workflow",
                     definition->name.data, (size_t)definition->name.size, "version",
                     (int)definition->version, "status", status_of(registry, entry), "steps",
                     (int)entry->workflow->step_count, "agents", agents_of(entry->workflow), "lint",
                     lint, "deployed_at", when, "deployed_by",
                     definition->deployed_by.size > 0 ? definition->deployed_by.data : "",
                     (size_t)definition->deployed_by.size);
}

/* As the console's API, but for the orders, which it counts. */
static json_t *json_row(const struct workflow_registry *registry,
                        const struct workflow_entry *entry)
{
    json_t *row = render_workflow(entry, workflow_lifecycle_is_active(registry, entry));
    render_put(row, "lint", render_problems(entry->warnings, entry->warning_count));
    return row;
}

/* Orders of other versions run as well, but no new ones begin. */
static void warn_unserved(struct cli *cli, struct cli_session *session)
{
    const struct workflow_registry *registry = session->cluster->workflows;
    struct agent_check agents = {.table = NULL};
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        const struct workflow_entry *entry = workflow_registry_at(registry, i);
        if (!workflow_lifecycle_is_active(registry, entry))
            continue;
        agent_check_read(&agents, session);
        agent_check_warn(&agents, cli, entry->workflow);
    }
    agent_check_deinit(&agents);
}

int workflow_run_list(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow_registry *registry = session.cluster->workflows;
    bool as_table = cli->output == CLI_OUTPUT_TABLE;
    struct output *output = output_new(cli->out, cli->output, columns, COLUMNS);
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++)
        output_row(output, as_table ? table_row(registry, workflow_registry_at(registry, i))
                                    : json_row(registry, workflow_registry_at(registry, i)));
    int code = output_finish(output, EXIT_CODE_OK);
    if (!cli_flag_given(cli, "no-agent-check"))
        warn_unserved(cli, &session);
    cli_session_close(&session);
    return code;
}

bool workflow_parse_name(const char *argument, struct text *ret_name, uint32_t *ret_version)
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

static int show(struct cli *cli, const struct workflow_registry *registry,
                const struct workflow_entry *entry)
{
    struct text text = entry->definition.text;
    if (cli->output == CLI_OUTPUT_TABLE) {
        fwrite(text.data, 1, text.size, cli->out);
        return EXIT_CODE_OK;
    }
    struct output *output = output_new(cli->out, cli->output, columns, COLUMNS);
    json_t *row = json_row(registry, entry);
    json_object_set_new(row, "format",
                        json_stringn(entry->definition.format.data, entry->definition.format.size));
    json_object_set_new(row, "source", json_stringn(text.data, text.size));
    output_single(output);
    output_row(output, row);
    return output_finish(output, EXIT_CODE_OK);
}

int workflow_run_show(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    struct text name;
    uint32_t version;
    if (!workflow_parse_name(cli->arguments[0], &name, &version))
        return cli_usage(cli, "\"%.80s\": expected NAME or NAME:VERSION", cli->arguments[0]);
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct workflow_entry *entry =
        workflow_registry_entry(session.cluster->workflows, name, version);
    int code = EXIT_CODE_NEGATIVE;
    if (entry == NULL)
        cli_report(cli, CODE_UNKNOWN_WORKFLOW, "workflow %.80s is not deployed", cli->arguments[0]);
    else
        code = show(cli, session.cluster->workflows, entry);
    cli_session_close(&session);
    return code;
}
