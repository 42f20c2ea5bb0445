/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the console folds a log, and how long a page of each filter takes then: the same view,
 * counts, search and rendering as in the service, without the broker and HTTP.
 *
 *     bench-search DIRECTORY [ORDERS [WRITE_BUFFER_MB [fold]]]
 *
 * 1,000,000 orders, four Decisions each, and the service's write buffers unless stated; "fold" ends
 * before the pages.
 *
 * The bench has partitions of its own in the place of services/console/model/partition.c. */
#include "base/heap_arena.h"
#include "platform/clock.h"
#include "schemas/json/order_json.h"
#include "services/console/model/search.h"
#include "services/console/model/stats.h"
#include "tests/bench/order_log.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
    PARTITIONS = 8,
    ORDERS = 1000000,
    COMMIT_RECORDS = 4000,
    CHUNK_RECORDS = 8000, /* of a partition, which are made before they are folded */
    RECORDS_EACH = 4,     /* of an order, at most */
    REPEATS = 200,
    PAGE = 50,
    REST_LOOKS = 20,    /* tenths of a second */
    CACHE_MB = 32,      /* rocksdb.cache.mb */
    WRITE_BUFFER_MB = 8 /* rocksdb.write.buffer.mb */
};

struct chunk {
    struct buffer bytes;
    uint64_t begin[CHUNK_RECORDS + 1];
    uint32_t count;
};

struct console_partition {
    int32_t number;
    struct view *view;
    struct stats stats;
    struct order_counts counts;
    struct chunk chunk;
};

/* ---- services/console/model/partition.h, as far as a search needs it ---- */

bool console_partition_settle(struct console_partition *partition)
{
    (void)partition;
    return true;
}

void console_partition_damaged(struct console_partition *partition, const struct error *error)
{
    (void)partition;
    fprintf(stderr, "bench-search: %s\n", error->message);
    abort();
}

struct view *console_partition_view(struct console_partition *partition)
{
    return partition->view;
}

const struct order_counts *console_partition_counts(const struct console_partition *partition)
{
    return &partition->counts;
}

/* ---- the bench ---- */

struct bench {
    struct codec *codec;
    struct store_env *env;
    struct order_log *log;
    struct heap_arena heap;
    struct console_partition partitions[PARTITIONS];
    struct console_partition *list[PARTITIONS];
    uint64_t records;
    double fold_seconds;
};

/* Of this thread: what a page takes on a machine that does nothing else, apart from the disk. */
static int64_t thread_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Of all threads: RocksDB's as well. */
static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* CPU time of the other threads until they rest. */
static double rest_seconds(void)
{
    double began = cpu_seconds();
    double before;
    do {
        before = cpu_seconds();
        for (int i = 0; i < REST_LOOKS; i++)
            poll(NULL, 0, 100);
    } while (cpu_seconds() - before > 0.02);
    return before - began;
}

static long resident_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* A record waits until its partition has a chunk of them. */
static void keep_record(void *ctx, int32_t partition, struct text key, struct text value)
{
    struct bench *bench = ctx;
    struct chunk *chunk = &bench->partitions[partition].chunk;
    (void)key;
    assert(chunk->count < CHUNK_RECORDS);
    buffer_append(&chunk->bytes, value.data, value.size);
    chunk->begin[++chunk->count] = chunk->bytes.size;
}

/* ---- folding ---- */

static void must(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return;
    fprintf(stderr, "bench-search: %s\n", error->message);
    exit(1);
}

static void commit(struct console_partition *partition)
{
    struct error error;
    must(view_commit(partition->view, &error), &error);
    view_tidy(partition->view);
}

static void fold_chunk(struct bench *bench, struct console_partition *partition)
{
    struct error error;
    struct chunk *chunk = &partition->chunk;
    double began = cpu_seconds();
    int64_t offset = view_checkpoint(partition->view)->next_event_offset;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t begin = chunk->begin[i];
        struct broker_record record = {.topic = "bench.events",
                                       .partition = partition->number,
                                       .offset = offset + i,
                                       .value = {(const char *)chunk->bytes.data + begin,
                                                 (uint32_t)(chunk->begin[i + 1] - begin)}};
        struct view_folded folded;
        must(view_fold(partition->view, &record, &folded, &error), &error);
        if (folded.kind == RECORD_DECISION)
            stats_decided(&partition->stats, &folded.record->decision, folded.order,
                          order_log_now(bench->log));
        if (view_dirty(partition->view) >= COMMIT_RECORDS)
            commit(partition);
    }
    bench->fold_seconds += cpu_seconds() - began;
    bench->records += chunk->count;
    chunk->count = 0;
    chunk->bytes.size = 0;
}

