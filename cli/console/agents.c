/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve agents`: the agents that are alive: their capacity, latency, errors and circuits. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "replica/settings.h"

#include <stdio.h>

static const struct output_column columns[] = {
    {"agent", "AGENT", false},
    {"instance", "INSTANCE", false},
    {"capacity", "CAPACITY", true},
    {"in_flight", "IN FLIGHT", true},
    {"queued", "QUEUED", true},
    {"partitions", "PARTITIONS", true},
    {"p50", "P50", true},
    {"p95", "P95", true},
    {"errors", "ERRORS", true},
    {"circuit", "CIRCUIT", false},
    {"version", "VERSION", false},
    {"age", "HEARD", true},
    {"last_error", "LAST ERROR", false},
};

static void copy(json_t *row, const json_t *agent, const char *name)
{
    json_object_set(row, name, json_object_get(agent, name));
}

static json_t *milliseconds(const json_t *agent, const char *name)
{
    return json_sprintf("%lld ms", (long long)json_integer_value(json_object_get(agent, name)));
}

static json_t *row_of(const json_t *agent, int64_t now)
{
    static const char *const same[] = {"agent",      "instance", "capacity", "in_flight", "queued",
                                       "partitions", "circuit",  "version",  "last_error"};
    long long permille = json_integer_value(json_object_get(agent, "errors_permille"));
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        copy(row, agent, same[i]);
    json_object_set_new(row, "p50", milliseconds(agent, "latency_p50_ms"));
    json_object_set_new(row, "p95", milliseconds(agent, "latency_p95_ms"));
    json_object_set_new(row, "errors", json_sprintf("%lld.%lld %%", permille / 10, permille % 10));
    json_object_set_new(row, "age", output_age(json_object_get(agent, "heard_at"), now));
    return row;
}

/* Of one agent, or of all if `name` is NULL. */
static int show(struct cli *cli, const char *name)
{
    struct console_path path = {.size = 0};
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    console_path_add(&path, "/api/agents");
    console_path_add_query(&path, "agent", name);
    if (!console_get(cli, &path, &answer, &code))
        return code;
    const json_t *list = json_object_get(answer.json, "agents");
    if (name != NULL && json_array_size(list) == 0) {
        cli_report(cli, "NoInstance", "no instance of agent %s is alive", name);
        console_answer_deinit(&answer);
        return EXIT_CODE_NEGATIVE;
    }
    if (json_is_false(json_object_get(answer.json, "complete")))
        cli_warn(cli, "Incomplete", "the console is still reading: some agents may be missing");
    code = output_list(cli, columns, sizeof(columns) / sizeof(columns[0]), list, row_of);
    console_answer_deinit(&answer);
    return code;
}

static int list(struct cli *cli)
{
    return show(cli, NULL);
}

static int get(struct cli *cli)
{
    return show(cli, cli->arguments[0]);
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary = "Lists the agents that are alive: capacity, latency, errors and circuits.",
        .examples = "reeve agents list\nreeve agents list --output json",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = list,
    },
    {
        .name = "get",
        .arguments = "AGENT",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "Shows the instances of an agent that are alive. Exit code 1: none is.",
        .examples = "reeve agents get carrier-a",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = get,
    },
};

const struct cli_noun cli_agents = {"agents", "Agents and their health.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
