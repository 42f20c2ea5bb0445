/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve replay`: deletes the stores of a stopped service and replays the log into new ones. */
#include "cli/session.h"
#include "platform/files.h"
#include "replica/follow/follower.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_BYTES = 32 * 1024 * 1024, PROGRESS_MS = 500 };

struct replay {
    struct cli *cli;
    struct follower *follower;
    int64_t began_ms;
    bool done;
};

static void on_checked(void *ctx)
{
    struct replay *replay = ctx;
    follower_run(replay->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct replay *replay = ctx;
    replay->done = true;
}

static const struct follower_ops replay_ops = {.checked = on_checked, .caught_up = on_caught_up};

static bool is_done(void *ctx)
{
    const struct replay *replay = ctx;
    return replay->done || follower_is_stuck(replay->follower, NULL, NULL);
}

static void show_progress(const struct replay *replay, int32_t partition)
{
    const struct checkpoint *checkpoint = follower_checkpoint(replay->follower);
    int64_t lag = follower_lag(replay->follower);
    int64_t elapsed = clock_mono_ms(clock_real()) - replay->began_ms;
    int64_t rate = elapsed > 0 ? checkpoint->next_event_offset * 1000 / elapsed : 0;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(replay->cli->err,
            "\rpartition %d: %" PRId64 " records, %" PRId64 "/s, %" PRId64 " to go, ETA %" PRId64
            " s   ",
            partition, checkpoint->next_event_offset, rate, lag, rate > 0 ? lag / rate : 0);
}

static enum error_class replay_partition(struct cli *cli, struct cli_session *session,
                                         struct store_env *stores, const char *service,
                                         int32_t partition, struct error *ret_error)
{
    char path[PATH_MAX];
    struct replay replay = {.cli = cli, .began_ms = clock_mono_ms(clock_real())};
    snprintf(path, sizeof(path), "%s/partition-%d", session->context.data_dir, partition);
    enum error_class class = files_remove_tree(path, ret_error);
    if (class != ERROR_OK)
        return class;
    struct view_options options = {.env = stores,
                                   .codec = session->cluster->codec,
                                   .path = path,
                                   .cache_bytes = CACHE_BYTES,
                                   .deadlines = strcmp(service, "supervisor") == 0,
                                   .history = strcmp(service, "console") == 0};
    class = follower_new(session->cluster, partition, &options, &replay_ops, &replay,
                         &replay.follower, ret_error);
    if (class != ERROR_OK)
        return class;
    while (!cli_session_wait(session, is_done, &replay, PROGRESS_MS))
        show_progress(&replay, partition);
    const struct checkpoint *checkpoint = follower_checkpoint(replay.follower);
    int64_t elapsed = clock_mono_ms(clock_real()) - replay.began_ms;
    const struct error *stop = NULL;
    if (!replay.done && follower_is_stuck(replay.follower, &stop, NULL))
        *ret_error = *stop;
    else
        fprintf(cli->out,
                "%spartition %d: %" PRId64 " records replayed in %" PRId64 ".%03" PRId64
                " s (%" PRId64 "/s); orders: about %" PRIu64 "\n",
                isatty(STDERR_FILENO) ? "\r" : "", partition, checkpoint->next_event_offset,
                elapsed / 1000, elapsed % 1000,
                elapsed > 0 ? checkpoint->next_event_offset * 1000 / elapsed : 0,
                store_order_count_estimate(view_store(follower_view(replay.follower))));
    follower_free(replay.follower);
    return replay.done ? ERROR_OK : ret_error->class;
}

static enum error_class replay_all(struct cli *cli, struct cli_session *session,
                                   const char *service, int64_t only, struct error *ret_error)
{
    struct store_options options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
    struct store_env *stores = store_env_new(&options);
    enum error_class class = ERROR_OK;
    for (int32_t p = 0; p < session->cluster->partition_count && class == ERROR_OK; p++)
        if (only < 0 || only == p)
            class = replay_partition(cli, session, stores, service, p, ret_error);
    store_env_free(stores);
    return class;
}

static int run(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    int64_t only = -1;
    int lock = -1;
    const char *service = cli->arguments[0];
    const char *directory = config_string(cli->config, "data.dir");
    if (strcmp(service, "scheduler") != 0 && strcmp(service, "supervisor") != 0 &&
        strcmp(service, "console") != 0)
        return cli_usage(cli, "%s has no stores: expected scheduler, supervisor or console",
                         service);
    if (!config_is_set(cli->config, "data.dir"))
        return cli_usage(cli, "--data-dir DIR of the stopped service is required");
    if (cli_flag_int(cli, "partition", -1, 0, INT32_MAX, &only, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (files_make_dirs(directory, &error) != ERROR_OK ||
        files_lock(directory, &lock, &error) != ERROR_OK ||
        cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum error_class class = replay_all(cli, &session, service, only, &error);
    cli_session_close(&session);
    files_unlock(lock);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

static const struct cli_flag flags[] = {
    {"partition", "N", "Only the store of this partition; all of them by default."}, {0}};

static const struct cli_verb verbs[] = {
    {.arguments = "SERVICE",
     .summary = "Deletes the stores of a stopped service and replays the log into new ones.",
     .examples = "reeve replay scheduler --data-dir /var/lib/reeve/scheduler\n"
                 "reeve replay console --data-dir /var/lib/reeve/console --partition 3\n",
     .flags = flags,
     .plain = true,
     .run = run}};

const struct cli_noun cli_replay = {
    .name = "replay", .summary = "Replaying the log into stores.", .verbs = verbs, .verb_count = 1};
