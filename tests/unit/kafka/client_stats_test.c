/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of librdkafka as metrics. */
#include "kafka/client_stats.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct metrics *metrics;
static struct kafka_stats *stats;
static char *text;

static void open_stats(void)
{
    metrics = metrics_new();
    stats = kafka_stats_new(metrics, "scheduler");
}

static void close_stats(void)
{
    kafka_stats_free(stats);
    metrics_free(metrics);
    free(text);
}

TestSuite(kafka_stats, .init = open_stats, .fini = close_stats);

static bool shows(const char *line)
{
    size_t size = 0;
    char whole[256];
    free(text);
    text = metrics_render(metrics, &size);
    snprintf(whole, sizeof(whole), "\nreeve_kafka_client_%s\n", line);
    return strstr(text, whole) != NULL;
}

static bool shows_any(const char *name)
{
    char begin[128];
    shows("");
    snprintf(begin, sizeof(begin), "\nreeve_kafka_client_%s{", name);
    return strstr(text, begin) != NULL;
}

static void take(const void *handle, const char *role, const char *report)
{
    kafka_stats_take(stats, handle, role, report, strlen(report));
}

static const int first, second;

#define BROKER(id, source, requests)                                                 \
    "{\"nodeid\":" id ",\"source\":\"" source "\",\"tx\":" requests ",\"txerrs\":2," \
    "\"outbuf_cnt\":3,\"waitresp_cnt\":4,"                                           \
    "\"req\":{\"Produce\":8,\"Fetch\":9,\"Metadata\":1},"                            \
    "\"rtt\":{\"cnt\":5,\"avg\":1500,\"p99\":20000},\"throttle\":{\"cnt\":5,\"max\":250}}"

Test(kafka_stats, show_a_producer_and_its_brokers)
{
    take(&first, "log",
         "{\"type\":\"producer\",\"msg_cnt\":7,\"msg_size\":900,\"replyq\":1,\"brokers\":{"
         "\"a/1\":" BROKER("1", "learned", "10") ",\"b\":" BROKER(
             "-1", "configured", "1") ","
                                      "\"c\":" BROKER("1", "logical", "6") "},\"topics\":{}}");
    cr_assert(shows("queued_records{client=\"scheduler\",handle=\"log\"} 7"), "%s", text);
    cr_assert(shows("queued_bytes{client=\"scheduler\",handle=\"log\"} 900"));
    cr_assert(shows("waiting_events{client=\"scheduler\",handle=\"log\"} 1"));
    cr_assert(shows("rtt_avg_seconds{client=\"scheduler\",handle=\"log\",broker=\"1\"} 0.0015"));
    cr_assert(shows("rtt_p99_seconds{client=\"scheduler\",handle=\"log\",broker=\"1\"} 0.02"));
    cr_assert(shows("throttle_seconds{client=\"scheduler\",handle=\"log\",broker=\"1\"} 0.25"));
    cr_assert(shows("queued_requests{client=\"scheduler\",handle=\"log\",broker=\"1\"} 3"));
    cr_assert(shows("inflight_requests{client=\"scheduler\",handle=\"log\",broker=\"1\"} 4"));
    cr_assert(shows("requests_total{client=\"scheduler\",handle=\"log\",broker=\"1\"} 10"));
    cr_assert(shows("send_errors_total{client=\"scheduler\",handle=\"log\",broker=\"1\"} 2"));
    cr_assert(shows("produce_requests_total{client=\"scheduler\",handle=\"log\",broker=\"1\"} 8"));
    cr_assert(shows("fetch_requests_total{client=\"scheduler\",handle=\"log\",broker=\"1\"} 9"));
    cr_assert(
        shows("requests_total{client=\"scheduler\",handle=\"log\",broker=\"coordinator\"} 6"));
    cr_assert_not(shows_any("fetched_records"));
    cr_assert(strstr(text, "broker=\"-1\"") == NULL);
}

