/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a scheduler (or a supervisor, which keeps an index of deadlines) folds a log into fresh
 * stores, and has every order that has ended expire afterwards: the same view as in the service,
 * without the broker and its client.
 *
 *     bench-fold [--waiting] DIRECTORY [ORDERS [scheduler|supervisor [RECORDS]]]
 *
 * 1,000,000 orders, four Decisions each, of a scheduler unless stated. With --waiting, all of them
 * stand in a Wait instead, one Decision each. With RECORDS, it flushes a store after each that many
 * records, and says how long a flush takes. */
#include "platform/clock.h"
#include "platform/files.h"
#include "replica/fold/view.h"
#include "tests/bench/order_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    PARTITIONS = 8,
    ORDERS = 1000000,
    COMMIT_RECORDS = 20000, /* replica/follow/internal.h */
    CHUNK_RECORDS = 20000,  /* of a partition, which are made before they are folded */
    RECORDS_EACH = 4,       /* of an order, at most */
    ORDERS_MB = 6,          /* scheduler.cache.mb */
    CACHE_MB = 32,          /* rocksdb.cache.mb */
    WRITE_BUFFER_MB = 8,    /* rocksdb.write.buffer.mb */
    EXPIRY_ORDERS = 1000,   /* of a record: services/scheduler/owner/owner.h */
    EXPIRY_COMMIT = 4000,   /* services/scheduler/owner/store.c */
    FLUSHES_MAX = 10000
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
    uint64_t bytes; /* of them */
    double seconds;
    uint64_t stored_bytes; /* of all orders */
    struct {
        uint64_t orders;
        uint64_t records;
        uint64_t bytes;
        double seconds;
        int64_t longest_us; /* one record, with its commit */
    } expired;
    uint64_t flush_records; /* 0: it flushes at the end only */
    uint64_t unflushed[PARTITIONS];
    int64_t flushes_us[FLUSHES_MAX];
    uint32_t flush_count;
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

static void flush_after_many(struct bench *bench, int32_t partition)
{
    struct error error;
    struct view *view = bench->views[partition];
    if (++bench->unflushed[partition] < bench->flush_records || bench->flush_count == FLUSHES_MAX)
        return;
    bench->unflushed[partition] = 0;
    must(view_commit(view, &error), &error);
    view_tidy(view);
    int64_t began_us = clock_mono_us(clock_real());
    must(view_flush(view, &error), &error);
    bench->flushes_us[bench->flush_count++] = clock_mono_us(clock_real()) - began_us;
}

