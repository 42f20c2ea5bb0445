/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve partition waiting`: the commands that no scheduler has decided. Where they begin is in the
 * log, which is folded here, so that this works while no service runs. What is in the commands may
 * be of anyone; of a record that cannot be decoded only its key is shown, and why. */
#include "base/heap_arena.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/partition/partition.h"
#include "cli/partition/state.h"
#include "schemas/json/json_codec.h"

#include <inttypes.h>

enum { ANSWER_MS = 15000, ARENA_BYTES = 64 * 1024 };

static const struct output_column columns[] = {
    {"OFFSET", "offset", output_value, true},
    {"APPENDED (UTC)", "appended_at", output_time_ms, false},
    {"COMMAND", "kind", output_value, false},
    {"ORDER", "order_id", output_value, false},
    {"FROM", "by", output_value, false},
    {"PROBLEM", "problem", output_value, false},
    {0},
};

struct waiting_list {
    struct cli *cli;
    struct cli_session *session;
    struct output *output;
    struct heap_arena heap; /* of one record */
    int64_t next;
    int64_t end;
    uint32_t shown;
};

/* ---- one command ---- */

/* The token, the application, the operator or the instance that asks. */
static struct text asker_of(const struct command *cmd)
{
    if (cmd->kind != COMMAND_SUBMIT_ORDER)
        return command_asker(cmd);
    return text_empty(cmd->submit_order.submitted_by) ? cmd->submit_order.reply_to
                                                      : cmd->submit_order.submitted_by;
}

static void describe(json_t *row, const struct command *cmd)
{
    json_object_set_new(row, "kind",
                        json_string(record_kind_name((enum record_kind)(int)cmd->kind)));
    json_object_set_new(row, "order_id", json_codec_text_or_null(cmd->order_id));
    json_object_set_new(row, "by", json_codec_text_or_null(asker_of(cmd)));
    json_object_set_new(row, "problem", json_null());
}

static void describe_unknown(json_t *row, struct text key, const char *problem)
{
    bool is_id = key.size <= ORDER_ID_BYTES_MAX && utf8_printable(key);
    json_object_set_new(row, "kind", json_null());
    json_object_set_new(row, "order_id", is_id ? json_codec_text_or_null(key) : json_null());
    json_object_set_new(row, "by", json_null());
    json_object_set_new(row, "problem", json_codec_text(text_of(problem)));
}

static json_t *row_at(int64_t offset, int64_t timestamp)
{
    return json_pack("{s:I, s:o}", "offset", (json_int_t)offset, "appended_at",
                     timestamp > 0 ? json_codec_time(timestamp) : json_null());
}

/* ---- reading ---- */

/* False: nothing more is wanted. */
static bool show(struct waiting_list *waiting, json_t *row, int64_t next)
{
    output_row(waiting->output, row);
    waiting->shown++;
    return next < waiting->end && waiting->shown < PARTITION_WAITING_MAX;
}

static bool on_record(void *ctx, const struct broker_record *record)
{
    struct waiting_list *waiting = ctx;
    struct record decoded;
    struct error error;
    json_t *row = row_at(record->offset, record->timestamp);
    heap_arena_reset(&waiting->heap);
    if (record->value.data == NULL)
        describe_unknown(row, record->key, "the record is empty");
    else if (codec_decode(waiting->session->cluster->codec, record->value, true,
                          &waiting->heap.arena, &decoded, &error) != ERROR_OK)
        describe_unknown(row, record->key, error.message);
    else if (!record_kind_is_command(decoded.kind))
        describe_unknown(row, record->key, "the record is not a command");
    else
        describe(row, &decoded.command);
    return show(waiting, row, record->offset + 1);
}

static bool on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    json_t *row = row_at(offset, 0);
    describe_unknown(row, (struct text){0}, "the batch of records is broken");
    return show(ctx, row, next_offset);
}

static int read_commands(struct waiting_list *waiting, int32_t partition)
{
    struct error error;
    struct cli_reading commands = {.topic = waiting->session->cluster->topics.commands,
                                   .partition = partition,
                                   .next = waiting->next,
                                   .timeout_ms = ANSWER_MS,
                                   .record = on_record,
                                   .unreadable = on_unreadable,
                                   .ctx = waiting};
    enum error_class class = cli_session_read(waiting->session, &commands, &error);
    waiting->next = commands.next;
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(waiting->cli, &error);
}

int partition_show_waiting(struct cli *cli, struct cli_session *session, int32_t partition)
{
    struct error error;
    struct partition_state state;
    char text[ERROR_MESSAGE_SIZE];
    int code = EXIT_CODE_OK;
    if (partition_state_read(cli, session, partition, &state, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum partition_trouble trouble = partition_trouble_of(&state);
    partition_trouble_text(&state, text, sizeof(text));
    if (trouble != PARTITION_WORKS)
        cli_warn(cli, CODE_PARTITION_STOPPED, "partition %" PRId32 ": %s", partition, text);
    int64_t next = state.checkpoint.next_command_offset;
    struct waiting_list waiting = {.cli = cli,
                                   .session = session,
                                   .next = next > state.commands_low ? next : state.commands_low,
                                   .end = state.commands_high};
    heap_arena_init(&waiting.heap, ARENA_BYTES);
    waiting.output = output_new(cli, columns);
    if (waiting.next < waiting.end)
        code = read_commands(&waiting, partition);
    code = output_finish(waiting.output, code);
    if (code == EXIT_CODE_OK && cli->output == CLI_OUTPUT_TABLE && waiting.next < waiting.end)
        fprintf(cli->err, "%" PRId64 " more wait.\n", waiting.end - waiting.next);
    heap_arena_deinit(&waiting.heap);
    return code;
}

int partition_run_waiting(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    int64_t partition = 0;
    if (!number_parse(text_of(cli->arguments[0]), 0, INT32_MAX, &partition))
        return cli_usage(cli, "PARTITION is the number of a partition, as in 3");
    if (cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code;
    if (partition < session.cluster->partition_count)
        code = partition_show_waiting(cli, &session, (int32_t)partition);
    else {
        error_set(&error, CODE_NO_PARTITION, "partition %" PRId64 " does not exist: there are %d",
                  partition, session.cluster->partition_count);
        code = cli_fail(cli, &error);
    }
    cli_session_close(&session);
    return code;
}
