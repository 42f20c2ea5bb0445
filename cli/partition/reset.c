/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve partition reset`: lets a stopped partition continue, by a record in its log. The record is
 * a compare-and-set on its own offset, so it is void if anything else was written meanwhile. */
#include "base/numbers.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/partition/partition.h"
#include "cli/partition/skip_check.h"
#include "cli/partition/state.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

enum { ANSWER_MS = 15000 };

struct reset_answer {
    bool done;
    int64_t offset;
    struct error error;
};

static bool is_done(void *ctx)
{
    const struct reset_answer *answer = ctx;
    return answer->done;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct reset_answer *answer = ctx;
    (void)token;
    answer->offset = offset;
    if (error != NULL)
        answer->error = *error;
    answer->done = true;
}

/* ---- what is asked for ---- */

static enum error_class take_skip(const char *text, struct partition_reset *reset,
                                  struct error *ret_error)
{
    struct text rest = text_of(text);
    uint64_t from = 0;
    uint64_t to = 0;
    bool good = number_take(&rest, INT64_MAX, &from) && rest.size > 1 && rest.data[0] == '-';
    if (good) {
        rest = (struct text){rest.data + 1, rest.size - 1};
        good = number_take(&rest, INT64_MAX, &to) && rest.size == 0 && from < to;
    }
    if (!good)
        return error_set(ret_error, CODE_USAGE,
                         "--skip is FROM-TO, as in 17-18: the first offset of events to skip and "
                         "the first that counts again");
    reset->has_skip = true;
    reset->skip.from = (int64_t)from;
    reset->skip.to = (int64_t)to;
    return ERROR_OK;
}

static enum error_class take_newest(const char *text, struct partition_reset *reset,
                                    struct error *ret_error)
{
    if (strcmp(text, "now") == 0) {
        reset->newest_decided_at = reset->reset_at;
        return ERROR_OK;
    }
    if (rfc3339_parse(text_of(text), &reset->newest_decided_at) && reset->newest_decided_at > 0)
        return ERROR_OK;
    return error_set(ret_error, CODE_USAGE,
                     "--newest-decision is `now`, or a time such as 2010-12-01T08:26:00Z");
}

static enum error_class take_flags(struct cli *cli, int64_t *ret_partition,
                                   struct partition_reset *reset, struct error *ret_error)
{
    const char *skip = cli_flag_value(cli, "skip");
    const char *newest = cli_flag_value(cli, "newest-decision");
    const char *by = cli_flag_value(cli, "by");
    const char *reason = cli_flag_value(cli, "reason");
    *reset = (struct partition_reset){.next_command_offset = -1,
                                      .by = text_of(by),
                                      .reason = text_of(reason),
                                      .reset_at = clock_wall_ms(clock_real())};
    enum error_class class =
        cli_flag_int(cli, "partition", -1, 0, INT32_MAX, ret_partition, ret_error);
    if (class == ERROR_OK)
        class = cli_flag_int(cli, "next-command", -1, 0, INT64_MAX, &reset->next_command_offset,
                             ret_error);
    if (class == ERROR_OK && skip != NULL)
        class = take_skip(skip, reset, ret_error);
    if (class == ERROR_OK && newest != NULL)
        class = take_newest(newest, reset, ret_error);
    if (class != ERROR_OK)
        return class;
    if (*ret_partition < 0 || by == NULL || reason == NULL || *by == '\0' || *reason == '\0')
        return error_set(ret_error, CODE_USAGE,
                         "--partition, --by and --reason are required: the log keeps who did "
                         "this, and why");
    if (reset->next_command_offset < 0 && skip == NULL && newest == NULL)
        return error_set(ret_error, CODE_USAGE,
                         "one of --next-command, --skip and --newest-decision is required");
    if (strlen(by) > WHO_BYTES_MAX || strlen(reason) > MESSAGE_BYTES_MAX ||
        !utf8_printable(reset->by) || !utf8_printable(reset->reason))
        return error_set(ret_error, CODE_USAGE,
                         "--by is printable UTF-8 of at most %d bytes, --reason of at most %d",
                         WHO_BYTES_MAX, MESSAGE_BYTES_MAX);
    return ERROR_OK;
}

/* ---- what it would do ---- */

static void explain(struct cli *cli, int64_t partition, const struct partition_state *state,
                    const struct partition_reset *reset)
{
    char text[ERROR_MESSAGE_SIZE];
    int64_t next = state->checkpoint.next_command_offset;
    partition_trouble_text(state, text, sizeof(text));
    fprintf(cli->out, "partition %" PRId64 ": ", partition);
    output_text(cli->out, text, 0);
    fputs(".\nThe reset\n", cli->out);
    if (reset->has_skip)
        fprintf(cli->out,
                "- skips the records %" PRId64 " to %" PRId64 " of events: no Decision in them "
                "counts; services that have folded one fold again from the beginning\n",
                reset->skip.from, reset->skip.to - 1);
    if (reset->next_command_offset > next)
        fprintf(cli->out,
                "- continues with command %" PRId64 ": the commands %" PRId64 " to %" PRId64
                " are never decided\n",
                reset->next_command_offset, next, reset->next_command_offset - 1);
    else if (reset->next_command_offset == next)
        fprintf(cli->out, "- continues with command %" PRId64 ", as the log does\n", next);
    else if (reset->next_command_offset >= 0)
        fprintf(cli->out,
                "- continues with command %" PRId64 ", which is before the next one, %" PRId64 "\n",
                reset->next_command_offset, next);
    if (reset->newest_decided_at > 0) {
        char from[RFC3339_TEXT_SIZE], to[RFC3339_TEXT_SIZE];
        rfc3339_format(state->checkpoint.newest_decided_at, from);
        rfc3339_format(reset->newest_decided_at, to);
        fprintf(cli->out, "- lowers the newest decided_at from %s to %s\n", from, to);
    }
    if (state->checkpoint.has_claim)
        fputs("- ends the present claim: a scheduler claims the partition again\n", cli->out);
}

static bool is_confirmed(struct cli *cli, int64_t partition, struct error *ret_error)
{
    char line[32];
    char expected[32];
    if (cli_flag_given(cli, "yes"))
        return true;
    if (!isatty(STDIN_FILENO)) {
        error_set(ret_error, CODE_USAGE,
                  "--yes is required where no terminal can confirm the reset");
        return false;
    }
    snprintf(expected, sizeof(expected), "%" PRId64 "\n", partition);
    fprintf(cli->out, "Type the number of the partition to reset it: ");
    fflush(cli->out);
    if (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, expected) == 0)
        return true;
    error_set(ret_error, CODE_NOT_CONFIRMED, "nothing was reset");
    return false;
}

/* ---- doing it ---- */

static int append(struct cli *cli, struct cli_session *session, int64_t partition,
                  const struct partition_reset *reset)
{
    struct reset_answer answer = {.offset = -1};
    struct error error = {0};
    if (cluster_append(session->cluster, BROKER_PRODUCER_LOG, session->cluster->topics.events,
                       (int32_t)partition, reset->by, RECORD_RESET, reset, on_appended, &answer, 0,
                       &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (!cli_session_wait(session, is_done, &answer, ANSWER_MS))
        error_set(&answer.error, CODE_NO_ANSWER,
                  "the broker does not answer; if the reset arrives at offset %" PRId64
                  ", it takes effect",
                  reset->expected_offset);
    if (error_is(&answer.error))
        return cli_fail(cli, &answer.error);
    if (answer.offset != reset->expected_offset) {
        cli_report(cli, CODE_RESET_VOID,
                   "the reset is void: it is at offset %" PRId64 " of the log, not at %" PRId64
                   ", because something else was written meanwhile. The partition may work; look "
                   "at it again",
                   answer.offset, reset->expected_offset);
        return EXIT_CODE_NEGATIVE;
    }
    fprintf(cli->out, "partition %" PRId64 " is reset (recorded in %s at offset %" PRId64 ")\n",
            partition, session->cluster->topics.events, answer.offset);
    return EXIT_CODE_OK;
}

static int reset_partition(struct cli *cli, struct cli_session *session, int64_t partition,
                           struct partition_reset *reset)
{
    struct error error;
    struct partition_state state;
    if (partition >= session->cluster->partition_count) {
        error_set(&error, CODE_NO_PARTITION, "partition %" PRId64 " does not exist: there are %d",
                  partition, session->cluster->partition_count);
        return cli_fail(cli, &error);
    }
    if (partition_state_read(cli, session, (int32_t)partition, &state, &error) != ERROR_OK ||
        partition_reset_check(&state, reset, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct skip_check check = {.low = state.events_low, .end = state.events_end};
    if (reset->has_skip && (skip_check_read(session, (int32_t)partition, reset, &state.checkpoint,
                                            &check, &error) != ERROR_OK ||
                            skip_check_verdict(&check, reset, &error) != ERROR_OK))
        return cli_fail(cli, &error);
    reset->expected_offset = state.events_end;
    explain(cli, partition, &state, reset);
    if (cli_flag_given(cli, "dry-run")) {
        fputs("Nothing was written (--dry-run).\n", cli->out);
        return EXIT_CODE_OK;
    }
    if (!is_confirmed(cli, partition, &error))
        return cli_fail(cli, &error);
    return append(cli, session, partition, reset);
}

int partition_run_reset(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    struct partition_reset reset;
    int64_t partition = -1;
    if (take_flags(cli, &partition, &reset, &error) != ERROR_OK)
        return error.code == CODE_USAGE ? cli_usage(cli, "%s", error.message)
                                        : cli_fail(cli, &error);
    if (cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = reset_partition(cli, &session, partition, &reset);
    cli_session_close(&session);
    return code;
}
