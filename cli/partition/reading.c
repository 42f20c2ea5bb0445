/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what is to be known of a partition: folds its log, looks at its commands. */
#include "cli/partition/state.h"

#include "cli/scratch.h"
#include "platform/files.h"
#include "replica/follow/follower.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { CACHE_BYTES = 32 * 1024 * 1024, PROGRESS_MS = 500, ANSWER_MS = 15000 };

struct state_reading {
    struct follower *follower;
    struct partition_state *state;
    bool done;
};

static void on_checked(void *ctx)
{
    struct state_reading *reading = ctx;
    follower_run(reading->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct state_reading *reading = ctx;
    reading->done = true;
}

static const struct follower_ops fold_ops = {.checked = on_checked, .caught_up = on_caught_up};

static bool is_folded(void *ctx)
{
    const struct state_reading *reading = ctx;
    return reading->done || follower_is_stuck(reading->follower, NULL, NULL);
}

static void keep_state(struct state_reading *reading)
{
    struct partition_state *state = reading->state;
    const struct error *stop = NULL;
    state->checkpoint = *follower_checkpoint(reading->follower);
    state->stopped_at = state->checkpoint.next_event_offset;
    int64_t at = -1;
    if (!follower_is_stuck(reading->follower, &stop, &at))
        return;
    state->stop = *stop;
    if (at >= 0)
        state->stopped_at = at;
}

static enum error_class fold(struct cli *cli, struct cli_session *session, int32_t partition,
                             const char *path, struct state_reading *reading,
                             struct error *ret_error)
{
    struct store_options store_options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
    struct store_env *stores = store_env_new(&store_options);
    struct view_options options = {
        .env = stores, .codec = session->cluster->codec, .path = path, .cache_bytes = CACHE_BYTES};
    enum error_class class = follower_new(session->cluster, partition, &options, &fold_ops, reading,
                                          &reading->follower, ret_error);
    while (class == ERROR_OK && !cli_session_wait(session, is_folded, reading, PROGRESS_MS))
        if (isatty(STDERR_FILENO))
            fprintf(cli->err, "\r%" PRId64 " records to go ", follower_lag(reading->follower));
    if (class == ERROR_OK)
        keep_state(reading);
    follower_free(reading->follower);
    reading->follower = NULL;
    store_env_free(stores);
    return class;
}

/* ---- the ends of the topics, and the last command ---- */

static bool on_command(void *ctx, const struct broker_record *record)
{
    struct partition_state *state = ctx;
    state->last_command_differs = record->offset == state->checkpoint.last_command_offset &&
                                  record->timestamp != state->checkpoint.last_command_time;
    return false;
}

static bool on_command_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    (void)ctx;
    (void)offset;
    (void)next_offset;
    return false;
}

static enum error_class read_last_command(struct cli_session *session, int32_t partition,
                                          struct partition_state *state, struct error *ret_error)
{
    struct cli_reading commands = {.topic = session->cluster->topics.commands,
                                   .partition = partition,
                                   .next = state->checkpoint.last_command_offset,
                                   .timeout_ms = ANSWER_MS,
                                   .record = on_command,
                                   .unreadable = on_command_unreadable,
                                   .ctx = state};
    if (commands.next < state->commands_low || commands.next >= state->commands_high)
        return ERROR_OK;
    return cli_session_read(session, &commands, ret_error);
}

enum error_class partition_state_read(struct cli *cli, struct cli_session *session,
                                      int32_t partition, struct partition_state *ret_state,
                                      struct error *ret_error)
{
    char scratch[CLI_SCRATCH_SIZE];
    char path[PATH_MAX];
    struct cluster *cluster = session->cluster;
    struct partition_state state = {.now = clock_wall_ms(session->context.clock),
                                    .margin_ms = config_ms(cli->config, "clock.skew.max.ms")};
    struct state_reading reading = {.state = &state};
    enum error_class class = cli_scratch_make("partition", scratch, ret_error);
    if (class != ERROR_OK)
        return class;
    snprintf(path, sizeof(path), "%s/store", scratch);
    class = fold(cli, session, partition, path, &reading, ret_error);
    files_remove_tree(scratch, NULL);
    if (class == ERROR_OK)
        class = cli_session_offsets(session, cluster->topics.events, partition, &state.events_low,
                                    &state.events_end, ret_error);
    if (class == ERROR_OK)
        class = cli_session_offsets(session, cluster->topics.commands, partition,
                                    &state.commands_low, &state.commands_high, ret_error);
    if (class != ERROR_OK)
        return class;
    class = read_last_command(session, partition, &state, ret_error);
    if (class == ERROR_OK)
        *ret_state = state;
    return class;
}
