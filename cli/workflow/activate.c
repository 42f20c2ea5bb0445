/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow activate`, `rollback` and `retire`: which version new orders take. */
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/workflow/verbs.h"

#include <stdlib.h>

static const struct output_column columns[] = {
    {"WORKFLOW", "workflow", output_value, false},
    {"VERSION", "version", output_value, true},
    {"RESULT", "result", output_value, false},
    {0},
};

int workflow_change_run(struct cli *cli, struct cli_session *session, enum workflow_change what,
                        struct text name, uint32_t version)
{
    struct error error = {0};
    char warning[ERROR_MESSAGE_SIZE];
    const struct workflow_registry *registry = session->cluster->workflows;
    const struct workflow_entry *entry = NULL;
    struct text by = text_of(cli_flag_value(cli, "by"));
    struct text reason = text_of(cli_flag_value(cli, "reason"));
    bool active = what != WORKFLOW_RETIRE;
    if (workflow_lifecycle_check(registry, what, name, version, &entry, &error) != ERROR_OK) {
        cli_report_named(cli, error_name_of(&error), "%s", error.message);
        return EXIT_CODE_NEGATIVE;
    }
    const struct workflow *before = active ? workflow_activation_before(registry, entry) : NULL;
    if (workflow_activate(session, name, entry->definition.version, active, by, reason, &error) !=
        ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    output_row(output,
               json_pack("{s:s%, s:i, s:s}", "workflow", name.data, (size_t)name.size, "version",
                         (int)entry->definition.version, "result", active ? "active" : "retired"));
    workflow_warn_of_changes(cli, before, entry->workflow);
    if (workflow_lifecycle_retired_active(registry, entry, warning, sizeof(warning)))
        cli_warn(cli, CODE_RETIRED_ACTIVE, "%s", warning);
    return output_finish(output, EXIT_CODE_OK);
}

/* The command line's flags are good; the session follows workflows. */
static bool begin(struct cli *cli, struct cli_session *session, int *ret_code)
{
    struct error error = {0};
    struct text by = text_of(cli_flag_value(cli, "by"));
    struct text reason = text_of(cli_flag_value(cli, "reason"));
    if (reason.size == 0 || reason.size > MESSAGE_BYTES_MAX || !utf8_printable(reason) ||
        by.size > WHO_BYTES_MAX || !utf8_printable(by)) {
        *ret_code = cli_usage(cli,
                              "--reason TEXT is required, at most %d bytes; it and --by must be "
                              "printable UTF-8: they stay in the topic",
                              MESSAGE_BYTES_MAX);
        return false;
    }
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, session, &error) == ERROR_OK)
        return true;
    *ret_code = cli_fail(cli, &error);
    return false;
}

int workflow_run_change(struct cli *cli)
{
    enum workflow_change what = *(const enum workflow_change *)cli->verb->of;
    struct cli_session session;
    struct text name;
    uint32_t version;
    int code = EXIT_CODE_NEGATIVE;
    bool names_version = what != WORKFLOW_ROLLBACK;
    if (!workflow_parse_name(cli->arguments[0], &name, &version) || (version != 0) != names_version)
        return cli_usage(cli, "\"%.80s\": expected %s", cli->arguments[0],
                         names_version ? "NAME:VERSION" : "NAME");
    if (!begin(cli, &session, &code))
        return code;
    code = workflow_change_run(cli, &session, what, name, version);
    cli_session_close(&session);
    return code;
}
