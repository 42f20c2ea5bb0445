/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve owners`: the owner of each partition, its position and its state. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "replica/settings.h"

#include <string.h>

static const struct output_column columns[] = {
    {"partition", "PARTITION", true},
    {"owner", "OWNER", false},
    {"claimed", "CLAIMED", true},
    {"decisions", "DECISIONS", true},
    {"next_command", "NEXT COMMAND", true},
    {"lag", "LAG", true},
    {"decided", "DECIDED", true},
    {"skipped", "SKIPPED", true},
    {"status", "STATUS", false},
    {"reset", "LAST RESET", false},
};

/* "5m ago by ann: why", or nothing. */
static json_t *reset_of(const json_t *owner, int64_t now)
{
    const json_t *reset = json_object_get(owner, "reset");
    if (!json_is_object(reset))
        return json_string("");
    json_t *age = output_age(json_object_get(reset, "reset_at"), now);
    json_t *text = json_sprintf("%s ago by %s: %s", json_string_value(age),
                                json_string_value(json_object_get(reset, "by")),
                                json_string_value(json_object_get(reset, "reason")));
    json_decref(age);
    return text;
}

/* "OK", or what is wrong: a class, a code and a sentence. */
static json_t *status_of(const json_t *owner)
{
    const char *stopped = json_string_value(json_object_get(owner, "stopped"));
    const json_t *alert = json_object_get(owner, "alert");
    const char *reason = json_string_value(json_object_get(owner, "stopped_reason"));
    const char *verdict = json_string_value(json_object_get(owner, "verdict"));
    const char *why = json_string_value(json_object_get(owner, "verdict_reason"));
    if (stopped != NULL)
        return json_sprintf("stopped: %s: %s", stopped, reason != NULL ? reason : "");
    if (!json_is_object(json_object_get(owner, "claim")))
        return json_string("no owner yet");
    if (verdict != NULL && strcmp(verdict, "ok") != 0)
        return json_sprintf("%s: %s", verdict, why != NULL ? why : "");
    if (json_is_object(alert))
        return json_sprintf("alert: %s: %s", json_string_value(json_object_get(alert, "code")),
                            json_string_value(json_object_get(alert, "message")));
    if (json_integer_value(json_object_get(owner, "fold_lag")) > 1000)
        return json_sprintf("the console is %lld records behind",
                            (long long)json_integer_value(json_object_get(owner, "fold_lag")));
    return json_string("OK");
}

static json_t *row_of(const json_t *owner, int64_t now)
{
    const json_t *claim = json_object_get(owner, "claim");
    json_t *row = json_object();
    json_object_set(row, "partition", json_object_get(owner, "partition"));
    json_object_set(row, "owner", json_object_get(claim, "instance"));
    json_object_set(row, "decisions", json_object_get(claim, "decisions"));
    json_object_set(row, "next_command", json_object_get(owner, "next_command"));
    json_object_set(row, "lag", json_object_get(owner, "lag"));
    json_object_set(row, "skipped", json_object_get(owner, "skipped"));
    json_object_set_new(row, "claimed", output_age(json_object_get(claim, "claimed_at"), now));
    json_object_set_new(row, "decided", output_age(json_object_get(owner, "last_decided_at"), now));
    json_object_set_new(row, "reset", reset_of(owner, now));
    json_object_set_new(row, "status", status_of(owner));
    return row;
}

static bool has_reset(const json_t *owners)
{
    size_t i;
    const json_t *owner;
    json_array_foreach(owners, i, owner) {
        if (json_is_object(json_object_get(owner, "reset")))
            return true;
    }
    return false;
}

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    console_path_add(&path, "/api/partitions");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    const json_t *owners = json_object_get(answer.json, "partitions");
    /* The last column is for what rarely happened. */
    size_t count = sizeof(columns) / sizeof(columns[0]) - !has_reset(owners);
    code = output_list(cli, columns, count, owners, row_of);
    console_answer_deinit(&answer);
    return code;
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .summary =
            "Shows the owner of each partition, its position, its lag, and what is wrong. JSON "
            "also has claims, handovers, replay and stores.",
        .examples = "reeve owners\nreeve owners --output json",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_owners = {"owners", "Owners of partitions.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
