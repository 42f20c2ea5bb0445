/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve agents`: the agents that are alive: their capacity, latency, errors and circuits; and
 * pausing and resuming them. */
#include "base/names.h"
#include "cli/console/console_client.h"
#include "cli/console/signature.h"
#include "cli/output.h"
#include "replica/settings.h"

#include <stdio.h>
#include <string.h>

static const struct output_column columns[] = {
    {"agent", "AGENT", false},      {"instance", "INSTANCE", false},
    {"capacity", "CAPACITY", true}, {"in_flight", "IN FLIGHT", true},
    {"queued", "QUEUED", true},     {"partitions", "PARTITIONS", true},
    {"p50", "P50", true},           {"p95", "P95", true},
    {"errors", "ERRORS", true},     {"circuit", "CIRCUIT", false},
    {"version", "VERSION", false},  {"age", "LAST REPORT", true},
    {"paused", "PAUSED", false},    {"last_error", "LAST ERROR", false},
};
static const struct output_column pause_columns[] = {
    {"agent", "AGENT", false},   {"state", "STATE", false},        {"by", "BY", false},
    {"reason", "REASON", false}, {"instances", "INSTANCES", true},
};

static void copy(json_t *row, const json_t *agent, const char *name)
{
    json_object_set(row, name, json_object_get(agent, name));
}

static json_t *milliseconds(const json_t *agent, const char *name)
{
    return json_sprintf("%lld ms", (long long)json_integer_value(json_object_get(agent, name)));
}

/* "ann, 5 min ago: the bank is down", or nothing. */
static json_t *pause_text(const json_t *pause, int64_t now)
{
    if (!json_is_object(pause))
        return json_string("");
    const char *by = json_string_value(json_object_get(pause, "by"));
    const char *reason = json_string_value(json_object_get(pause, "reason"));
    json_t *age = output_age(json_object_get(pause, "at"), now);
    json_t *text = json_sprintf("by %s, %s ago: %s", by != NULL ? by : "?",
                                json_is_string(age) ? json_string_value(age) : "?",
                                reason != NULL ? reason : "");
    json_decref(age);
    return text;
}

static json_t *row_of(const json_t *agent, int64_t now)
{
    static const char *const same[] = {"agent",      "instance", "capacity", "in_flight", "queued",
                                       "partitions", "circuit",  "version",  "last_error"};
    long long permille = json_integer_value(json_object_get(agent, "errors_permille"));
    json_t *row = json_object();
    if (!json_is_string(json_object_get(agent, "instance"))) {
        copy(row, agent, "agent");
        json_object_set_new(row, "instance", json_string("none"));
        json_object_set_new(row, "paused", pause_text(json_object_get(agent, "paused"), now));
        return row;
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        copy(row, agent, same[i]);
    json_object_set_new(row, "p50", milliseconds(agent, "latency_p50_ms"));
    json_object_set_new(row, "p95", milliseconds(agent, "latency_p95_ms"));
    json_object_set_new(row, "errors", json_sprintf("%lld.%lld %%", permille / 10, permille % 10));
    json_object_set_new(row, "age", output_age(json_object_get(agent, "heard_at"), now));
    json_object_set_new(row, "paused", pause_text(json_object_get(agent, "paused"), now));
    return row;
}

static bool has_instance(const json_t *list, const char *agent)
{
    size_t i;
    const json_t *row;
    json_array_foreach(list, i, row) {
        const char *name = json_string_value(json_object_get(row, "agent"));
        if (name != NULL && strcmp(name, agent) == 0)
            return true;
    }
    return false;
}

/* Adds those that are paused and have no live instance; `name` NULL: all. */
static void add_pauses(json_t *list, const json_t *pauses, const char *name)
{
    size_t i;
    json_t *pause;
    json_array_foreach(pauses, i, pause) {
        const char *agent = json_string_value(json_object_get(pause, "agent"));
        if (agent == NULL || (name != NULL && strcmp(name, agent) != 0) ||
            has_instance(list, agent))
            continue;
        json_t *row = json_pack("{s:s, s:n, s:O}", "agent", agent, "instance", "paused", pause);
        json_object_del(json_object_get(row, "paused"), "agent");
        json_array_append_new(list, row);
    }
}

static void add_named_by(json_t *list, const json_t *version)
{
    size_t i, k;
    const json_t *step, *agent;
    const json_t *orders = json_object_get(version, "orders");
    bool ends = json_is_true(json_object_get(version, "retired")) &&
                json_integer_value(json_object_get(orders, "unfinished")) == 0;
    if (ends)
        return;
    json_array_foreach(json_object_get(version, "steps"), i, step) {
        json_array_foreach(json_object_get(step, "agents"), k, agent) {
            const char *name = json_string_value(agent);
            if (name != NULL && !has_instance(list, name))
                json_array_append_new(list, json_pack("{s:s, s:n}", "agent", name, "instance"));
        }
    }
}

/* Adds those that workflows in use name and that have no live instance: their steps wait. */
static void add_named(struct cli *cli, json_t *list)
{
    size_t i;
    const json_t *version;
    struct error error;
    struct console_client client;
    struct console_answer answer;
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/workflows");
    if (console_client_init(cli, &client, &error) != ERROR_OK ||
        console_query(&client, &path, NULL, &answer, &error) != ERROR_OK)
        return;
    if (answer.status == 200)
        json_array_foreach(json_object_get(answer.json, "workflows"), i, version)
            add_named_by(list, version);
    console_answer_deinit(&answer);
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
    json_t *list = json_object_get(answer.json, "agents");
    bool none = json_array_size(list) == 0;
    add_pauses(list, json_object_get(answer.json, "pauses"), name);
    /* While the brokers are away, none is known to be absent. */
    bool old = json_integer_value(json_object_get(answer.json, "data_age_ms")) > DATA_AGE_MAX_MS;
    bool complete = !json_is_false(json_object_get(answer.json, "complete"));
    if (name == NULL && json_is_array(list) && complete && !old)
        add_named(cli, list);
    if (name != NULL && none)
        cli_report(cli, CODE_NO_INSTANCE, "no instance of agent %s is alive", name);
    if (name != NULL && json_array_size(list) == 0) {
        console_answer_deinit(&answer);
        return EXIT_CODE_NEGATIVE;
    }
    /* That the data are old was said before. */
    if (!complete && !old)
        cli_warn(cli, CODE_INCOMPLETE, "the console is still reading: some agents may be missing");
    code = output_list(cli, columns, sizeof(columns) / sizeof(columns[0]), list, row_of);
    console_answer_deinit(&answer);
    return name != NULL && none && code == EXIT_CODE_OK ? EXIT_CODE_NEGATIVE : code;
}

static int list(struct cli *cli)
{
    return show(cli, NULL);
}

static int get(struct cli *cli)
{
    return show(cli, cli->arguments[0]);
}

/* ---- pause and resume ---- */

static void warn_unserved(const struct cli *cli, const json_t *answer, const char *agent)
{
    bool named = json_integer_value(json_object_get(answer, "workflows")) > 0;
    if (json_integer_value(json_object_get(answer, "instances")) > 0)
        return;
    cli_warn(cli, CODE_NO_INSTANCE, "no instance of agent %s is alive%s", agent,
             named ? "" : ", and no deployed workflow names it: check the spelling");
}

static int print_pause(const struct cli *cli, const json_t *answer)
{
    const json_t *pause = json_object_get(answer, "paused");
    const char *by = json_string_value(json_object_get(pause, "by"));
    const char *reason = json_string_value(json_object_get(pause, "reason"));
    struct output *output = output_new(cli->out, cli->output, pause_columns,
                                       sizeof(pause_columns) / sizeof(pause_columns[0]));
    json_t *row = json_copy((json_t *)(uintptr_t)answer);
    if (cli->output == CLI_OUTPUT_TABLE) {
        json_object_set_new(row, "state", json_string(json_is_object(pause) ? "paused" : "active"));
        json_object_set_new(row, "by", json_string(by != NULL ? by : ""));
        json_object_set_new(row, "reason", json_string(reason != NULL ? reason : ""));
    }
    output_row(output, row);
    return output_finish(output, EXIT_CODE_OK);
}

static int change(struct cli *cli, const char *action)
{
    struct error error;
    struct console_client client;
    struct console_answer answer;
    struct console_path path = {.size = 0};
    const char *agent = cli->arguments[0];
    int code = EXIT_CODE_OK;
    if (!name_valid(text_of(agent)))
        return cli_usage(cli, "AGENT must be %s", NAME_EXPECTED);
    json_t *body = signature_body(cli, "the topic of agents", &error);
    if (body == NULL)
        return cli_fail(cli, &error);
    console_path_add(&path, "/api/agents/");
    console_path_add_segment(&path, agent);
    console_path_add(&path, action);
    bool answered = console_client_init(cli, &client, &error) == ERROR_OK &&
                    console_query(&client, &path, body, &answer, &error) == ERROR_OK;
    json_decref(body);
    if (!answered)
        return cli_fail(cli, &error);
    if (answer.status == 200) {
        warn_unserved(cli, answer.json, agent);
        code = print_pause(cli, answer.json);
    } else {
        code = console_refused(cli, &answer, agent);
    }
    console_answer_deinit(&answer);
    return code;
}

static int pause_agent(struct cli *cli)
{
    return change(cli, "/pause");
}

static int resume_agent(struct cli *cli)
{
    return change(cli, "/resume");
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};
static const struct cli_flag change_flags[] = {
    SIGNATURE_FLAGS("the topic of agents"), CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary = "Lists the agents: capacity, latency, errors and circuits of each instance that "
                   "is alive. Agents without one are listed if they are paused or a workflow names "
                   "them.",
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
    {
        .name = "pause",
        .arguments = "AGENT",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary =
            "Queues an agent's steps instead of starting them until it is resumed; meanwhile "
            "only orders as a whole time out. Attempts in flight may end. Exit code 1: it is "
            "already paused.",
        .examples = "reeve agents pause carrier-a --reason 'the carrier is down until 14:00'",
        .flags = change_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = pause_agent,
    },
    {
        .name = "resume",
        .arguments = "AGENT",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "Starts the steps of a paused agent again, as fast as it has free capacity. "
                   "Exit code 1: it is not paused.",
        .examples = "reeve agents resume carrier-a --reason 'the carrier is back'",
        .flags = change_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = resume_agent,
    },
};

const struct cli_noun cli_agents = {"agents", "Agents: their health, pausing and resuming them.",
                                    verbs, sizeof(verbs) / sizeof(verbs[0])};
