/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/metrics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct metrics *metrics;
static char *text;

static void open_metrics(void)
{
    metrics = metrics_new();
}

static void close_metrics(void)
{
    metrics_free(metrics);
    free(text);
}

TestSuite(metrics, .init = open_metrics, .fini = close_metrics);

static const char *render(void)
{
    size_t size = 0;
    free(text);
    text = metrics_render(metrics, &size);
    cr_assert(strlen(text) == size);
    return text;
}

Test(metrics, groups_counters_and_gauges_in_families)
{
    struct metrics_counter *read = metrics_counter(metrics, "reeve_records_total", "Records.",
                                                   METRICS_LABEL("topic", "events"));
    struct metrics_gauge *lag =
        metrics_gauge(metrics, "reeve_lag_records", "Lag.", METRICS_NO_LABELS);
    struct metrics_counter *other = metrics_counter(metrics, "reeve_records_total", "Records.",
                                                    METRICS_LABEL("topic", "a\"b\\c\nd"));
    cr_assert(other != read);
    cr_assert(metrics_counter(metrics, "reeve_records_total", "Records.",
                              METRICS_LABEL("topic", "events")) == read);
    metrics_add(read, 3);
    metrics_add(other, UINT64_MAX);
    cr_assert_str_eq(render(), "# HELP reeve_records_total Records.\n"
                               "# TYPE reeve_records_total counter\n"
                               "reeve_records_total{topic=\"events\"} 3\n"
                               "reeve_records_total{topic=\"a\\\"b\\\\c\\nd\"} "
                               "18446744073709551615\n"
                               "# HELP reeve_lag_records Lag.\n"
                               "# TYPE reeve_lag_records gauge\n");
    metrics_set(lag, 1.5);
    cr_assert(strstr(render(), "\nreeve_lag_records 1.5\n") != NULL);
    metrics_set(lag, -INFINITY);
    cr_assert(strstr(render(), "\nreeve_lag_records -Inf\n") != NULL);
    metrics_unset(lag);
    cr_assert(strstr(render(), "\nreeve_lag_records ") == NULL);
}

Test(metrics, accumulates_histogram_buckets)
{
    struct metrics_histogram *histogram =
        metrics_histogram(metrics, "reeve_decide_seconds", "Time to decide.",
                          METRICS_LABELS("service", "scheduler", "partition", "3"));
    metrics_observe_us(histogram, -5);
    metrics_observe_us(histogram, 100);
    metrics_observe_us(histogram, 101);
    metrics_observe_us(histogram, 1500000);
    metrics_observe_us(histogram, INT64_C(100000001));
    render();
    static const char *const lines[] = {"le=\"0.0001\"} 2\n", "le=\"0.0002\"} 3\n",
                                        "le=\"1\"} 3\n",      "le=\"2\"} 4\n",
                                        "le=\"100\"} 4\n",    "le=\"+Inf\"} 5\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_assert(strstr(text, lines[i]) != NULL, "%s%s", lines[i], text);
    cr_assert(
        strstr(text, "\nreeve_decide_seconds_count{service=\"scheduler\",partition=\"3\"} 5\n"));
    cr_assert(strstr(text, "\nreeve_decide_seconds_sum{service=\"scheduler\",partition=\"3\"} "
                           "101.500202\n"));
}

Test(metrics, has_fewer_and_longer_buckets_for_long_work)
{
    struct metrics_histogram *histogram = metrics_long_histogram(
        metrics, "reeve_order_seconds", "Orders.",
        (struct metrics_labels){{"workflow", "step", "direction"}, {"w", "s", "do"}});
    metrics_observe_us(histogram, 5000);
    metrics_observe_us(histogram, INT64_C(3600) * 1000000);
    metrics_observe_us(histogram, INT64_C(8) * 86400 * 1000000);
    render();
    static const char *const lines[] = {
        "{workflow=\"w\",step=\"s\",direction=\"do\",le=\"0.005\"} 1\n", "le=\"900\"} 1\n",
        "le=\"3600\"} 2\n", "le=\"604800\"} 2\n", "le=\"+Inf\"} 3\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_assert(strstr(text, lines[i]) != NULL, "%s%s", lines[i], text);
    cr_assert(strstr(text, "reeve_order_seconds_sum{workflow=\"w\",step=\"s\",direction=\"do\"} "
                           "694800.005\n"));
}

static void count_refresh(void *ctx)
{
    ++*(int *)ctx;
}

/* A process hosts up to 32 agents, each with some of its own. */
Test(metrics, takes_any_number_of_refreshers)
{
    int count = 0;
    for (int i = 0; i < 200; i++)
        metrics_on_render(metrics, count_refresh, &count);
    render();
    cr_assert_eq(count, 200);
}

static void refresh(void *ctx)
{
    metrics_set(ctx, 42);
}

Test(metrics, reads_the_process_and_refreshes_when_rendering)
{
    struct metrics_gauge *gauge =
        metrics_gauge(metrics, "reeve_answer", "The answer.", METRICS_NO_LABELS);
    metrics_on_render(metrics, refresh, gauge);
    metrics_add_process(metrics);
    render();
    cr_assert(strstr(text, "\nreeve_answer 42\n") != NULL);
    cr_assert(strstr(text, "# TYPE process_cpu_seconds_total counter\n") != NULL);
    const char *rss = strstr(text, "\nprocess_resident_memory_bytes ");
    const char *vss = strstr(text, "\nprocess_virtual_memory_bytes ");
    const char *fds = strstr(text, "\nprocess_open_fds ");
    cr_assert(rss != NULL && strtod(strchr(rss, ' '), NULL) > 1e5);
    cr_assert(vss != NULL && strtod(strchr(vss, ' '), NULL) > strtod(strchr(rss, ' '), NULL));
    cr_assert(fds != NULL && strtod(strchr(fds, ' '), NULL) >= 3);
}

Test(metrics, aborts_on_foreign_names, .signal = SIGABRT)
{
    metrics_counter(metrics, "orders_total", "Orders.", METRICS_NO_LABELS);
}

Test(metrics, aborts_when_a_name_changes_its_type, .signal = SIGABRT)
{
    metrics_counter(metrics, "reeve_x", "X.", METRICS_NO_LABELS);
    metrics_gauge(metrics, "reeve_x", "X.", METRICS_NO_LABELS);
}
