/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of metrics and their text format. See metrics.h. */
#include "platform/metrics.h"

#include "platform/clock.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM, KIND_REAL_COUNTER };

struct metric {
    char *label_names[METRICS_LABELS_MAX]; /* the first NULL ends them */
    char *label_values[METRICS_LABELS_MAX];
    union {
        struct metrics_counter counter;
        struct metrics_gauge gauge; /* also of counters with fractions */
        struct metrics_histogram histogram;
    } as;
};

/* All metrics of one name. */
struct metric_family {
    char *name;
    const char *help;
    enum kind kind;
    struct metric **metrics; /* each allocated separately: users keep pointers to it */
    size_t count;
};

struct refresher {
    void (*refresh)(void *ctx);
    void *ctx;
};

struct metrics {
    struct metric_family *families;
    size_t family_count;
    size_t metric_count;
    struct refresher *refreshers;
    size_t refresher_count;
    struct metrics_gauge *cpu, *rss, *vss, *fds, *fds_max;
};

/* Upper bounds of all buckets but the last, which has none. */
struct metrics_buckets {
    size_t count; /* of the bounds */
    int64_t bounds_us[METRICS_BUCKETS_MAX - 1];
};

static const struct metrics_buckets call_buckets = {
    37, {100,      200,      300,      400,      600,      800,     1000,     2000,
         3000,     4000,     6000,     8000,     10000,    20000,   30000,    40000,
         60000,    80000,    100000,   200000,   300000,   400000,  600000,   800000,
         1000000,  2000000,  3000000,  4000000,  6000000,  8000000, 10000000, 20000000,
         30000000, 40000000, 60000000, 80000000, 100000000}};

#define SECONDS(count) (INT64_C(count) * 1000000)
static const struct metrics_buckets long_buckets = {
    20, {5000,          10000,          25000,          50000,          100000,
         250000,        500000,         SECONDS(1),     SECONDS(2),     SECONDS(5),
         SECONDS(10),   SECONDS(30),    SECONDS(60),    SECONDS(300),   SECONDS(900),
         SECONDS(3600), SECONDS(14400), SECONDS(43200), SECONDS(86400), SECONDS(604800)}};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    assert(metrics != NULL);
    return metrics;
}

static void free_metric(struct metric *metric)
{
    for (int i = 0; i < METRICS_LABELS_MAX; i++) {
        free(metric->label_names[i]);
        free(metric->label_values[i]);
    }
    free(metric);
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    for (size_t i = 0; i < metrics->family_count; i++) {
        struct metric_family *family = &metrics->families[i];
        for (size_t k = 0; k < family->count; k++)
            free_metric(family->metrics[k]);
        free(family->metrics);
        free(family->name);
    }
    free(metrics->families);
    free(metrics->refreshers);
    free(metrics);
}

/* ---- registration ---- */

static bool is_name(const char *name)
{
    if (!isalpha((unsigned char)name[0]))
        return false;
    for (; *name != '\0'; name++) {
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    }
    return true;
}

static char *copy(const char *text)
{
    char *copied = text != NULL ? strdup(text) : NULL;
    assert(copied != NULL || text == NULL);
    return copied;
}

static struct metric_family *get_family(struct metrics *metrics, const char *name, const char *help,
                                        enum kind kind)
{
    for (size_t i = 0; i < metrics->family_count; i++) {
        if (strcmp(metrics->families[i].name, name) == 0) {
            assert(metrics->families[i].kind == kind);
            return &metrics->families[i];
        }
    }
    assert(is_name(name));
    assert(strncmp(name, "reeve_", 6) == 0 || strncmp(name, "process_", 8) == 0);
    struct metric_family *grown =
        realloc(metrics->families, (metrics->family_count + 1) * sizeof(*metrics->families));
    assert(grown != NULL);
    metrics->families = grown;
    struct metric_family *family = &grown[metrics->family_count++];
    *family = (struct metric_family){.name = copy(name), .help = help, .kind = kind};
    return family;
}

static bool same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool has_labels(const struct metric *metric, const struct metrics_labels *labels)
{
    for (int i = 0; i < METRICS_LABELS_MAX; i++) {
        if (!same(metric->label_names[i], labels->names[i]) ||
            !same(metric->label_values[i], labels->values[i]))
            return false;
    }
    return true;
}

