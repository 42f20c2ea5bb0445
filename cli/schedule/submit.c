/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule trigger` and `backfill`: submit orders of ticks, as the leader of schedules
 * would. */
#include "base/rfc3339.h"
#include "cli/output.h"
#include "cli/schedule/verbs.h"
#include "cli/submit/sender.h"
#include "replica/schedules/schedule_json.h"
#include "schedule/lifecycle.h"
#include "schedule/tick_order.h"

static const struct output_column columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"TICK", "tick", output_value, false},
    {"ORDER", "order_id", output_value, false},
    {0},
};

/* NULL is `sender` of a dry run. */
static enum error_class submit_tick(const struct cli_session *session, struct sender *sender,
                                    const struct schedule *schedule, int64_t tick,
                                    struct error *ret_error)
{
    struct heap_arena *scratch = &session->cluster->scratch;
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER};
    heap_arena_reset(scratch);
    enum error_class class = tick_order(schedule, session->cluster->workflows, tick,
                                        &scratch->arena, &cmd.submit_order, ret_error);
    if (class != ERROR_OK || sender == NULL)
        return class;
    cmd.order_id = cmd.submit_order.order_id;
    return sender_send(sender, -1, cmd.order_id, RECORD_SUBMIT_ORDER, &cmd, ret_error);
}

static int submit(struct cli *cli, struct cli_session *session, const struct schedule *schedule,
                  const int64_t *ticks, uint32_t count)
{
    struct error error;
    struct sender *sender = NULL;
    enum error_class class = ERROR_OK;
    if (!cli_flag_given(cli, "dry-run"))
        sender = sender_new(session, session->cluster->topics.submissions, NULL, NULL);
    for (uint32_t i = 0; i < count && class == ERROR_OK; i++)
        class = submit_tick(session, sender, schedule, ticks[i], &error);
    if (class == ERROR_OK && sender != NULL)
        class = sender_flush(sender, &error);
    if (sender != NULL)
        sender_free(sender);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    for (uint32_t i = 0; i < count; i++) {
        json_t *row = schedule_tick_json(schedule, ticks[i]);
        json_object_set_new(row, "schedule",
                            json_stringn(schedule->name.data, schedule->name.size));
        output_row(output, row);
    }
    return output_finish(output, EXIT_CODE_OK);
}

/* Reads the schedule that is named. False: *ret_code says why not. */
static bool begin(struct cli *cli, struct cli_session *session,
                  struct deployed_schedules *ret_deployed, const struct schedule_entry **ret_entry,
                  int *ret_code)
{
    struct error error;
    if (deployed_schedules_init(ret_deployed, session, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    if (schedule_registry_get(deployed_schedules_registry(ret_deployed), text_of(cli->arguments[0]),
                              ret_entry, &error) == ERROR_OK)
        return true;
    cli_report(cli, error.code, "%s", error.message);
    deployed_schedules_deinit(ret_deployed);
    *ret_code = EXIT_CODE_NEGATIVE;
    return false;
}

int schedule_trigger_run(struct cli *cli, struct cli_session *session)
{
    struct deployed_schedules deployed;
    const struct schedule_entry *entry;
    int code;
    if (!begin(cli, session, &deployed, &entry, &code))
        return code;
    int64_t now = deployed_schedules_now(&deployed);
    code = submit(cli, session, entry->schedule, &now, 1);
    deployed_schedules_deinit(&deployed);
    return code;
}

static bool parse_time(const char *argument, int64_t *ret_s)
{
    int64_t ms;
    if (!rfc3339_parse(text_of(argument), &ms))
        return false;
    *ret_s = ms / 1000 - (ms % 1000 < 0);
    return true;
}

int schedule_backfill_run(struct cli *cli, struct cli_session *session)
{
    struct error error;
    struct deployed_schedules deployed;
    const struct schedule_entry *entry;
    int64_t ticks[SCHEDULE_BACKFILL_MAX];
    uint32_t count;
    int64_t from = 0, to = 0;
    int code;
    if (!parse_time(cli->arguments[1], &from) || !parse_time(cli->arguments[2], &to))
        return cli_usage(cli, "FROM and TO must be a time such as 2026-11-24T02:00:00Z, or a date");
    if (!begin(cli, session, &deployed, &entry, &code))
        return code;
    if (schedule_backfill(entry->schedule, from, to, deployed_schedules_now(&deployed), ticks,
                          &count, &error) == ERROR_OK)
        code = submit(cli, session, entry->schedule, ticks, count);
    else
        code = cli_fail(cli, &error);
    deployed_schedules_deinit(&deployed);
    return code;
}

int schedule_run_trigger(struct cli *cli)
{
    return schedule_run_in_session(cli, schedule_trigger_run);
}

int schedule_run_backfill(struct cli *cli)
{
    return schedule_run_in_session(cli, schedule_backfill_run);
}
