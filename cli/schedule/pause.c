/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule pause` and `resume`. */
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/schedule/verbs.h"
#include "cli/user.h"
#include "schedule/lifecycle.h"

static const struct output_column columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"RESULT", "result", output_value, false},
    {0},
};

static int change(struct cli *cli, struct deployed_schedules *deployed, bool pause)
{
    char user[WHO_BYTES_MAX];
    struct error error;
    struct schedule_definition definition;
    struct text name = text_of(cli->arguments[0]);
    const char *by = cli_flag_value(cli, "by");
    cli_user_at_host(user);
    const struct schedule_author author = {.by = text_of(by != NULL && by[0] != '\0' ? by : user),
                                           .reason = text_of(cli_flag_value(cli, "reason")),
                                           .at = clock_wall_ms(deployed->session->context.clock)};
    if (schedule_pause(deployed_schedules_registry(deployed), name, pause, &author, &definition,
                       &error) != ERROR_OK) {
        cli_report(cli, error.code, "%s", error.message);
        return EXIT_CODE_NEGATIVE;
    }
    if (deployed_schedules_write(deployed, name, &definition, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    return output_one(cli, columns,
                      json_pack("{s:s%, s:s}", "schedule", name.data, (size_t)name.size, "result",
                                pause ? "paused" : "active"));
}

int schedule_pause_run(struct cli *cli, struct cli_session *session)
{
    struct error error;
    struct deployed_schedules deployed;
    if (deployed_schedules_init(&deployed, session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = change(cli, &deployed, *(const bool *)cli->verb->of);
    deployed_schedules_deinit(&deployed);
    return code;
}

int schedule_run_pause(struct cli *cli)
{
    struct text by = text_of(cli_flag_value(cli, "by"));
    struct text reason = text_of(cli_flag_value(cli, "reason"));
    if (reason.size == 0 || reason.size > MESSAGE_BYTES_MAX || !utf8_printable(reason) ||
        by.size > WHO_BYTES_MAX || !utf8_printable(by))
        return cli_usage(cli,
                         "--reason TEXT is required, at most %d bytes; it and --by must be "
                         "printable UTF-8: they stay in the topic",
                         MESSAGE_BYTES_MAX);
    return schedule_run_in_session(cli, schedule_pause_run);
}
