/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow list` and `show`: what is deployed. */
#include "base/numbers.h"
#include "cli/output.h"
#include "cli/workflow/agent_check.h"
#include "cli/workflow/verbs.h"
#include "replica/cluster/workflow_entry_json.h"

/* Each agent once. */
static json_t *agents_of(const json_t *steps)
{
    json_t *agents = json_object(); /* a set */
    size_t i, k;
    const json_t *step, *agent;
    json_array_foreach(steps, i, step)
        json_array_foreach(json_object_get(step, "agents"), k, agent)
            json_object_set_new(agents, json_string_value(agent), json_null());
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

static json_t *status_of(const json_t *workflow)
{
    if (json_is_true(json_object_get(workflow, "retired")))
        return json_string("retired");
    return json_is_true(json_object_get(workflow, "active")) ? json_string("active") : NULL;
}

static json_t *count_of(const json_t *list)
{
    return json_integer((json_int_t)json_array_size(list));
}

static json_t *lint_text(const json_t *warnings)
{
    size_t count = json_array_size(warnings);
    if (count == 0)
        return json_string("OK");
    return json_sprintf("%zu warning%s", count, count == 1 ? "" : "s");
}

static const struct output_column columns[] = {
    {"WORKFLOW", "workflow", output_value, false},
    {"VERSION", "version", output_value, true},
    {"STATUS", "", status_of, false},
    {"STEPS", "steps", count_of, true},
    {"AGENTS", "steps", agents_of, false},
    {"LINT", "lint", lint_text, false},
    {"DEPLOYED", "deployed_at", output_value, false},
    {"BY", "deployed_by", output_value, false},
    {0},
};

/* As the console's API, but for the orders, which it counts. */
static json_t *row_of(const struct workflow_registry *registry, const struct workflow_entry *entry)
{
    json_t *row = workflow_entry_json(registry, entry);
    json_object_set_new(row, "lint", workflow_problems_json(entry->warnings, entry->warning_count));
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
    struct output *output = output_new(cli, columns);
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++)
        output_row(output, row_of(registry, workflow_registry_at(registry, i)));
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
    json_t *row = row_of(registry, entry);
    json_object_set_new(row, "format",
                        json_stringn(entry->definition.format.data, entry->definition.format.size));
    json_object_set_new(row, "source", json_stringn(text.data, text.size));
    return output_one(cli, NULL, row);
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
