/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters keep what fits and describe the rest. */
#include "replica/cluster/dead_letter.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct dead_letter letter;

static struct text header(const char *name)
{
    for (uint32_t i = 0; i < letter.header_count; i++)
        if (text_equal(letter.headers[i].name, text_of(name)))
            return letter.headers[i].value;
    return (struct text){0};
}

static struct broker_record record_of(struct text key, struct text value)
{
    return (struct broker_record){
        .topic = "p.submissions", .partition = 3, .offset = 17, .key = key, .value = value};
}

static struct text bytes(uint32_t size)
{
    static char *kept[8]; /* a cut record no longer names them */
    static size_t count;
    char *data = calloc(size, 1);
    cr_assert_not_null(data);
    cr_assert_lt(count, sizeof(kept) / sizeof(kept[0]));
    kept[count++] = data;
    return (struct text){data, size};
}

Test(dead_letter, keeps_a_record_that_fits_as_it_is)
{
    struct broker_record record = record_of(TEXT("o1"), TEXT("value"));
    record.headers[0] = (struct broker_header){TEXT("trace"), TEXT("abc")};
    record.header_count = 1;
    dead_letter_build(&record, NULL, "NotAvro", "no Avro", &letter);
    cr_assert(text_equal(letter.key, TEXT("o1")));
    cr_assert(letter.value.data == record.value.data && letter.value.size == 5);
    cr_assert(letter.header_count == 6);
    cr_assert(text_equal(header("__streams.errors.exception"), TEXT("NotAvro")));
    cr_assert(text_equal(header("__streams.errors.message"), TEXT("no Avro")));
    cr_assert(text_equal(header("__streams.errors.topic"), TEXT("p.submissions")));
    cr_assert(text_equal(header("__streams.errors.partition"), TEXT("3")));
    cr_assert(text_equal(header("__streams.errors.offset"), TEXT("17")));
    cr_assert(text_equal(header("trace"), TEXT("abc")));
}

/* The hash is what `xxh128sum` prints for 20,000,000 zeros. */
Test(dead_letter, cuts_a_large_value_and_names_its_size_and_hash)
{
    struct broker_record record = record_of(TEXT("o1"), bytes(20000000));
    cr_assert(!dead_letter_fits(&record));
    dead_letter_build(&record, NULL, "TooLong", "too long", &letter);
    cr_assert(letter.value.size == DEAD_LETTER_CUT_BYTES);
    cr_assert(text_equal(header("reeve.errors.value_bytes"), TEXT("20000000")));
    cr_assert(
        text_equal(header("reeve.errors.value_xxh128"), TEXT("76aa482004a7b7fbb53990573f7772e5")),
        "%.*s", TEXT_ARG(header("reeve.errors.value_xxh128")));
    cr_assert(text_equal(letter.key, TEXT("o1")));
    free((void *)(uintptr_t)record.value.data);
}

Test(dead_letter, leaves_out_headers_that_are_too_large)
{
    struct broker_record record = record_of(bytes(2000), TEXT("v"));
    record.headers[0] = (struct broker_header){TEXT("big"), bytes(DEAD_LETTER_META_MAX)};
    record.header_count = 1;
    cr_assert(!dead_letter_fits(&record));
    dead_letter_build(&record, NULL, "TooLong", "too long", &letter);
    cr_assert(letter.key.size == DEAD_LETTER_KEY_BYTES);
    cr_assert(letter.header_count == 6);
    cr_assert(text_equal(header("reeve.errors.meta_bytes"), TEXT("67539")));
    cr_assert(letter.value.size == 1);
    free((void *)(uintptr_t)record.key.data);
    free((void *)(uintptr_t)record.headers[0].value.data);
}

/* What the reader dropped counts as well. */
Test(dead_letter, cuts_by_the_bytes_of_all_headers)
{
    struct broker_record record = record_of(TEXT("o1"), TEXT("v"));
    record.meta_bytes = 3 << 20;
    dead_letter_build(&record, NULL, "TooLong", "too long", &letter);
    cr_assert(text_equal(header("reeve.errors.meta_bytes"), TEXT("3145728")));
}

Test(dead_letter, describes_a_record_that_its_reader_cut)
{
    struct broker_record record = record_of(TEXT("o1"), bytes(2 << 20));
    struct dead_letter_cut cut;
    dead_letter_cut(&record, &cut);
    cr_assert(record.value.size == DEAD_LETTER_CUT_BYTES && cut.meta_bytes == 0);
    dead_letter_build(&record, &cut, "TooLong", "too long", &letter);
    cr_assert(text_equal(header("reeve.errors.value_bytes"), TEXT("2097152")));
    cut = (struct dead_letter_cut){.next_offset = 20};
    record.value = (struct text){0};
    dead_letter_build(&record, &cut, "Unreadable", "unreadable", &letter);
    cr_assert(text_equal(header("reeve.errors.next_offset"), TEXT("20")));
    cr_assert(letter.value.data == NULL);
}

Test(dead_letter, keeps_the_first_twelve_headers)
{
    struct broker_record record = record_of(TEXT("o1"), bytes(2 << 20));
    struct dead_letter_cut cut;
    for (; record.header_count < BROKER_HEADERS_MAX; record.header_count++)
        record.headers[record.header_count] = (struct broker_header){TEXT("h"), TEXT("x")};
    dead_letter_cut(&record, &cut);
    cr_assert_eq(record.header_count, DEAD_LETTER_HEADERS_MAX);
    dead_letter_build(&record, &cut, "TooLong", "too long", &letter);
    cr_assert(letter.header_count == 7 + DEAD_LETTER_HEADERS_MAX);
    record.value.size = 10;
    record.header_count = BROKER_HEADERS_MAX;
    dead_letter_build(&record, NULL, "BadValue", "bad value", &letter);
    cr_assert(letter.header_count == 5 + DEAD_LETTER_HEADERS_MAX);
}