static void open_partition(struct bench *bench, const char *directory, int32_t number)
{
    char path[512];
    struct error error;
    bool dropped = false;
    struct console_partition *partition = &bench->partitions[number];
    snprintf(path, sizeof(path), "%s/%d", directory, number);
    must(store_drop(path, &error), &error);
    struct view_options options = {.env = bench->env,
                                   .codec = bench->codec,
                                   .path = path,
                                   .cache_bytes = 4 * 1024 * 1024,
                                   .history = true,
                                   .index = &stats_index,
                                   .index_ctx = &partition->stats};
    *partition = (struct console_partition){.number = number};
    must(view_open(&options, &partition->view, &dropped, &error), &error);
    view_set_cluster_id(partition->view, "bench");
    bench->list[number] = partition;
}

static void fill(struct bench *bench, uint64_t orders)
{
    for (uint64_t number = 0; number < orders; number++) {
        order_log_add(bench->log);
        struct order_log_end end = order_log_end(bench->log);
        struct console_partition *partition = &bench->partitions[end.partition];
        order_counts_add(&partition->counts, end.workflow, end.workflow_version, end.state, 1);
        if (partition->chunk.count + RECORDS_EACH > CHUNK_RECORDS)
            fold_chunk(bench, partition);
    }
    for (int32_t p = 0; p < PARTITIONS; p++)
        fold_chunk(bench, &bench->partitions[p]);
    double began = cpu_seconds();
    for (int32_t p = 0; p < PARTITIONS; p++) {
        struct error error;
        commit(&bench->partitions[p]);
        must(view_flush(bench->partitions[p].view, &error), &error);
    }
    bench->fold_seconds += cpu_seconds() - began;
    double compactions = rest_seconds();
    printf("%llu records folded, %.0f a second of CPU time, %.0f with the compactions that "
           "follow, %ld MB resident at most\n",
           (unsigned long long)bench->records, (double)bench->records / bench->fold_seconds,
           (double)bench->records / (bench->fold_seconds + compactions), resident_mb());
    fflush(stdout);
}

/* ---- queries ---- */

static void render(struct bench *bench, const struct search_page *page)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < page->count; i++) {
        struct error error;
        const struct order *order = NULL;
        struct view *view = console_partition_view(page->hits[i].partition);
        heap_arena_reset(&bench->heap);
        must(view_read_order(view, search_cursor_id(&page->hits[i].at), &bench->heap.arena, &order,
                             &error),
             &error);
        json_array_append_new(list, order_json_summary(order, page->hits[i].partition->number));
    }
    char *text = json_dumps(list, JSON_COMPACT);
    assert(text != NULL);
    free(text);
    json_decref(list);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct times {
    int64_t wall_us[REPEATS];
    int64_t cpu_us[REPEATS];
};

static void print_times(const char *what, struct times *times, uint64_t listed)
{
    qsort(times->wall_us, REPEATS, sizeof(times->wall_us[0]), compare_times);
    qsort(times->cpu_us, REPEATS, sizeof(times->cpu_us[0]), compare_times);
    printf("%-40s %8.2f %8.2f %8.2f %8.2f %9.1f\n", what,
           (double)times->wall_us[REPEATS / 2] / 1000,
           (double)times->wall_us[REPEATS * 99 / 100] / 1000,
           (double)times->cpu_us[REPEATS / 2] / 1000,
           (double)times->cpu_us[REPEATS * 99 / 100] / 1000, (double)listed / (double)REPEATS);
    fflush(stdout);
}

/* One page after the other; from the first again at the end. */
static void measure(struct bench *bench, const char *what, const struct search *asked)
{
    struct times times;
    uint64_t listed = 0;
    struct search search = *asked;
    search.limit = search.limit > 0 ? search.limit : PAGE;
    search.clock = clock_real();
    for (int i = 0; i < REPEATS; i++) {
        struct search_page page;
        int64_t began = clock_mono_us(search.clock);
        int64_t began_cpu = thread_us();
        search_run(bench->list, PARTITIONS, &search, &page);
        render(bench, &page);
        times.wall_us[i] = clock_mono_us(search.clock) - began;
        times.cpu_us[i] = thread_us() - began_cpu;
        listed += page.count;
        search.has_after = page.has_next;
        search.after = page.next;
        search_page_deinit(&page);
    }
    print_times(what, &times, listed);
}

static void measure_count(struct bench *bench, const char *what, const struct search *asked)
{
    struct times times;
    uint64_t counted = 0;
    bool exact = false;
    struct search search = *asked;
    search.clock = clock_real();
    for (int i = 0; i < REPEATS; i++) {
        int64_t began = clock_mono_us(search.clock);
        int64_t began_cpu = thread_us();
        counted += search_count(bench->list, PARTITIONS, &search, &exact);
        times.wall_us[i] = clock_mono_us(search.clock) - began;
        times.cpu_us[i] = thread_us() - began_cpu;
    }
    print_times(what, &times, counted);
}

