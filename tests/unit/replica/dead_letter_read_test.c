/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters read back, also those with hostile headers. */
#include "replica/cluster/dead_letter.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct dead_letter letter;
static struct dead_letter_reading reading;

/* Builds a dead letter of the record and reads it back. */
static bool read_back(const struct broker_record *record, const struct dead_letter_cut *cut)
{
    struct broker_record kept = {.topic = "t.dead-letters"};
    dead_letter_build(record, cut, "BadValue", "bad value", &letter);
    kept.key = letter.key;
    kept.value = letter.value;
    kept.header_count = letter.header_count;
    memcpy(kept.headers, letter.headers, letter.header_count * sizeof(letter.headers[0]));
    static struct broker_record last;
    last = kept;
    return dead_letter_read(&last, &reading);
}

static struct broker_record record_with(const char *name, const char *value)
{
    return (struct broker_record){.topic = "t.submissions",
                                  .partition = 3,
                                  .offset = 40,
                                  .key = TEXT("o-1"),
                                  .value = TEXT("xyz"),
                                  .headers = {{text_of(name), text_of(value)}},
                                  .header_count = 1};
}

Test(dead_letter_read, reads_what_was_built)
{
    struct broker_record record = record_with("trace", "abc");
    cr_assert(read_back(&record, NULL));
    cr_assert(text_equal(reading.code, TEXT("BadValue")));
    cr_assert(text_equal(reading.message, TEXT("bad value")));
    cr_assert(text_equal(reading.topic, TEXT("t.submissions")));
    cr_assert(reading.partition == 3 && reading.offset == 40);
    cr_assert(reading.value_bytes == 0 && reading.meta_bytes == 0 && !reading.unreadable);
    cr_assert_eq(reading.header_count, 1);
    cr_assert(text_equal(reading.headers[0].value, TEXT("abc")));
}

Test(dead_letter_read, reads_what_was_cut)
{
    static char large[2 << 20];
    struct broker_record record = record_with("trace", "abc");
    struct dead_letter_cut cut = {.next_offset = 50};
    record.value = (struct text){large, sizeof(large)};
    cr_assert(read_back(&record, NULL));
    cr_assert_eq(reading.value_bytes, sizeof(large));
    cr_assert_eq(reading.value_xxh128.size, 32);
    cr_assert_eq(reading.header_count, 1);
    record = record_with("trace", "abc");
    record.key = (struct text){large, 100000};
    cr_assert(read_back(&record, NULL));
    cr_assert_eq(reading.meta_bytes, 100008);
    cr_assert_eq(reading.header_count, 0);
    record = record_with("trace", "abc");
    record.value = (struct text){0};
    cr_assert(read_back(&record, &cut));
    cr_assert(reading.unreadable);
}

Test(dead_letter_read, does_not_believe_the_senders_headers)
{
    static const char *const names[] = {"reeve.errors.value_bytes", "reeve.errors.meta_bytes",
                                        "reeve.errors.next_offset", "__streams.errors.topic"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct broker_record record = record_with(names[i], "77");
        cr_assert(read_back(&record, NULL));
        cr_assert(text_equal(reading.topic, TEXT("t.submissions")));
        cr_assert(reading.value_bytes == 0 && reading.meta_bytes == 0 && !reading.unreadable);
        cr_assert_eq(reading.header_count, 1, "%s", names[i]);
    }
}

/* Random headers with our names and odd values: never more headers than there are. */
Test(dead_letter_read, survives_any_headers)
{
    static const char *const names[] = {"__streams.errors.exception",
                                        "__streams.errors.message",
                                        "__streams.errors.topic",
                                        "__streams.errors.partition",
                                        "__streams.errors.offset",
                                        "reeve.errors.value_bytes",
                                        "reeve.errors.value_xxh128",
                                        "reeve.errors.meta_bytes",
                                        "reeve.errors.next_offset",
                                        "reeve.errors.first_offset",
                                        "x"};
    static const char *const values[] = {"",     "-1", "0", "9223372036854775807", "-9", "1e9",
                                         "\xff", "7",  " 7"};
    uint32_t state = 1;
    for (int round = 0; round < 20000; round++) {
        struct broker_record record = {.topic = "t"};
        for (uint32_t i = 0; i < BROKER_HEADERS_MAX; i++) {
            state = state * 1664525 + 1013904223;
            uint32_t name = i < 5 && state >> 30 != 0 ? i : (state >> 8) % 11;
            record.headers[i] =
                (struct broker_header){text_of(names[name]), text_of(values[(state >> 16) % 9])};
            record.header_count += state >> 28 != 0;
        }
        if (!dead_letter_read(&record, &reading))
            continue;
        cr_assert(reading.partition >= -1 && reading.offset >= -1);
        cr_assert_leq(reading.header_count, record.header_count - 5);
        cr_assert(reading.headers + reading.header_count == record.headers + record.header_count);
    }
}
