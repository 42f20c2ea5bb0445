/* SPDX-License-Identifier: Apache-2.0 */
/* How fast records go through kafka/broker.h: appended until acknowledged, read to the end by
 * readers that do nothing and by readers that work, one record in flight from append to its
 * acknowledgement and to its reader.
 *
 *     bench-broker [RECORDS [BYTES]]      default 500000 records of 250 bytes */
#include "tests/lib/broker_lab.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROUND_TRIPS = 5000, BYTES_MAX = 1000000 };

static char value[BYTES_MAX];

static int64_t now_us(void)
{
    return clock_mono_us(clock_real());
}

static int64_t cpu_us(void)
{
    struct rusage usage;
    int rc = getrusage(RUSAGE_SELF, &usage);
    assert(rc == 0);
    (void)rc;
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void say(const char *what, uint32_t count, int64_t wall_us, int64_t used_us)
{
    printf("%-34s %9.0f records/s, %5.2f us of CPU each\n", what, count * 1e6 / (double)wall_us,
           (double)used_us / count);
}

/* ---- appends ---- */

static void bench_appends(struct lab *lab, uint32_t count, uint32_t bytes)
{
    struct lab_appends appends;
    lab_appends_init(&appends, count);
    int64_t cpu = cpu_us();
    int64_t start = now_us();
    for (uint32_t i = 0; i < count; i++) {
        lab_append(lab, &appends, BROKER_PRODUCER_LOG, lab->topics.events, 0,
                   (struct text){value, bytes});
        if (i % 1000 == 0)
            loop_once(lab->loop, 0);
    }
    bool done = lab_wait(lab, &appends.acked, count);
    assert(done);
    (void)done;
    say("append to acknowledgement", count, now_us() - start, cpu_us() - cpu);
    lab_appends_deinit(&appends);
}

/* ---- reads ---- */

struct load {
    uint32_t records;
    uint32_t ends;
    int64_t work_ns;
    int64_t debt_ns;
};

static void load_record(void *ctx, const struct broker_record *record)
{
    struct load *load = ctx;
    (void)record;
    load->records++;
    load->debt_ns += load->work_ns;
    if (load->debt_ns < 50000)
        return;
    for (int64_t until = now_us() + load->debt_ns / 1000; now_us() < until;)
        continue;
    load->debt_ns = 0;
}

static void load_end(void *ctx, int64_t next_offset)
{
    (void)next_offset;
    ((struct load *)ctx)->ends++;
}

static void load_error(void *ctx, const struct error *error)
{
    (void)ctx;
    fprintf(stderr, "%s\n", error->message);
}

static void bench_reads(struct lab *lab, int64_t work_ns, bool with_idle_ones)
{
    static const struct broker_reader_ops ops = {load_record, load_end, load_error};
    struct load load = {.work_ns = work_ns};
    struct load idle = {.work_ns = 0};
    struct broker_reader *readers[LAB_PARTITIONS] = {NULL};
    char what[LAB_VALUE_SIZE];
    for (int32_t p = 1; with_idle_ones && p < LAB_PARTITIONS; p++)
        readers[p] = broker_read(lab->broker, lab->topics.events, p, 0, &ops, &idle);
    bool done = lab_wait(lab, &idle.ends, with_idle_ones ? LAB_PARTITIONS - 1 : 0);
    int64_t cpu = cpu_us();
    int64_t start = now_us();
    readers[0] = broker_read(lab->broker, lab->topics.events, 0, 0, &ops, &load);
    done = done && lab_wait(lab, &load.ends, 1);
    assert(done);
    (void)done;
    snprintf(what, sizeof(what), "read, %.1f us of work each%s", (double)work_ns / 1000,
             with_idle_ones ? ", idle ones" : "");
    say(what, load.records, now_us() - start, cpu_us() - cpu);
    for (int32_t p = 0; p < LAB_PARTITIONS; p++)
        broker_reader_close(readers[p]);
}

/* ---- one in flight ---- */

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void say_latency(const char *what, int64_t *us)
{
    qsort(us, ROUND_TRIPS, sizeof(*us), by_size);
    printf("%-34s p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", what,
           (double)us[ROUND_TRIPS / 2] / 1000, (double)us[ROUND_TRIPS * 99 / 100] / 1000,
           (double)us[ROUND_TRIPS - 1] / 1000);
}

static void bench_round_trips(struct lab *lab, uint32_t bytes)
{
    static int64_t acks_us[ROUND_TRIPS];
    static int64_t trips_us[ROUND_TRIPS];
    struct lab_appends appends;
    struct lab_reader reader;
    lab_appends_init(&appends, ROUND_TRIPS);
    lab_read(lab, &reader, 1, 0);
    bool done = lab_wait(lab, &reader.ends, 1);
    for (uint32_t i = 0; i < ROUND_TRIPS && done; i++) {
        int64_t start = now_us();
        lab_append(lab, &appends, BROKER_PRODUCER_LOG, lab->topics.events, 1,
                   (struct text){value, bytes});
        done = lab_wait(lab, &appends.acked, i + 1);
        acks_us[i] = now_us() - start;
        done = done && lab_wait(lab, &reader.records, i + 1);
        trips_us[i] = now_us() - start;
    }
    assert(done);
    say_latency("one in flight, acknowledged", acks_us);
    say_latency("one in flight, read", trips_us);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
}

int main(int argc, char **argv)
{
    struct lab lab;
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 500000;
    uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 250;
    assert(bytes <= BYTES_MAX);
    memset(value, 'v', sizeof(value));
    lab_open(&lab);
    bench_appends(&lab, count, bytes);
    bench_reads(&lab, 0, false);
    bench_reads(&lab, 1000, false);
    bench_reads(&lab, 3000, false);
    bench_reads(&lab, 3000, true);
    bench_round_trips(&lab, bytes);
    lab_close(&lab);
    return 0;
}