static int by_time(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a;
    int64_t second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void print_flushes(struct bench *bench)
{
    uint32_t count = bench->flush_count;
    if (count == 0)
        return;
    qsort(bench->flushes_us, count, sizeof(bench->flushes_us[0]), by_time);
    printf("%u flushes: median %.1f, p90 %.1f, most %.1f ms\n", count,
           (double)bench->flushes_us[count / 2] / 1e3,
           (double)bench->flushes_us[count * 9U / 10] / 1e3,
           (double)bench->flushes_us[count - 1] / 1e3);
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
        if (bench->flush_records > 0)
            flush_after_many(bench, partition);
    }
    bench->seconds += cpu_seconds() - began;
    bench->records += chunk->count;
    bench->bytes += chunk->bytes.size;
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
                                   .cache_bytes = ((size_t)ORDERS_MB << 20) / PARTITIONS,
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

/* False: no order that has ended is left. */
static bool expire_some(struct bench *bench, struct view *view, struct buffer *value)
{
    struct error error;
    struct view_ended ended;
    const struct checkpoint *checkpoint = view_checkpoint(view);
    int64_t began_us = clock_mono_us(clock_real());
    uint32_t count = 0;
    must(view_find_ended(view, INT64_MAX - 1, EXPIRY_ORDERS, &ended, &error), &error);
    if (ended.count == 0)
        return false;
    struct expiry expiry = {.claim_id = checkpoint->claim_id,
                            .sequence = checkpoint->next_sequence,
                            .decided_at = ended.ended_at,
                            .ended_at = ended.ended_at,
                            .order_id = {ended.order_id.data, ended.order_id.size}};
    value->size = 0;
    codec_encode(bench->codec, RECORD_EXPIRY, &expiry, value);
    must(view_expired(view, &expiry,
                      (struct text){(const char *)value->data, (uint32_t)value->size},
                      checkpoint->next_event_offset, &count, &error),
         &error);
    if (view_dirty(view) >= EXPIRY_COMMIT) {
        must(view_commit(view, &error), &error);
        view_tidy(view);
    }
    int64_t took_us = clock_mono_us(clock_real()) - began_us;
    bench->expired.longest_us =
        took_us > bench->expired.longest_us ? took_us : bench->expired.longest_us;
    bench->expired.orders += count;
    bench->expired.bytes += value->size;
    bench->expired.records++;
    return true;
}

static void expire(struct bench *bench)
{
    struct buffer value = {0};
    struct error error;
    double began = cpu_seconds();
    for (int32_t p = 0; p < PARTITIONS; p++) {
        view_expect_much(bench->views[p], false);
        while (expire_some(bench, bench->views[p], &value))
            continue;
        must(view_commit(bench->views[p], &error), &error);
        must(view_flush(bench->views[p], &error), &error);
    }
    bench->expired.seconds = cpu_seconds() - began;
    buffer_deinit(&value);
}

static void print(struct bench *bench, uint64_t orders)
{
    printf("%llu orders, %.0f bytes each in the stores\n", (unsigned long long)orders,
           (double)bench->stored_bytes / (double)orders);
    printf("%llu records folded, %.0f a second of CPU time, %llu bytes\n",
           (unsigned long long)bench->records, (double)bench->records / bench->seconds,
           (unsigned long long)bench->bytes);
    printf("%llu orders expired, %.0f a second of CPU time, by %llu records of %llu bytes; the "
           "longest took %.1f ms\n",
           (unsigned long long)bench->expired.orders,
           (double)bench->expired.orders / bench->expired.seconds,
           (unsigned long long)bench->expired.records, (unsigned long long)bench->expired.bytes,
           (double)bench->expired.longest_us / 1e3);
    print_flushes(bench);
}

int main(int argc, char **argv)
{
    bool waiting = argc > 1 && strcmp(argv[1], "--waiting") == 0;
    argc -= waiting;
    argv += waiting;
    static struct bench bench;
    struct store_options options = {.cache_bytes = CACHE_MB << 20,
                                    .write_buffer_bytes = WRITE_BUFFER_MB << 20};
    bool deadlines = argc > 3 && strcmp(argv[3], "supervisor") == 0;
    if (argc < 2 || (argc > 3 && !deadlines && strcmp(argv[3], "scheduler") != 0)) {
        fprintf(stderr, "usage: bench-fold [--waiting] DIRECTORY "
                        "[ORDERS [scheduler|supervisor [RECORDS]]]\n");
        return 64;
    }
    uint64_t orders = argc > 2 ? strtoull(argv[2], NULL, 10) : ORDERS;
    bench.flush_records = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    bench.codec = codec_new();
    bench.env = store_env_new(&options);
    for (int32_t p = 0; p < PARTITIONS; p++)
        open_view(&bench, argv[1], p, deadlines);
    bench.log =
        order_log_new(bench.codec, PARTITIONS, clock_wall_ms(clock_real()), keep_record, &bench);
    if (waiting)
        order_log_wait(bench.log);
    fill(&bench, orders);
    bench.stored_bytes = files_tree_bytes(argv[1]);
    expire(&bench);
    print(&bench, orders);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        view_close(bench.views[p]);
        buffer_deinit(&bench.chunks[p].bytes);
    }
    order_log_free(bench.log);
    store_env_free(bench.env);
    codec_free(bench.codec);
    return 0;
}
