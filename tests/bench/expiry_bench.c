/* SPDX-License-Identifier: Apache-2.0 */
/* The cost for a scheduler (or a supervisor, which keeps an index of deadlines) of finished orders
 * that expire as fast as others end: the same view as in the service, without the broker and its
 * client, folds a log that goes on, commits every quarter of a second at 14,000 orders a second,
 * and one partition after the other takes out what ended a while ago.
 *
 *     bench-expiry DIRECTORY [ORDERS [scheduler|supervisor [KEPT]]]
 *
 * 1,500,000 orders, of a scheduler unless stated; the last 400,000 are kept. */
#include "platform/clock.h"
#include "replica/fold/view.h"
#include "tests/bench/order_log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    PARTITIONS = 8,
    ORDERS = 1500000,
    KEPT = 400000,
    TURN_ORDERS = 3500,
    TURN_RECORDS = 4 * TURN_ORDERS, /* at most, of a partition */
    ORDERS_MB = 6,                  /* scheduler.cache.mb */
    CACHE_MB = 32,                  /* rocksdb.cache.mb */
    WRITE_BUFFER_MB = 8,            /* rocksdb.write.buffer.mb */
    EXPIRY_ORDERS = 1000,           /* of a record: services/scheduler/owner/owner.h */
    EXPIRY_COMMIT = 4000            /* services/scheduler/owner/store.c */
};

struct chunk {
    struct buffer bytes;
    uint64_t begin[TURN_RECORDS + 1];
    uint32_t count;
};

struct cost {
    uint64_t orders;
    uint64_t expired;
    double loop_seconds; /* of CPU time */
    double all_seconds;
};

struct bench {
    struct codec *codec;
    struct store_env *env;
    struct order_log *log;
    struct view *views[PARTITIONS];
    struct chunk chunks[PARTITIONS];
    struct buffer value;
    uint64_t kept;
    uint64_t expired;
};

static void must(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return;
    fprintf(stderr, "bench-expiry: %s\n", error->message);
    exit(1);
}

static double cpu_seconds(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void keep_record(void *ctx, int32_t partition, struct text key, struct text value)
{
    struct bench *bench = ctx;
    struct chunk *chunk = &bench->chunks[partition];
    (void)key;
    assert(chunk->count < TURN_RECORDS);
    buffer_append(&chunk->bytes, value.data, value.size);
    chunk->begin[++chunk->count] = chunk->bytes.size;
}

static void commit(struct view *view)
{
    struct error error;
    must(view_commit(view, &error), &error);
    view_tidy(view);
}

static void fold_chunk(struct bench *bench, int32_t partition)
{
    struct error error;
    struct chunk *chunk = &bench->chunks[partition];
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t begin = chunk->begin[i];
        struct broker_record record = {
            .topic = "bench.events",
            .partition = partition,
            .offset = view_checkpoint(bench->views[partition])->next_event_offset,
            .value = {(const char *)chunk->bytes.data + begin,
                      (uint32_t)(chunk->begin[i + 1] - begin)}};
        must(view_fold(bench->views[partition], &record, NULL, &error), &error);
    }
    chunk->count = 0;
    chunk->bytes.size = 0;
}

/* False: no order that ended by then is left. */
static bool expire_some(struct bench *bench, int32_t partition, int64_t until)
{
    struct error error;
    struct view_ended ended;
    struct view *view = bench->views[partition];
    const struct checkpoint *checkpoint = view_checkpoint(view);
    uint32_t count = 0;
    must(view_find_ended(view, until, EXPIRY_ORDERS, &ended, &error), &error);
    if (ended.count == 0)
        return false;
    struct expiry expiry = {.claim_id = checkpoint->claim_id,
                            .sequence = checkpoint->next_sequence,
                            .decided_at = order_log_now(bench->log),
                            .ended_at = ended.ended_at,
                            .order_id = {ended.order_id.data, ended.order_id.size}};
    bench->value.size = 0;
    codec_encode(bench->codec, RECORD_EXPIRY, &expiry, &bench->value);
    must(view_expired(view, &expiry,
                      (struct text){(const char *)bench->value.data, (uint32_t)bench->value.size},
                      checkpoint->next_event_offset, &count, &error),
         &error);
    order_log_skip(bench->log, partition);
    bench->expired += count;
    if (view_dirty(view) >= EXPIRY_COMMIT)
        commit(view);
    return true;
}

