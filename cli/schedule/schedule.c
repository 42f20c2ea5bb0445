/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule`: the table of its verbs. */
#include "cli/schedule/verbs.h"
#include "workflow/field_schema.h"

int schedule_run_in_session(struct cli *cli,
                            int (*run)(struct cli *cli, struct cli_session *session))
{
    struct error error = {0};
    struct cli_session session;
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = run(cli, &session);
    cli_session_close(&session);
    return code;
}

static int run_schema(struct cli *cli)
{
    json_t *schema = field_table_schema(&schedule_fields, "A schedule of reeve");
    bool done = json_dumpf(schema, cli->out, JSON_INDENT(2)) == 0 && fputc('\n', cli->out) >= 0 &&
                fflush(cli->out) == 0;
    json_decref(schema);
    return done ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

static const struct cli_flag deploy_flags[] = {
    {"dry-run", NULL, "Only checks the files, and shows the next ticks. Needs no broker."},
    {NULL, NULL, NULL},
};
static const struct cli_flag pause_flags[] = {
    {"reason", "TEXT", "Why; required, and stays in the topic."},
    {"by", "NAME", "Who decides this; by default user@host."},
    {NULL, NULL, NULL},
};
static const struct cli_flag submit_flags[] = {
    {"dry-run", NULL, "Only shows the orders."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "deploy",
        .arguments = "FILE...",
        .summary = "Deploys schedules, or changes them: their ticks count from here on. Explains "
                   "every mistake in the files. One that is paused stays so.",
        .examples = "reeve schedule deploy nightly.yaml --dry-run\n"
                    "reeve schedule deploy nightly.yaml",
        .flags = deploy_flags,
        .run = schedule_run_deploy,
    },
    {
        .name = "schema",
        .summary = "Prints the JSON Schema of files of schedules, for editors. Needs no broker.",
        .examples = "reeve schedule schema > schedule.schema.json",
        .settings = CLI_SETTINGS_NONE,
        .plain = true,
        .run = run_schema,
    },
    {
        .name = "list",
        .summary = "Lists the deployed schedules with their next ticks.",
        .examples = "reeve schedule list\nreeve schedule list --output jsonl",
        .run = schedule_run_list,
    },
    {
        .name = "get",
        .arguments = "NAME",
        .summary = "Shows a schedule: its next ticks, the orders of the last ones, and why it "
                   "submits none, if so.",
        .examples = "reeve schedule get nightly\nreeve schedule get nightly --output json",
        .run = schedule_run_get,
    },
    {
        .name = "pause",
        .arguments = "NAME",
        .summary = "Lets no tick of a schedule be submitted until `resume`. The ticks of a pause "
                   "are not made up.",
        .examples = "reeve schedule pause nightly --reason 'the bank is down'",
        .flags = pause_flags,
        .run = schedule_run_pause,
        .of = &(const bool){true},
    },
    {
        .name = "resume",
        .arguments = "NAME",
        .summary = "Ends the pause of a schedule: its ticks count from here on.",
        .examples = "reeve schedule resume nightly --reason 'the bank is back'",
        .flags = pause_flags,
        .run = schedule_run_pause,
        .of = &(const bool){false},
    },
    {
        .name = "delete",
        .arguments = "NAME",
        .summary = "Removes a schedule. The orders of its ticks stay; deployed again, its ticks "
                   "count from there on.",
        .examples = "reeve schedule delete nightly",
        .run = schedule_run_delete,
    },
    {
        .name = "trigger",
        .arguments = "NAME",
        .summary = "Submits the order of a tick of now, also of a schedule that is paused.",
        .examples = "reeve schedule trigger nightly",
        .flags = submit_flags,
        .run = schedule_run_trigger,
    },
    {
        .name = "backfill",
        .arguments = "NAME FROM TO",
        .summary = "Submits the orders of the ticks from one time to another, both included, as "
                   "the schedule is now. A tick that has an order keeps it.",
        .examples = "reeve schedule backfill nightly 2026-11-01 2026-11-08 --dry-run\n"
                    "reeve schedule backfill nightly 2026-11-01T00:00:00Z 2026-11-01T12:00:00Z",
        .flags = submit_flags,
        .run = schedule_run_backfill,
    },
};

const struct cli_noun cli_schedule = {"schedule", "Orders that are due by the clock.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
