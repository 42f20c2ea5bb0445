/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve owners`: the owner of each partition, its position and its state. */
#include "cli/console/console_client.h"
#include "cli/field.h"
#include "cli/output.h"

#include <string.h>

/* "5m ago by ann: why", or nothing. */
static json_t *reset_text(const json_t *reset)
{
    if (!json_is_object(reset))
        return NULL;
    json_t *age = output_age(json_object_get(reset, "reset_at"));
    json_t *text = json_sprintf("%s ago by %s: %s", json_string_value(age), field_text(reset, "by"),
                                field_text(reset, "reason"));
    json_decref(age);
    return text;
}

/* "OK", or what is wrong: a class, a code and a sentence. */
static json_t *status_of(const json_t *owner)
{
    const char *stopped = json_string_value(json_object_get(owner, "stopped"));
    const json_t *alert = json_object_get(owner, "alert");
    const char *verdict = json_string_value(json_object_get(owner, "verdict"));
    if (stopped != NULL)
        return json_sprintf("stopped: %s: %s", stopped, field_text(owner, "stopped_reason"));
    if (!json_is_object(json_object_get(owner, "claim")))
        return json_string("no owner yet");
    if (verdict != NULL && strcmp(verdict, "ok") != 0)
        return json_sprintf("%s: %s", verdict, field_text(owner, "verdict_reason"));
    if (json_is_object(alert))
        return json_sprintf("alert: %s: %s", field_text(alert, "code"),
                            field_text(alert, "message"));
    if (field_int(owner, "fold_lag") > 1000)
        return json_sprintf("the console is %lld records behind", field_int(owner, "fold_lag"));
    return json_string("OK");
}

#define OWNER_COLUMNS                                                                             \
    {"PARTITION", "partition", output_value, true},                                               \
        {"OWNER", "claim.instance", output_value, false},                                         \
        {"CLAIMED", "claim.claimed_at", output_age, true},                                        \
        {"DECISIONS", "claim.decisions", output_value, true},                                     \
        {"NEXT COMMAND", "next_command", output_value, true}, {"LAG", "lag", output_value, true}, \
        {"DECIDED", "last_decided_at", output_age, true},                                         \
        {"SKIPPED", "skipped", output_value, true},                                               \
    {                                                                                             \
        "STATUS", "", status_of, false                                                            \
    }

static const struct output_column columns[] = {OWNER_COLUMNS, {0}};
/* The last column is for what rarely happened. */
static const struct output_column reset_columns[] = {
    OWNER_COLUMNS, {"LAST RESET", "reset", reset_text, false}, {0}};

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
    code = output_list(cli, has_reset(owners) ? reset_columns : columns, owners);
    console_answer_deinit(&answer);
    return code;
}

static const struct cli_verb verbs[] = {
    {
        .summary =
            "Shows the owner of each partition, its position, its lag, and what is wrong. JSON "
            "also has claims, handovers, replay and stores.",
        .examples = "reeve owners\nreeve owners --output json",
        .flags = console_flags,
        .run = run,
    },
};

const struct cli_noun cli_owners = {"owners", "Owners of partitions.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