static struct metric *get_metric(struct metrics *metrics, const char *name, const char *help,
                                 enum kind kind, const struct metrics_labels *labels)
{
    struct metric_family *family = get_family(metrics, name, help, kind);
    for (size_t i = 0; i < family->count; i++) {
        if (has_labels(family->metrics[i], labels))
            return family->metrics[i];
    }
    assert(metrics->metric_count < METRICS_MAX);
    struct metric *metric = calloc(1, sizeof(*metric));
    struct metric **grown = realloc(family->metrics, (family->count + 1) * sizeof(struct metric *));
    assert(metric != NULL && grown != NULL);
    for (int i = 0; i < METRICS_LABELS_MAX; i++) {
        assert(labels->names[i] == NULL || is_name(labels->names[i]));
        assert((labels->names[i] == NULL) == (labels->values[i] == NULL));
        metric->label_names[i] = copy(labels->names[i]);
        metric->label_values[i] = copy(labels->values[i]);
    }
    family->metrics = grown;
    family->metrics[family->count++] = metric;
    metrics->metric_count++;
    return metric;
}

struct metrics_counter *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                        struct metrics_labels labels)
{
    return &get_metric(metrics, name, help, KIND_COUNTER, &labels)->as.counter;
}

struct metrics_gauge *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                    struct metrics_labels labels)
{
    return &get_metric(metrics, name, help, KIND_GAUGE, &labels)->as.gauge;
}

static struct metrics_histogram *get_histogram(struct metrics *metrics, const char *name,
                                               const char *help,
                                               const struct metrics_labels *labels,
                                               const struct metrics_buckets *bounds)
{
    struct metrics_histogram *histogram =
        &get_metric(metrics, name, help, KIND_HISTOGRAM, labels)->as.histogram;
    assert(histogram->bounds == NULL || histogram->bounds == bounds);
    histogram->bounds = bounds;
    return histogram;
}

struct metrics_histogram *metrics_histogram(struct metrics *metrics, const char *name,
                                            const char *help, struct metrics_labels labels)
{
    return get_histogram(metrics, name, help, &labels, &call_buckets);
}

struct metrics_histogram *metrics_long_histogram(struct metrics *metrics, const char *name,
                                                 const char *help, struct metrics_labels labels)
{
    return get_histogram(metrics, name, help, &labels, &long_buckets);
}

void metrics_on_render(struct metrics *metrics, void (*refresh)(void *ctx), void *ctx)
{
    metrics->refreshers = reallocarray(metrics->refreshers, metrics->refresher_count + 1,
                                       sizeof(metrics->refreshers[0]));
    assert(metrics->refreshers != NULL);
    metrics->refreshers[metrics->refresher_count++] = (struct refresher){refresh, ctx};
}

/* ---- histograms ---- */

void metrics_observe_us(struct metrics_histogram *histogram, int64_t us)
{
    size_t low = 0;
    size_t high = histogram->bounds->count;
    us = us < 0 ? 0 : us;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (us <= histogram->bounds->bounds_us[middle])
            high = middle;
        else
            low = middle + 1;
    }
    histogram->buckets[low]++;
    histogram->count++;
    histogram->sum += (double)us / 1e6;
}

/* ---- the process ---- */

static void refresh_memory(struct metrics *metrics)
{
    double size = 0;
    double resident = 0;
    double page = (double)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return;
    if (fscanf(file, "%lf %lf", &size, &resident) == 2) {
        metrics_set(metrics->vss, size * page);
        metrics_set(metrics->rss, resident * page);
    }
    fclose(file);
}

