/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule delete`. */
#include "cli/output.h"
#include "cli/schedule/verbs.h"

static const struct output_column columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"RESULT", "result", output_value, false},
    {0},
};

/* Also one that cannot be read. */
static int remove_schedule(struct cli *cli, struct deployed_schedules *deployed)
{
    struct error error;
    struct text name = text_of(cli->arguments[0]);
    const struct schedule_registry *registry = deployed_schedules_registry(deployed);
    const struct schedule_entry *entry = schedule_registry_find(registry, name);
    if (entry == NULL) {
        schedule_registry_get(registry, name, &entry, &error);
        cli_report(cli, error.code, "%s", error.message);
        return EXIT_CODE_NEGATIVE;
    }
    if (deployed_schedules_write(deployed, name, NULL, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    return output_one(
        cli, columns,
        json_pack("{s:s%, s:s}", "schedule", name.data, (size_t)name.size, "result", "deleted"));
}

int schedule_delete_run(struct cli *cli, struct cli_session *session)
{
    struct error error;
    struct deployed_schedules deployed;
    if (deployed_schedules_init(&deployed, session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = remove_schedule(cli, &deployed);
    deployed_schedules_deinit(&deployed);
    return code;
}

int schedule_run_delete(struct cli *cli)
{
    return schedule_run_in_session(cli, schedule_delete_run);
}
