/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve partition reset`: lets a stopped partition continue, by a record in the log. */
#include "cli/session.h"

#include "replica/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/random.h>

enum { ANSWER_MS = 15000 };

struct reset {
    bool done;
    int64_t offset;
    int64_t low;
    int64_t high;
    struct error error;
};

static bool is_done(void *ctx)
{
    const struct reset *reset = ctx;
    return reset->done;
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct reset *reset = ctx;
    reset->low = low;
    reset->high = high;
    if (error != NULL)
        reset->error = *error;
    reset->done = true;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct reset *reset = ctx;
    (void)token;
    reset->offset = offset;
    if (error != NULL)
        reset->error = *error;
    reset->done = true;
}

static enum error_class wait_for(struct cli_session *session, struct reset *reset,
                                 struct error *ret_error)
{
    if (!cli_session_wait(session, is_done, reset, ANSWER_MS))
        return error_set(ret_error, ERROR_RETRY, "NoAnswer", "the broker does not answer");
    reset->done = false;
    if (!error_is(&reset->error))
        return ERROR_OK;
    *ret_error = reset->error;
    return reset->error.class;
}

/* The next command must be one that the topic holds, or the one after the last. */
static enum error_class check_next(struct cli_session *session, int32_t partition, int64_t next,
                                   struct reset *reset, struct error *ret_error)
{
    broker_offsets(session->cluster->broker, session->cluster->topics.commands, partition,
                   on_offsets, reset);
    enum error_class class = wait_for(session, reset, ret_error);
    if (class == ERROR_OK && (next < reset->low || next > reset->high))
        class = error_set(
            ret_error, ERROR_REJECT, "OutOfRange",
            "%s[%d] holds the offsets %" PRId64 " to %" PRId64
            ": --next-command must be one of them, or %" PRId64 " to continue with new commands",
            session->cluster->topics.commands, partition, reset->low, reset->high - 1, reset->high);
    return class;
}

static enum error_class append_claim(struct cli *cli, struct cli_session *session,
                                     int32_t partition, int64_t next, struct reset *reset,
                                     struct error *ret_error)
{
    struct claim claim = {.instance = text_of(session->context.instance_id),
                          .claimed_at = clock_wall_ms(session->context.clock),
                          .partition_count = session->cluster->partition_count,
                          .has_reset = true};
    claim.reset.next_command_offset = next;
    claim.reset.by = text_of(cli_flag_value(cli, "by"));
    claim.reset.reason = text_of(cli_flag_value(cli, "reason"));
    ssize_t random = getrandom(claim.claim_id.bytes, sizeof(claim.claim_id.bytes), 0);
    assert(random == (ssize_t)sizeof(claim.claim_id.bytes));
    enum error_class class = cluster_append(
        session->cluster, BROKER_PRODUCER_LOG, session->cluster->topics.events, partition,
        claim.instance, RECORD_CLAIM, &claim, on_appended, reset, 0, ret_error);
    return class != ERROR_OK ? class : wait_for(session, reset, ret_error);
}

static int run(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    struct reset reset = {0};
    int64_t partition = -1;
    int64_t next = -1;
    const char *by = cli_flag_value(cli, "by");
    const char *reason = cli_flag_value(cli, "reason");
    if (cli_flag_int(cli, "partition", -1, 0, INT32_MAX, &partition, &error) != ERROR_OK ||
        cli_flag_int(cli, "next-command", -1, 0, INT64_MAX, &next, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (partition < 0 || next < 0 || by == NULL || reason == NULL)
        return cli_usage(cli,
                         "--partition, --next-command, --by and --reason are required: the log "
                         "keeps who did this, and why");
    if (strlen(by) > WHO_BYTES_MAX || strlen(reason) > MESSAGE_BYTES_MAX)
        return cli_usage(cli, "the limit of --by is %d bytes, of --reason %d", WHO_BYTES_MAX,
                         MESSAGE_BYTES_MAX);
    if (cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum error_class class = ERROR_OK;
    if (partition >= session.cluster->partition_count)
        class = error_set(&error, ERROR_REJECT, "NoPartition",
                          "partition %" PRId64 " does not exist: there are %d", partition,
                          session.cluster->partition_count);
    if (class == ERROR_OK)
        class = check_next(&session, (int32_t)partition, next, &reset, &error);
    if (class == ERROR_OK)
        class = append_claim(cli, &session, (int32_t)partition, next, &reset, &error);
    if (class == ERROR_OK)
        fprintf(cli->out,
                "partition %" PRId64 " goes on with command %" PRId64 " (recorded in %s at offset "
                "%" PRId64 ")\n",
                partition, next, session.cluster->topics.events, reset.offset);
    cli_session_close(&session);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

static const struct cli_flag flags[] = {
    {"partition", "N", "The stopped partition."},
    {"next-command", "OFFSET", "The offset in the commands topic at which its owner continues."},
    {"by", "WHO", "Who decided this; stays in the log."},
    {"reason", "TEXT", "Why; stays in the log."},
    {0}};

static const struct cli_verb verbs[] = {
    {.name = "reset",
     .summary = "Lets a stopped partition continue at a command that an operator chooses.",
     .examples = "# the commands topic was created again: continue at its start\n"
                 "reeve partition reset --partition 3 --next-command 0 --by ann --reason "
                 "'topic restored'\n",
     .flags = flags,
     .config_services = SETTINGS_CLI,
     .run = run}};

const struct cli_noun cli_partition = {
    .name = "partition", .summary = "Stopped partitions.", .verbs = verbs, .verb_count = 1};