static void turn(struct bench *bench, uint64_t number)
{
    int32_t partition = (int32_t)(number % PARTITIONS);
    int64_t until = order_log_now(bench->log) - (int64_t)bench->kept * ORDER_LOG_EACH_MS;
    for (int32_t p = 0; p < PARTITIONS; p++)
        fold_chunk(bench, p);
    while (expire_some(bench, partition, until))
        continue;
    for (int32_t p = 0; p < PARTITIONS; p++)
        commit(bench->views[p]);
}

/* Making the log is not part of the cost; what the threads of RocksDB do meanwhile is. */
static void add_turn(struct bench *bench, uint64_t number, struct cost *cost)
{
    uint64_t expired = bench->expired;
    double all_seconds = cpu_seconds(RUSAGE_SELF);
    double loop_seconds = cpu_seconds(RUSAGE_THREAD);
    for (int i = 0; i < TURN_ORDERS; i++)
        order_log_add(bench->log);
    double making_seconds = cpu_seconds(RUSAGE_THREAD) - loop_seconds;
    turn(bench, number);
    cost->loop_seconds += cpu_seconds(RUSAGE_THREAD) - loop_seconds - making_seconds;
    cost->all_seconds += cpu_seconds(RUSAGE_SELF) - all_seconds - making_seconds;
    cost->orders += TURN_ORDERS;
    cost->expired += bench->expired - expired;
}

static void print(const char *what, const struct cost *cost)
{
    double orders = (double)cost->orders;
    printf("%s: %.2f us of CPU time an order, %.2f of it in RocksDB's threads; %.2f orders expired "
           "for each\n",
           what, cost->all_seconds * 1e6 / orders,
           (cost->all_seconds - cost->loop_seconds) * 1e6 / orders, (double)cost->expired / orders);
}

static void run(struct bench *bench, uint64_t orders)
{
    struct cost before = {0};
    struct cost between = {0};
    struct cost after = {0};
    for (uint64_t number = 0; number * TURN_ORDERS < orders; number++) {
        uint64_t made = number * TURN_ORDERS;
        struct cost *cost = made < bench->kept ? &before : &between;
        add_turn(bench, number, made < bench->kept * 3 / 2 ? cost : &after);
    }
    print("before any expires", &before);
    print("while they expire", &after);
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
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct store_options options = {.cache_bytes = CACHE_MB << 20,
                                    .write_buffer_bytes = WRITE_BUFFER_MB << 20};
    bool deadlines = argc > 3 && strcmp(argv[3], "supervisor") == 0;
    uint64_t orders = argc > 2 ? strtoull(argv[2], NULL, 10) : ORDERS;
    bench.kept = argc > 4 ? strtoull(argv[4], NULL, 10) : KEPT;
    if (argc < 2 || orders <= bench.kept * 3 / 2 ||
        (argc > 3 && !deadlines && strcmp(argv[3], "scheduler") != 0)) {
        fprintf(stderr, "usage: bench-expiry DIRECTORY [ORDERS [scheduler|supervisor [KEPT]]]\n"
                        "ORDERS must be more than one and a half times KEPT\n");
        return 64;
    }
    bench.codec = codec_new();
    bench.env = store_env_new(&options);
    for (int32_t p = 0; p < PARTITIONS; p++)
        open_view(&bench, argv[1], p, deadlines);
    bench.log =
        order_log_new(bench.codec, PARTITIONS, clock_wall_ms(clock_real()), keep_record, &bench);
    run(&bench, orders);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        view_close(bench.views[p]);
        buffer_deinit(&bench.chunks[p].bytes);
    }
    buffer_deinit(&bench.value);
    order_log_free(bench.log);
    store_env_free(bench.env);
    codec_free(bench.codec);
    return 0;
}
