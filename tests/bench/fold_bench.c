/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a scheduler (or a supervisor, which keeps an index of deadlines) folds a log into fresh
 * stores: the same view as in the service, without the broker and its client.
 *
 *     bench-fold DIRECTORY [ORDERS [scheduler|supervisor]]
 *
 * 1,000,000 orders, four Decisions each, of a scheduler unless stated. */
#include "platform/clock.h"
#include "replica/view.h"
#include "tests/bench/order_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    PARTITIONS = 8,
    ORDERS = 1000000,
    COMMIT_RECORDS = 20000, /* replica/follower.c */
    CHUNK_RECORDS = 20000,  /* of a partition, which are made before they are folded */
    RECORDS_EACH = 4,       /* of an order, at most */
    CACHE_ORDERS = 20000,   /* of all partitions: scheduler.cache.orders */
    CACHE_MB = 32,          /* rocksdb.cache.mb */
    WRITE_BUFFER_MB = 8     /* rocksdb.write.buffer.mb */
};

struct chunk {
    struct buffer bytes;
    uint64_t begin[CHUNK_RECORDS + 1];
    uint32_t count;
};

struct bench {
    struct codec *codec;
    struct store_env *env;
    struct order_log *log;
    struct view *views[PARTITIONS];
    struct chunk chunks[PARTITIONS];
    uint64_t records;
    double seconds;
};

/* Of all threads: RocksDB's as well. */
static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void must(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return;
    fprintf(stderr, "bench-fold: %s\n", error->message);
    exit(1);
}

/* A record waits until its partition has a chunk of them. */
static void keep_record(void *ctx, int32_t partition, struct text key, struct text value)
{
    struct bench *bench = ctx;
    struct chunk *chunk = &bench->chunks[partition];
    (void)key;
    assert(chunk->count < CHUNK_RECORDS);
    buffer_append(&chunk->bytes, value.data, value.size);
    chunk->begin[++chunk->count] = chunk->bytes.size;
}

static void fold_chunk(struct bench *bench, int32_t partition)
{
    struct error error;
    struct view *view = bench->views[partition];
    struct chunk *chunk = &bench->chunks[partition];
    double began = cpu_seconds();
    int64_t offset = view_checkpoint(view)->next_event_offset;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t begin = chunk->begin[i];
        struct broker_record record = {.topic = "bench.events",
                                       .partition = partition,
                                       .offset = offset + i,
                                       .value = {(const char *)chunk->bytes.data + begin,
                                                 (uint32_t)(chunk->begin[i + 1] - begin)}};
        must(view_fold(view, &record, NULL, &error), &error);
        if (view_dirty(view) >= COMMIT_RECORDS) {
            must(view_commit(view, &error), &error);
            view_tidy(view);
        }
    }
    bench->seconds += cpu_seconds() - began;
    bench->records += chunk->count;
    chunk->count = 0;
    chunk->bytes.size = 0;
}

static void open_view(struct bench *bench, const char *directory, int32_t partition, bool deadlines)
{
    char path[512];
    struct error error;
    bool dropped = false;
    snprintf(path, sizeof(path), "%s/%d", directory, partition);
    must(store_drop(path, &error), &error);
    struct view_options options = {.env = bench->env,
                                   .codec = bench->codec,
                                   .path = path,
                                   .cache_orders = CACHE_ORDERS / PARTITIONS,
                                   .deadlines = deadlines};
    must(view_open(&options, &bench->views[partition], &dropped, &error), &error);
    view_set_cluster_id(bench->views[partition], "bench");
    view_expect_much(bench->views[partition], true);
}

static void fill(struct bench *bench, uint64_t orders)
{
    for (uint64_t number = 0; number < orders; number++) {
        order_log_add(bench->log);
        int32_t partition = order_log_end(bench->log).partition;
        if (bench->chunks[partition].count + RECORDS_EACH > CHUNK_RECORDS)
            fold_chunk(bench, partition);
    }
    for (int32_t p = 0; p < PARTITIONS; p++)
        fold_chunk(bench, p);
    double began = cpu_seconds();
    for (int32_t p = 0; p < PARTITIONS; p++) {
        struct error error;
        must(view_commit(bench->views[p], &error), &error);
        must(view_flush(bench->views[p], &error), &error);
    }
    bench->seconds += cpu_seconds() - began;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct store_options options = {.cache_bytes = CACHE_MB << 20,
                                    .write_buffer_bytes = WRITE_BUFFER_MB << 20};
    bool deadlines = argc > 3 && strcmp(argv[3], "supervisor") == 0;
    if (argc < 2 || (argc > 3 && !deadlines && strcmp(argv[3], "scheduler") != 0)) {
        fprintf(stderr, "usage: bench-fold DIRECTORY [ORDERS [scheduler|supervisor]]\n");
        return 64;
    }
    bench.codec = codec_new();
    bench.env = store_env_new(&options);
    for (int32_t p = 0; p < PARTITIONS; p++)
        open_view(&bench, argv[1], p, deadlines);
    bench.log =
        order_log_new(bench.codec, PARTITIONS, clock_wall_ms(clock_real()), keep_record, &bench);
    fill(&bench, argc > 2 ? strtoull(argv[2], NULL, 10) : ORDERS);
    printf("%llu records folded, %.0f a second of CPU time\n", (unsigned long long)bench.records,
           (double)bench.records / bench.seconds);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        view_close(bench.views[p]);
        buffer_deinit(&bench.chunks[p].bytes);
    }
    order_log_free(bench.log);
    store_env_free(bench.env);
    codec_free(bench.codec);
    return 0;
}
