/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve agents`: the agents that are alive: their capacity, latency, errors and circuits; and
 * pausing and resuming them. */
#include "base/names.h"
#include "cli/console/console_client.h"
#include "cli/console/signature.h"
#include "cli/field.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

/* Only instances have numbers. */
static json_t *milliseconds(const json_t *ms)
{
    return json_is_integer(ms) ? json_sprintf("%lld ms", (long long)json_integer_value(ms)) : NULL;
}

static json_t *percent(const json_t *permille)
{
    long long count = json_integer_value(permille);
    return json_is_integer(permille) ? json_sprintf("%lld.%lld %%", count / 10, count % 10) : NULL;
}

static json_t *instance_or_none(const json_t *instance)
{
    return json_is_string(instance) ? output_value(instance) : json_string("none");
}

/* "by ann, 5m ago: the bank is down", or nothing. */
static json_t *pause_text(const json_t *pause)
{
    if (!json_is_object(pause))
        return NULL;
    const char *by = json_string_value(json_object_get(pause, "by"));
    json_t *age = output_age(json_object_get(pause, "at"));
    json_t *text = json_sprintf("by %s, %s ago: %s", by != NULL ? by : "?", json_string_value(age),
                                field_text(pause, "reason"));
    json_decref(age);
    return text;
}

static json_t *pause_state(const json_t *pause)
{
    return json_string(json_is_object(pause) ? "paused" : "active");
}

static const struct output_column columns[] = {
    {"AGENT", "agent", output_value, false},
    {"INSTANCE", "instance", instance_or_none, false},
    {"CAPACITY", "capacity", output_value, true},
    {"IN FLIGHT", "in_flight", output_value, true},
    {"QUEUED", "queued", output_value, true},
    {"PARTITIONS", "partitions", output_value, true},
    {"P50", "latency_p50_ms", milliseconds, true},
    {"P95", "latency_p95_ms", milliseconds, true},
    {"ERRORS", "errors_permille", percent, true},
    {"CIRCUIT", "circuit", output_value, false},
    {"VERSION", "version", output_value, false},
    {"LAST REPORT", "heard_at", output_age, true},
    {"PAUSED", "paused", pause_text, false},
    {"LAST ERROR", "last_error", output_value, false},
    {0},
};
static const struct output_column pause_columns[] = {
    {"AGENT", "agent", output_value, false},
    {"STATE", "paused", pause_state, false},
    {"BY", "paused.by", output_value, false},
    {"REASON", "paused.reason", output_value, false},
    {"INSTANCES", "instances", output_value, true},
    {0},
};

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
    bool ends =
        json_is_true(json_object_get(version, "retired")) && field_int(orders, "unfinished") == 0;
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

/* Of one agent, or of all. */
static int show(struct cli *cli)
{
    const char *name = cli->argument_count > 0 ? cli->arguments[0] : NULL;
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
    bool old = field_int(answer.json, "data_age_ms") > DATA_AGE_MAX_MS;
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
    code = output_list(cli, columns, list);
    console_answer_deinit(&answer);
    return name != NULL && none && code == EXIT_CODE_OK ? EXIT_CODE_NEGATIVE : code;
}

/* ---- pause and resume ---- */

static void warn_unserved(const struct cli *cli, const json_t *answer, const char *agent)
{
    bool named = field_int(answer, "workflows") > 0;
    if (field_int(answer, "instances") > 0)
        return;
    cli_warn(cli, CODE_NO_INSTANCE, "no instance of agent %s is alive%s", agent,
             named ? "" : ", and no deployed workflow names it: check the spelling");
}

/* The verb is the action. */
static int change(struct cli *cli)
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
    console_path_add(&path, "/");
    console_path_add(&path, cli->verb->name);
    bool answered = console_client_init(cli, &client, &error) == ERROR_OK &&
                    console_query(&client, &path, body, &answer, &error) == ERROR_OK;
    json_decref(body);
    if (!answered)
        return cli_fail(cli, &error);
    if (answer.status == 200) {
        warn_unserved(cli, answer.json, agent);
        struct output *output = output_new(cli, pause_columns);
        output_row(output, json_incref(answer.json));
        code = output_finish(output, EXIT_CODE_OK);
    } else {
        code = console_refused(cli, &answer, agent);
    }
    console_answer_deinit(&answer);
    return code;
}

static const struct cli_flag change_flags[] = {
    SIGNATURE_FLAGS("the topic of agents"), CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary = "Lists the agents: capacity, latency, errors and circuits of each instance that "
                   "is alive. Agents without one are listed if they are paused or a workflow names "
                   "them.",
        .examples = "reeve agents list\nreeve agents list --output json",
        .flags = console_flags,
        .run = show,
    },
    {
        .name = "get",
        .arguments = "AGENT",
        .summary = "Shows the instances of an agent that are alive. Exit code 1: none is.",
        .examples = "reeve agents get carrier-a",
        .flags = console_flags,
        .run = show,
    },
    {
        .name = "pause",
        .arguments = "AGENT",
        .summary =
            "Queues an agent's steps instead of starting them until it is resumed; meanwhile "
            "only orders as a whole time out. Attempts in flight may end. Exit code 1: it is "
            "already paused.",
        .examples = "reeve agents pause carrier-a --reason 'the carrier is down until 14:00'",
        .flags = change_flags,
        .run = change,
    },
    {
        .name = "resume",
        .arguments = "AGENT",
        .summary = "Starts the steps of a paused agent again, as fast as it has free capacity. "
                   "Exit code 1: it is not paused.",
        .examples = "reeve agents resume carrier-a --reason 'the carrier is back'",
        .flags = change_flags,
        .run = change,
    },
};

const struct cli_noun cli_agents = {"agents", "Agents: their health, pausing and resuming them.",
                                    verbs, sizeof(verbs) / sizeof(verbs[0])};
