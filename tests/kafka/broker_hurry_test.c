/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that wait for much at a time, and what changes when they are in a hurry: on a real
 * broker, as the embedded one knows no fetch.min.bytes. */
#include "platform/metrics.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A fetch of much waits for far longer than the test does. */
static void open_bulk_lab(struct lab *lab, struct metrics *metrics)
{
    static const struct kafka_setting bulk[] = {{"fetch.min.bytes", "10000000"},
                                                {"fetch.wait.max.ms", "200000"},
                                                {"socket.timeout.ms", "290000"},
                                                {"statistics.interval.ms", "100"}};
    lab_open_with(lab,
                  (struct kafka_client_options){.settings = bulk,
                                                .setting_count = sizeof(bulk) / sizeof(bulk[0]),
                                                .metrics = metrics,
                                                .metrics_client = "lab"});
}

static void append_numbers(struct lab *lab, struct lab_appends *appends, uint32_t count)
{
    uint32_t wanted = appends->sent + count;
    while (appends->sent < wanted)
        lab_append_number(lab, appends, 0);
    cr_assert(lab_wait(lab, &appends->acked, wanted));
}

static bool shows_the_quick_reader(void *ctx)
{
    size_t size = 0;
    char *text = metrics_render(ctx, &size);
    bool shows = strstr(text, "fetched_records{client=\"lab\",handle=\"quick-reader\"}") != NULL;
    free(text);
    return shows;
}

Test(hurry, gets_what_a_fetch_of_much_would_wait_for, .timeout = 120)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    struct metrics *metrics = metrics_new();
    open_bulk_lab(&lab, metrics);
    lab_appends_init(&appends, 10);
    lab_read(&lab, &reader, 0, 0);
    broker_reader_hurry(reader.reader, true);
    append_numbers(&lab, &appends, 3);
    cr_assert(lab_wait(&lab, &reader.records, 3));
    append_numbers(&lab, &appends, 1);
    cr_assert(lab_wait(&lab, &reader.records, 4));
    cr_assert_eq(reader.disorder, 0);
    cr_assert(lab_wait_until(&lab, shows_the_quick_reader, metrics));
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
    metrics_free(metrics);
}

Test(hurry, misses_and_repeats_nothing_when_it_begins_and_ends, .timeout = 120)
{
    enum { ROUNDS = 40, RECORDS = 50 };
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open(&lab);
    lab_appends_init(&appends, ROUNDS * RECORDS);
    lab_read(&lab, &reader, 0, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        append_numbers(&lab, &appends, RECORDS);
        broker_reader_hurry(reader.reader, round % 2 == 0);
    }
    cr_assert(lab_wait(&lab, &reader.records, ROUNDS * RECORDS));
    cr_assert_eq(reader.records, ROUNDS * RECORDS);
    cr_assert_eq(reader.disorder, 0);
    cr_assert_eq(reader.fatal, 0);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}
