/* SPDX-License-Identifier: Apache-2.0 */
/* See fold.h. */
#include "tools/bench/fold.h"

#include "platform/files.h"
#include "replica/follow/follower.h"
#include "replica/service/stores.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FOLD_MS = 600000 };

struct fold_partition {
    struct log_fold *fold;
    struct follower *follower;
    bool caught_up;
};

struct log_fold {
    struct fold_partition *parts;
    int32_t count;
    int32_t waiting;
    struct error error;
};

static void on_checked(void *ctx)
{
    struct fold_partition *part = ctx;
    follower_run(part->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct fold_partition *part = ctx;
    if (!part->caught_up)
        part->fold->waiting--;
    part->caught_up = true;
}

static void on_stopped(void *ctx, const struct error *error)
{
    struct fold_partition *part = ctx;
    part->fold->error = *error;
}

static const struct follower_ops ops = {
    .checked = on_checked, .caught_up = on_caught_up, .stopped = on_stopped};

static bool is_over(void *ctx)
{
    const struct log_fold *fold = ctx;
    return fold->waiting == 0 || fold->error.class != ERROR_OK;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void store_path(const struct bench_stage *stage, bool deadlines, int32_t partition,
                       char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/fold-%s-%d", stage->directory,
             deadlines ? "supervisor" : "scheduler", partition);
}

/* The next fold begins with nothing as well. */
static void drop_store(const struct bench_stage *stage, bool deadlines, int32_t partition)
{
    char path[PATH_MAX + 64];
    struct error error;
    store_path(stage, deadlines, partition, path, sizeof(path));
    if (store_drop(path, &error) != ERROR_OK)
        fprintf(stage->cli.err, "%s\n", error.message);
}

static enum error_class open_parts(struct bench_stage *stage, struct log_fold *fold,
                                   struct store_env *stores, bool deadlines,
                                   struct error *ret_error)
{
    struct config *config = stage->cli.config;
    enum error_class class = ERROR_OK;
    for (int32_t p = 0; p < fold->count && class == ERROR_OK; p++) {
        char path[PATH_MAX + 64];
        store_path(stage, deadlines, p, path, sizeof(path));
        struct view_options options = {
            .env = stores,
            .codec = stage->session.cluster->codec,
            .path = path,
            .cache_bytes =
                (size_t)(config_int(config, "scheduler.cache.mb") << 20) / (size_t)fold->count,
            .deadlines = deadlines};
        fold->parts[p].fold = fold;
        class = follower_new(stage->session.cluster, p, &options, &ops, &fold->parts[p],
                             &fold->parts[p].follower, ret_error);
    }
    return class;
}

enum error_class bench_fold(struct bench_stage *stage, bool deadlines,
                            struct bench_folding *ret_folding, struct error *ret_error)
{
    struct config *config = stage->cli.config;
    const struct clock *clock = stage->session.context.clock;
    int32_t count = stage->session.cluster->partition_count;
    struct log_fold fold = {.count = count, .waiting = count};
    struct store_env *stores = stores_new(config);
    fold.parts = calloc((size_t)count, sizeof(*fold.parts));
    assert(fold.parts != NULL);
    int64_t began_us = clock_mono_us(clock);
    double began_cpu = cpu_seconds();
    enum error_class class = open_parts(stage, &fold, stores, deadlines, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_wait(stage, is_over, &fold, FOLD_MS, ret_error);
    if (class == ERROR_OK && fold.error.class != ERROR_OK) {
        *ret_error = fold.error;
        class = fold.error.class;
    }
    struct bench_folding folding = {
        .seconds = (double)(clock_mono_us(clock) - began_us) / 1e6,
        .cpu_seconds = cpu_seconds() - began_cpu,
    };
    for (int32_t p = 0; p < count; p++) {
        if (fold.parts[p].follower != NULL)
            folding.records +=
                (uint64_t)view_checkpoint(follower_view(fold.parts[p].follower))->next_event_offset;
        follower_free(fold.parts[p].follower);
        drop_store(stage, deadlines, p);
    }
    free(fold.parts);
    store_env_free(stores);
    if (class == ERROR_OK)
        *ret_folding = folding;
    return class;
}
