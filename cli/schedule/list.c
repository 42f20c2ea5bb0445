/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule list` and `get`: what is deployed. */
#include "cli/output.h"
#include "cli/schedule/verbs.h"
#include "replica/schedules/schedule_json.h"

/* "0 3 * * *", "every 15m" */
static json_t *when_of(const json_t *row)
{
    const json_t *cron = json_object_get(row, "cron");
    const json_t *every = json_object_get(row, "every_seconds");
    if (json_is_string(cron))
        return json_string(json_string_value(cron));
    return json_is_integer(every) ? json_sprintf("every %lld s", json_integer_value(every)) : NULL;
}

static json_t *status_of(const json_t *row)
{
    if (!json_is_null(json_object_get(row, "problem")))
        return json_string("unusable");
    return json_string(json_is_null(json_object_get(row, "paused")) ? "active" : "paused");
}

static json_t *pause_of(const json_t *paused)
{
    if (!json_is_object(paused))
        return NULL;
    return json_sprintf("by %s: %s", json_string_value(json_object_get(paused, "by")),
                        json_string_value(json_object_get(paused, "reason")));
}

/* "nightly@2026-11-24T02:00Z  2026-11-24 03:00:00 +01:00", one below the other */
static json_t *ticks_of(const json_t *list)
{
    char text[512] = "";
    size_t used = 0, i;
    const json_t *tick;
    json_array_foreach(list, i, tick) {
        if (used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? ", " : "",
                                     json_string_value(json_object_get(tick, "tick")));
    }
    return json_string(text);
}

/* A change, a pause and a resumption begin the list again: the ticks before belong to what the
 * schedule was. */
static json_t *last_of(const json_t *row)
{
    const json_t *list = json_object_get(row, "last");
    json_t *since = output_time(json_object_get(row, "since"));
    char text[1024] = "";
    size_t used = 0, i;
    const json_t *tick;
    json_array_foreach(list, i, tick) {
        if (used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? ", " : "",
                                     json_string_value(json_object_get(tick, "order_id")));
    }
    json_t *last = json_array_size(list) > 0
                       ? json_string(text)
                       : json_sprintf("none since %s", json_string_value(since));
    json_decref(since);
    return last;
}

static const struct output_column columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"WHEN", "", when_of, false},
    {"ZONE", "time_zone", output_value, false},
    {"WORKFLOW", "workflow", output_value, false},
    {"STATUS", "", status_of, false},
    {"NEXT", "next.0.tick", output_value, false},
    {"BY", "deployed_by", output_value, false},
    {0},
};

static const struct output_column fields[] = {
    {"schedule", "schedule", output_value, false},
    {"when", "", when_of, false},
    {"zone", "time_zone", output_value, false},
    {"workflow", "workflow", output_value, false},
    {"version", "workflow_version", output_value, false},
    {"catch up (s)", "catch_up_seconds", output_value, false},
    {"status", "", status_of, false},
    {"problem", "problem", output_value, false},
    {"paused", "paused", pause_of, false},
    {"next", "next", ticks_of, false},
    {"last", "", last_of, false},
    {"deployed", "deployed_at", output_time, false},
    {"by", "deployed_by", output_value, false},
    {0},
};

int schedule_list_run(struct cli *cli, struct cli_session *session)
{
    struct error error;
    struct deployed_schedules deployed;
    if (deployed_schedules_init(&deployed, session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct schedule_registry *registry = deployed_schedules_registry(&deployed);
    struct output *output = output_new(cli, columns);
    for (uint32_t i = 0; i < schedule_registry_count(registry); i++)
        output_row(output, schedule_entry_json(schedule_registry_at(registry, i),
                                               session->cluster->workflows,
                                               deployed_schedules_now(&deployed)));
    deployed_schedules_deinit(&deployed);
    return output_finish(output, EXIT_CODE_OK);
}

static int show(struct cli *cli, const struct deployed_schedules *deployed,
                const struct schedule_entry *entry)
{
    const struct schedule_definition *definition = &entry->definition;
    json_t *row = schedule_entry_json(entry, deployed->session->cluster->workflows,
                                      deployed_schedules_now(deployed));
    json_object_set_new(row, "format",
                        json_stringn(definition->format.data, definition->format.size));
    json_object_set_new(row, "source", json_stringn(definition->text.data, definition->text.size));
    return output_one(cli, fields, row);
}

int schedule_get_run(struct cli *cli, struct cli_session *session)
{
    struct error error;
    struct deployed_schedules deployed;
    int code = EXIT_CODE_NEGATIVE;
    struct text name = text_of(cli->arguments[0]);
    if (deployed_schedules_init(&deployed, session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    const struct schedule_registry *registry = deployed_schedules_registry(&deployed);
    const struct schedule_entry *entry = schedule_registry_find(registry, name);
    if (entry != NULL) {
        code = show(cli, &deployed, entry);
    } else {
        schedule_registry_get(registry, name, &entry, &error);
        cli_report(cli, error.code, "%s", error.message);
    }
    deployed_schedules_deinit(&deployed);
    return code;
}

int schedule_run_list(struct cli *cli)
{
    return schedule_run_in_session(cli, schedule_list_run);
}

int schedule_run_get(struct cli *cli)
{
    return schedule_run_in_session(cli, schedule_get_run);
}