static double open_descriptors(void)
{
    double count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the directory itself */
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void refresh_process(void *ctx)
{
    struct metrics *metrics = ctx;
    struct rusage usage;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        metrics_set(metrics->cpu, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metrics_set(metrics->fds_max, (double)limit.rlim_cur);
    refresh_memory(metrics);
    metrics_set(metrics->fds, open_descriptors());
}

void metrics_add_process(struct metrics *metrics)
{
    const struct metrics_labels none = METRICS_NO_LABELS;
    assert(metrics->cpu == NULL);
    metrics->cpu = &get_metric(metrics, "process_cpu_seconds_total",
                               "User and system CPU time spent.", KIND_REAL_COUNTER, &none)
                        ->as.gauge;
    metrics->rss =
        metrics_gauge(metrics, "process_resident_memory_bytes", "Resident memory.", none);
    metrics->vss = metrics_gauge(metrics, "process_virtual_memory_bytes", "Virtual memory.", none);
    metrics->fds = metrics_gauge(metrics, "process_open_fds", "Open file descriptors.", none);
    metrics->fds_max =
        metrics_gauge(metrics, "process_max_fds", "File descriptors that may be open.", none);
    metrics_set(metrics_gauge(metrics, "process_start_time_seconds",
                              "Start of the process in seconds since the epoch.", none),
                (double)clock_wall_ms(clock_real()) / 1000);
    metrics_on_render(metrics, refresh_process, metrics);
}

/* ---- the text format ---- */

static void print_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
    }
}

/* `le`: the extra label of buckets, NULL = none. */
static void print_name(FILE *out, const struct metric_family *family, const struct metric *metric,
                       const char *suffix, const char *le)
{
    const char *separator = "{";
    fprintf(out, "%s%s", family->name, suffix);
    for (int i = 0; i < METRICS_LABELS_MAX && metric->label_names[i] != NULL; i++) {
        fprintf(out, "%s%s=\"", separator, metric->label_names[i]);
        print_escaped(out, metric->label_values[i]);
        fputc('"', out);
        separator = ",";
    }
    if (le != NULL)
        fprintf(out, "%sle=\"%s\"", separator, le);
    fputs(metric->label_names[0] != NULL || le != NULL ? "} " : " ", out);
}

static void print_real(FILE *out, double value)
{
    if (isinf(value))
        fputs(value > 0 ? "+Inf\n" : "-Inf\n", out);
    else if (isnan(value))
        fputs("NaN\n", out);
    else
        fprintf(out, "%.15g\n", value);
}

static void print_histogram(FILE *out, const struct metric_family *family,
                            const struct metric *metric)
{
    const struct metrics_histogram *histogram = &metric->as.histogram;
    uint64_t below = 0;
    const struct metrics_buckets *bounds = histogram->bounds;
    for (size_t i = 0; i <= bounds->count; i++) {
        char le[32] = "+Inf";
        below += histogram->buckets[i];
        if (i < bounds->count)
            snprintf(le, sizeof(le), "%g", (double)bounds->bounds_us[i] / 1e6);
        print_name(out, family, metric, "_bucket", le);
        fprintf(out, "%" PRIu64 "\n", below);
    }
    assert(below == histogram->count);
    print_name(out, family, metric, "_sum", NULL);
    print_real(out, histogram->sum);
    print_name(out, family, metric, "_count", NULL);
    fprintf(out, "%" PRIu64 "\n", histogram->count);
}

static void print_metric(FILE *out, const struct metric_family *family, const struct metric *metric)
{
    switch (family->kind) {
    case KIND_COUNTER:
        print_name(out, family, metric, "", NULL);
        fprintf(out, "%" PRIu64 "\n", metric->as.counter.value);
        break;
    case KIND_GAUGE:
    case KIND_REAL_COUNTER:
        if (!metric->as.gauge.set)
            break;
        print_name(out, family, metric, "", NULL);
        print_real(out, metric->as.gauge.value);
        break;
    case KIND_HISTOGRAM:
        print_histogram(out, family, metric);
        break;
    }
}

char *metrics_render(struct metrics *metrics, size_t *ret_size)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "counter"};
    char *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < metrics->refresher_count; i++)
        metrics->refreshers[i].refresh(metrics->refreshers[i].ctx);
    FILE *out = open_memstream(&text, &size);
    assert(out != NULL);
    for (size_t i = 0; i < metrics->family_count; i++) {
        const struct metric_family *family = &metrics->families[i];
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
                types[family->kind]);
        for (size_t k = 0; k < family->count; k++)
            print_metric(out, family, family->metrics[k]);
    }
    int rc = fclose(out);
    assert(rc == 0);
    *ret_size = size;
    return text;
}