static void measure_all(struct bench *bench)
{
    struct search error = {.has_state = true, .state = ORDER_ERROR};
    struct search one = {.customer = TEXT("c-4711")};
    struct search large = {.customer = TEXT("c-0")};
    struct search country = {.attributes = {TEXT("country=country-7")}, .attribute_count = 1};
    struct search both = {.has_state = true,
                          .state = ORDER_ERROR,
                          .attributes = {TEXT("channel=web"), TEXT("country=country-0")},
                          .attribute_count = 2};
    struct search rare = {.customer = TEXT("c-0"),
                          .attributes = {TEXT("country=country-39")},
                          .attribute_count = 1,
                          .step = TEXT("C")};
    struct search hour = {.has_since = true, .since = order_log_now(bench->log) - 3600000};
    struct search hour_error = {.has_since = true,
                                .since = order_log_now(bench->log) - 3600000,
                                .has_state = true,
                                .state = ORDER_ERROR};
    struct search none = {.customer = TEXT("c-0"),
                          .attributes = {TEXT("channel=web")},
                          .attribute_count = 1,
                          .has_state = true,
                          .state = ORDER_PROCESSED,
                          .workflow = TEXT("test"),
                          .error = TEXT("nope")};
    struct search whole = {.limit = SEARCH_PAGE_MAX};
    struct search processed = {.has_state = true,
                               .state = ORDER_PROCESSED,
                               .attributes = {TEXT("channel=web")},
                               .attribute_count = 1,
                               .limit = SEARCH_PAGE_MAX};
    printf("\n%-40s %8s %8s %8s %8s %9s\n", "page of 50 unless stated", "p50 ms", "p99 ms",
           "p50 CPU", "p99 CPU", "orders");
    measure(bench, "no filter", &(struct search){.limit = 0});
    measure(bench, "no filter, limit 1000", &whole);
    measure(bench, "state Error", &error);
    measure(bench, "a customer of 20 orders", &one);
    measure(bench, "a customer of 100,000 orders", &large);
    measure(bench, "an attribute of 12,500 orders", &country);
    measure(bench, "id prefix of 100 orders", &(struct search){.id_prefix = TEXT("o-000123")});
    measure(bench, "id prefix of all orders", &(struct search){.id_prefix = TEXT("o-")});
    measure(bench, "since 1h (360,000 orders)", &hour);
    measure(bench, "since 1h, state Error", &hour_error);
    measure(bench, "state Error, two attributes", &both);
    measure(bench, "customer, attribute, step: few match", &rare);
    measure(bench, "five filters, none matches", &none);
    measure(bench, "state Processed, attribute, limit 1000", &processed);
    printf("\n%-40s %8s %8s %8s %8s %9s\n", "count", "p50 ms", "p99 ms", "p50 CPU", "p99 CPU",
           "counted");
    measure_count(bench, "state Error", &error);
    measure_count(bench, "a customer of 100,000 orders", &large);
    measure_count(bench, "since 1h (360,000 orders)", &hour);
    measure_count(bench, "state Error, two attributes", &both);
}

int main(int argc, char **argv)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert(bench != NULL);
    if (argc < 2) {
        fprintf(stderr, "usage: bench-search DIRECTORY [ORDERS [WRITE_BUFFER_MB [fold]]]; the "
                        "directory exists\n");
        return 64;
    }
    const char *directory = argv[1];
    uint64_t orders = argc > 2 ? strtoull(argv[2], NULL, 10) : ORDERS;
    uint64_t buffer_mb = argc > 3 ? strtoull(argv[3], NULL, 10) : WRITE_BUFFER_MB;
    struct store_options stores = {.cache_bytes = (uint64_t)CACHE_MB << 20,
                                   .write_buffer_bytes = buffer_mb << 20};
    bench->codec = codec_new();
    bench->env = store_env_new(&stores);
    heap_arena_init(&bench->heap, 1 << 20);
    for (int32_t p = 0; p < PARTITIONS; p++)
        open_partition(bench, directory, p);
    bench->log = order_log_new(bench->codec, PARTITIONS, 1000000, keep_record, bench);
    fill(bench, orders);
    if (argc <= 4) {
        measure_all(bench);
        printf("\n%ld MB resident at most\n", resident_mb());
    }
    for (int32_t p = 0; p < PARTITIONS; p++) {
        view_close(bench->partitions[p].view);
        order_counts_deinit(&bench->partitions[p].counts);
        buffer_deinit(&bench->partitions[p].chunk.bytes);
    }
    order_log_free(bench->log);
    store_env_free(bench->env);
    codec_free(bench->codec);
    heap_arena_deinit(&bench->heap);
    free(bench);
    return 0;
}
