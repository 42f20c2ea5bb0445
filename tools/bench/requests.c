/* SPDX-License-Identifier: Apache-2.0 */
/* See requests.h. */
#include "tools/bench/requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SETTLE_MS = BENCH_STATISTICS_MS + BENCH_STATISTICS_MS / 5,
    READ_MS = 10000,
    METRICS_BYTES_MAX = 8 * 1024 * 1024
};

struct bench_reading {
    int64_t sign;
    uint32_t waiting;
    struct error error;
};

/* One process of a reading. */
struct bench_scrape {
    struct bench_reading *reading;
    struct bench_process *process;
};

/* The sum of the values of a metric, over all labels, in Prometheus' text format. */
static double sum_of(const char *text, const char *metric)
{
    double sum = 0;
    size_t size = strlen(metric);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *value = line + size;
        if (strncmp(line, metric, size) == 0 && (*value == '{' || *value == ' ')) {
            /* Values of labels may hold blanks: the number is behind the last one. */
            const char *at = end != NULL ? end : line + strlen(line);
            while (at > value && at[-1] != ' ')
                at--;
            sum += strtod(at, NULL);
        }
        line = end != NULL ? end + 1 : NULL;
    }
    return sum;
}

static void add(const struct bench_reading *reading, struct bench_process *process,
                const char *text)
{
    process->produce_requests +=
        reading->sign * (int64_t)sum_of(text, "reeve_kafka_client_produce_requests_total");
    process->fetch_requests +=
        reading->sign * (int64_t)sum_of(text, "reeve_kafka_client_fetch_requests_total");
    process->sends = true;
}

static void on_metrics(const struct http_result *result, void *userdata)
{
    const struct bench_scrape *scrape = userdata;
    struct bench_reading *reading = scrape->reading;
    assert(reading->waiting > 0);
    reading->waiting--;
    if (result->outcome != HTTP_ANSWERED || result->status != 200 || result->body_cut) {
        error_set(&reading->error, CODE_NO_METRICS, "%s does not answer /metrics: %s",
                  scrape->process->name, result->message);
        return;
    }
    char *text = strndup(result->body.data, result->body.size);
    assert(text != NULL);
    add(reading, scrape->process, text);
    free(text);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static bool all_read(void *ctx)
{
    const struct bench_reading *reading = ctx;
    return reading->waiting == 0;
}

static const struct child *child_of(const struct bench_stage *stage, pid_t pid)
{
    struct child *child = children_next(stage->children, NULL);
    while (child != NULL && child_pid(child) != pid)
        child = children_next(stage->children, child);
    return child;
}

static void read_own(const struct bench_stage *stage, const struct bench_reading *reading,
                     struct bench_process *process)
{
    size_t size = 0;
    char *text = metrics_render(stage->session.metrics, &size);
    add(reading, process, text);
    free(text);
}

static void read_all(struct bench_stage *stage, struct http_client *http,
                     struct bench_reading *reading, struct bench_scrape *scrapes,
                     struct bench_processes *processes)
{
    char url[96];
    for (uint32_t i = 0; i < processes->count && reading->error.class == ERROR_OK; i++) {
        struct bench_process *process = &processes->items[i];
        const struct child *child = child_of(stage, process->pid);
        if (process->pid == getpid())
            read_own(stage, reading, process);
        if (child == NULL)
            continue;
        snprintf(url, sizeof(url), "%s/metrics", child_url(child));
        struct http_request request = {.method = "GET", .url = url, .timeout_ms = READ_MS};
        scrapes[i] = (struct bench_scrape){reading, process};
        if (http_client_send(http, &request, on_metrics, &scrapes[i], &reading->error) == ERROR_OK)
            reading->waiting++;
    }
}

enum error_class bench_requests_read(struct bench_stage *stage, bool begin,
                                     struct bench_processes *processes, struct error *ret_error)
{
    static const struct http_client_options options = {.response_max = METRICS_BYTES_MAX};
    struct bench_reading reading = {.sign = begin ? -1 : 1};
    struct bench_scrape scrapes[BENCH_PROCESSES_MAX];
    struct http_client *http = NULL;
    struct error silence;
    bench_stage_wait(stage, never, NULL, SETTLE_MS, &silence);
    enum error_class class =
        http_client_new(stage->session.context.loop, &options, &http, ret_error);
    if (class != ERROR_OK)
        return class;
    read_all(stage, http, &reading, scrapes, processes);
    /* Each call ends, if only with its timeout. */
    class = bench_stage_wait(stage, all_read, &reading, 2 * READ_MS, ret_error);
    http_client_free(http);
    if (class == ERROR_OK && reading.error.class != ERROR_OK) {
        *ret_error = reading.error;
        class = ret_error->class;
    }
    return class;
}