Test(kafka_stats, add_up_what_a_consumer_fetched_ahead)
{
    take(&first, "reader",
         "{\"type\":\"consumer\",\"topics\":{"
         "\"t\":{\"partitions\":{\"0\":{\"fetchq_cnt\":3,\"fetchq_size\":100},"
         "\"-1\":{\"fetchq_cnt\":0}}},"
         "\"u\":{\"partitions\":{\"0\":{\"fetchq_cnt\":2,\"fetchq_size\":11}}}}}");
    cr_assert(shows("fetched_records{client=\"scheduler\",handle=\"reader\"} 5"), "%s", text);
    cr_assert(shows("fetched_bytes{client=\"scheduler\",handle=\"reader\"} 111"));
    cr_assert_not(shows_any("queued_records"));
}

/* A dead producer, or a member that was fenced. */
Test(kafka_stats, go_on_counting_when_a_handle_is_replaced)
{
    const char *line = "requests_total{client=\"scheduler\",handle=\"group\",broker=\"1\"}";
    char expected[128];
    take(&first, "group", "{\"brokers\":{\"a\":" BROKER("1", "learned", "10") "}}");
    take(&first, "group", "{\"brokers\":{\"a\":" BROKER("1", "learned", "12") "}}");
    take(&second, "group", "{\"brokers\":{\"a\":" BROKER("1", "learned", "99") "}}");
    snprintf(expected, sizeof(expected), "%s 12", line);
    cr_assert(shows(expected), "%s", text);
    kafka_stats_forget(stats, &second, "group");
    cr_assert(shows_any("rtt_avg_seconds"));
    kafka_stats_forget(stats, &first, "group");
    cr_assert_not(shows_any("rtt_avg_seconds"));
    cr_assert_not(shows_any("waiting_events"));
    take(&second, "group", "{\"brokers\":{\"a\":" BROKER("1", "learned", "5") "}}");
    snprintf(expected, sizeof(expected), "%s 17", line);
    cr_assert(shows(expected), "%s", text);
}

Test(kafka_stats, hide_a_time_that_was_not_measured)
{
    take(&first, "log", "{\"brokers\":{\"a\":" BROKER("1", "learned", "1") "}}");
    take(&first, "log", "{\"brokers\":{\"a\":{\"nodeid\":1,\"rtt\":{\"cnt\":0,\"avg\":0}}}}");
    cr_assert_not(shows_any("rtt_avg_seconds"), "%s", text);
    cr_assert(shows("throttle_seconds{client=\"scheduler\",handle=\"log\",broker=\"1\"} 0"));
    take(&first, "log", "{\"brokers\":{}}");
    cr_assert_not(shows_any("throttle_seconds"));
}

Test(kafka_stats, leave_out_brokers_beyond_the_limit)
{
    char report[64];
    for (int i = 0; i < KAFKA_STATS_BROKERS_MAX + 5; i++) {
        snprintf(report, sizeof(report), "{\"brokers\":{\"a\":{\"nodeid\":%d,\"tx\":1}}}", i);
        take(&first, "log", report);
    }
    cr_assert(shows("requests_total{client=\"scheduler\",handle=\"log\",broker=\"31\"} 1"));
    cr_assert_not(shows("requests_total{client=\"scheduler\",handle=\"log\",broker=\"32\"} 1"));
}

Test(kafka_stats, ignore_what_is_not_a_report)
{
    static const char *const reports[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"brokers\":[1]}",
        "{\"brokers\":{\"a\":1,\"b\":{\"nodeid\":\"x\"}}}",
        "{\"topics\":{\"t\":null},\"type\":3}",
        "{\"brokers\":{\"a\":{\"nodeid\":1,\"tx\":-4,\"rtt\":[]}}}"};
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        take(&first, "log", reports[i]);
    cr_assert(shows("requests_total{client=\"scheduler\",handle=\"log\",broker=\"1\"} 0"), "%s",
              text);
}
