/* SPDX-License-Identifier: Apache-2.0 */
/* Malformed and hostile bytes. Under the sanitizers these tests also show that the decoder does not
 * read beyond the bytes, leak or overflow. */
#include "base/goods.h"
#include "tests/unit/schemas/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(schemas_hostile, .init = open_kit, .fini = close_kit);

/* xorshift64*: the same bytes on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* What is left of the memory that one hostile record may take: itself, its elements, and a block.
 */
static void assert_frugal(struct text bytes)
{
    cr_assert_leq(kit.memory.arena.used, 256 * 1024 + 400 * (size_t)bytes.size);
    heap_arena_deinit(&kit.memory);
    heap_arena_init(&kit.memory, 16 * 1024);
}

Test(schemas_hostile, rejects_a_record_truncated_anywhere)
{
    for (uint32_t i = 0; i < sample_count; i++) {
        struct buffer bytes = {0};
        codec_encode(kit.codec, samples[i].kind, samples[i].record, &bytes);
        for (uint32_t size = 0; size < bytes.size; size++)
            kit_refuses(&kit, (struct text){(const char *)bytes.data, size}, ERROR_REJECT,
                        size < 10 ? CODE_NOT_AVRO : CODE_TRUNCATED);
        put_bytes(&bytes, "", 1);
        kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_TRAILING_BYTES);
        buffer_deinit(&bytes);
    }
}

Test(schemas_hostile, rejects_flipped_bits_or_decodes_a_valid_record, .timeout = 120)
{
    uint64_t state = UINT64_C(20260101);
    uint32_t decoded = 0;
    for (uint32_t i = 0; i < sample_count; i++) {
        struct buffer bytes = {0};
        codec_encode(kit.codec, samples[i].kind, samples[i].record, &bytes);
        for (uint32_t round = 0; round < 3000; round++) {
            struct buffer flipped = {0};
            put_bytes(&flipped, bytes.data, bytes.size);
            for (uint64_t flips = next_random(&state) % 4 + 1; flips > 0; flips--) {
                uint64_t bit = next_random(&state) % ((bytes.size - 10) * 8);
                flipped.data[10 + bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
            if (kit_decode(&kit, text_of_buffer(&flipped)) == ERROR_OK) {
                /* A decoded record can be encoded and decoded again. */
                struct buffer again = kit_encode(&kit, &kit.record);
                cr_assert_eq(kit_decode(&kit, text_of_buffer(&again)), ERROR_OK, "%s",
                             kit.error.message);
                buffer_deinit(&again);
                decoded++;
            }
            assert_frugal(text_of_buffer(&flipped));
            buffer_deinit(&flipped);
        }
        buffer_deinit(&bytes);
    }
    cr_assert_gt(decoded, 1000);
}

Test(schemas_hostile, rejects_noise_or_decodes_a_valid_record, .timeout = 120)
{
    uint64_t state = UINT64_C(20260102);
    for (uint32_t round = 0; round < 40000; round++) {
        struct buffer noise = {0};
        enum record_kind kind = (enum record_kind)(1 + round % (RECORD_KIND_COUNT - 1));
        put_marker(&noise, codec_fingerprint(kit.codec, kind));
        for (uint64_t size = next_random(&state) % 64; size > 0; size--)
            put_bytes(&noise, &(uint8_t){(uint8_t)(next_random(&state) >> 56)}, 1);
        kit_decode(&kit, text_of_buffer(&noise));
        assert_frugal(text_of_buffer(&noise));
        buffer_deinit(&noise);
    }
}

Test(schemas_hostile, rejects_bytes_without_the_avro_marker)
{
    kit_refuses(&kit, TEXT(""), ERROR_REJECT, CODE_NOT_AVRO);
    kit_refuses(&kit, TEXT("{\"order_id\":\"1\"}"), ERROR_REJECT, CODE_NOT_AVRO);
    kit_refuses(&kit, TEXT("\0\0\0\0\7 confluent framing"), ERROR_REJECT, CODE_NOT_AVRO);
    kit_refuses(&kit, TEXT("\xc3\x02 23456789 "), ERROR_REJECT, CODE_NOT_AVRO);
    kit_refuses(&kit, TEXT("\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08"), ERROR_REJECT,
                CODE_UNKNOWN_SCHEMA);
    cr_assert_not_null(strstr(kit.error.message, "0807060504030201"));
    uint64_t fingerprint;
    cr_assert(codec_peek(TEXT("\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08"), &fingerprint));
    cr_assert_eq(fingerprint, UINT64_C(0x0807060504030201));
    cr_assert_not(codec_knows(kit.codec, fingerprint));
    cr_assert_not(codec_peek(TEXT("\xc3\x01\x01\x02\x03\x04\x05\x06\x07"), &fingerprint));
}

Test(schemas_hostile, rejects_a_record_over_the_limit)
{
    struct buffer bytes = {0};
    put_marker(&bytes, codec_fingerprint(kit.codec, RECORD_CANCEL_ORDER));
    buffer_reserve(&bytes, RECORD_BYTES_MAX);
    memset(bytes.data + bytes.size, 0, RECORD_BYTES_MAX);
    bytes.size = RECORD_BYTES_MAX + 1;
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_TOO_LONG);
    buffer_deinit(&bytes);
}

/* A CancelOrder whose order_id and the rest are these raw bytes. */
static void refuses_cancel(const char *bytes, size_t size, enum error_code code)
{
    struct buffer buffer = {0};
    put_marker(&buffer, codec_fingerprint(kit.codec, RECORD_CANCEL_ORDER));
    put_bytes(&buffer, bytes, size);
    put_bytes(&buffer, "\2b\2r\2t", 6);
    kit_refuses(&kit, text_of_buffer(&buffer), ERROR_REJECT, code);
    assert_frugal(text_of_buffer(&buffer));
    buffer_deinit(&buffer);
}
#define REFUSES_CANCEL(literal, code) refuses_cancel((literal), sizeof(literal) - 1, (code))

Test(schemas_hostile, checks_lengths_against_the_bytes)
{
    /* 8 GiB, INT64_MAX, INT64_MIN, -1 */
    REFUSES_CANCEL("\x80\x80\x80\x80\x40", CODE_TRUNCATED);
    REFUSES_CANCEL("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", CODE_TRUNCATED);
    REFUSES_CANCEL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", CODE_BAD_VALUE);
    REFUSES_CANCEL("\x01", CODE_BAD_VALUE);
    /* 65 bits, 11 bytes, no last byte */
    REFUSES_CANCEL("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", CODE_BAD_VALUE);
    REFUSES_CANCEL("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", CODE_BAD_VALUE);
    REFUSES_CANCEL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", CODE_BAD_VALUE);
}

Test(schemas_hostile, limits_texts_and_requires_utf8)
{
    char text[2 + ORDER_ID_BYTES_MAX + 1];
    memset(text, 'x', sizeof(text));
    memcpy(text, "\x82\x02", 2); /* 129 */
    refuses_cancel(text, sizeof(text), CODE_TOO_LONG);
    REFUSES_CANCEL("\x02\xff", CODE_BAD_VALUE);
    REFUSES_CANCEL("\x02\x80", CODE_BAD_VALUE);
    REFUSES_CANCEL("\x04\xc0\xaf", CODE_BAD_VALUE);         /* overlong '/' */
    REFUSES_CANCEL("\x06\xed\xa0\x80", CODE_BAD_VALUE);     /* surrogate */
    REFUSES_CANCEL("\x08\xf4\x90\x80\x80", CODE_BAD_VALUE); /* beyond U+10FFFF */
    REFUSES_CANCEL("\x12"
                   "12345678\xc3",
                   CODE_BAD_VALUE); /* a truncated character after 8 valid bytes */
}

/* A SubmitOrder up to its lines, then these bytes. */
static void refuses_lines(const struct buffer *lines, enum error_code code)
{
    struct buffer bytes = {0};
    put_marker(&bytes, codec_fingerprint(kit.codec, RECORD_SUBMIT_ORDER));
    put_string(&bytes, "1");
    put_string(&bytes, "");
    put_string(&bytes, "EUR");
    put_bytes(&bytes, lines->data, lines->size);
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, code);
    assert_frugal(text_of_buffer(&bytes));
    buffer_deinit(&bytes);
}

static void put_line(struct buffer *buffer)
{
    put_string(buffer, "sku");
    put_string(buffer, "");
    put_long(buffer, 1);
    put_long(buffer, 1);
    put_bytes(buffer, "\x05", 1);
}

Test(schemas_hostile, checks_counts_against_the_bytes)
{
    static const int64_t counts[] = {1000, INT64_MAX, INT64_MAX / 2, INT64_C(1) << 32};
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct buffer lines = {0};
        put_long(&lines, counts[i]);
        put_line(&lines);
        refuses_lines(&lines, CODE_TRUNCATED);
        lines.size = 0;
        put_long(&lines, -counts[i]);
        put_long(&lines, 9);
        put_line(&lines);
        refuses_lines(&lines, CODE_TRUNCATED);
        buffer_deinit(&lines);
    }
    struct buffer lines = {0};
    put_long(&lines, INT64_MIN);
    put_long(&lines, 9);
    put_line(&lines);
    refuses_lines(&lines, CODE_BAD_VALUE);
    lines.size = 0;
    put_long(&lines, ORDER_LINES_READ_MAX + 1);
    for (int i = 0; i <= ORDER_LINES_READ_MAX; i++)
        put_line(&lines);
    refuses_lines(&lines, CODE_TOO_MANY);
    /* the same number of elements in blocks of one */
    lines.size = 0;
    for (int i = 0; i <= ORDER_LINES_READ_MAX; i++) {
        put_long(&lines, 1);
        put_line(&lines);
    }
    refuses_lines(&lines, CODE_TOO_MANY);
    buffer_deinit(&lines);
}

Test(schemas_hostile, rejects_blocks_with_a_wrong_size)
{
    static const int64_t sizes[] = {-1, 8, 10, 1000, INT64_MAX, INT64_MIN};
    static const enum error_code codes[] = {CODE_BAD_VALUE, CODE_TRUNCATED, CODE_BAD_VALUE,
                                            CODE_TRUNCATED, CODE_TRUNCATED, CODE_BAD_VALUE};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buffer lines = {0};
        put_long(&lines, sizes[i] == 8 ? -3 : -1);
        put_long(&lines, sizes[i]);
        put_line(&lines);
        put_bytes(&lines, "\0\0\0", 3);
        refuses_lines(&lines, codes[i]);
        buffer_deinit(&lines);
    }
}

/* An order's bytes before its lines. */
static void put_order_head(struct buffer *buffer)
{
    put_marker(buffer, codec_fingerprint(kit.codec, RECORD_SUBMIT_ORDER));
    put_string(buffer, "1");
    put_string(buffer, "");
    put_string(buffer, "EUR");
}

/* An order's bytes after its lines. */
static void put_order_tail(struct buffer *buffer)
{
    put_long(buffer, 0); /* attributes */
    put_long(buffer, 1); /* priority */
    put_string(buffer, "");
    put_string(buffer, "flow");
    put_long(buffer, 0);
    put_string(buffer, "");
    put_long(buffer, 0); /* no hash */
    put_string(buffer, "");
    put_long(buffer, 0); /* no append time */
    put_string(buffer, "");
    put_long(buffer, 0); /* no parent */
}

/* Elements may come in several blocks, with and without sizes. */
Test(schemas_hostile, collects_elements_from_several_blocks)
{
    struct buffer bytes = {0};
    put_order_head(&bytes);
    for (int i = 0; i < 100; i++) {
        put_long(&bytes, i % 2 == 0 ? 3 : -3);
        if (i % 2 == 1)
            put_long(&bytes, 3 * 8);
        for (int line = 0; line < 3; line++)
            put_line(&bytes);
    }
    put_long(&bytes, 0);
    put_order_tail(&bytes);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    const struct order_details *details = &kit.record.command.submit_order;
    cr_assert_eq(details->goods->line_count, 300);
    for (uint32_t i = 0; i < 300; i++) {
        cr_assert(text_equal(details->goods->lines[i].sku, TEXT("sku")));
        cr_assert_eq(details->goods->lines[i].unit_price.unscaled, 5);
    }
    cr_assert(text_equal(details->workflow, TEXT("flow")));
    buffer_deinit(&bytes);
}

/* The price of an order's only line, as raw bytes. */
static enum error_class price_of(const char *raw, size_t size, int64_t *ret_unscaled,
                                 struct error *ret_error)
{
    struct buffer bytes = {0};
    put_order_head(&bytes);
    put_long(&bytes, 1);
    put_string(&bytes, "sku");
    put_string(&bytes, "");
    put_long(&bytes, 1);
    put_long(&bytes, (int64_t)size);
    put_bytes(&bytes, raw, size);
    put_long(&bytes, 0);
    put_order_tail(&bytes);
    enum error_class class = kit_decode(&kit, text_of_buffer(&bytes));
    *ret_error = kit.error;
    if (class == ERROR_OK)
        *ret_unscaled = kit.record.command.submit_order.goods->lines[0].unit_price.unscaled;
    buffer_deinit(&bytes);
    return class;
}
#define PRICE(raw) price_of((raw), sizeof(raw) - 1, &unscaled, &error)

Test(schemas_hostile, reads_decimals_of_any_length_within_their_bounds)
{
    int64_t unscaled = 0;
    struct error error;
    cr_assert_eq(PRICE("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7b"), ERROR_OK);
    cr_assert_eq(unscaled, 123);
    cr_assert_eq(PRICE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80"), ERROR_OK);
    cr_assert_eq(unscaled, -128);
    cr_assert_eq(PRICE("\x0d\xe0\xb6\xb3\xa7\x63\xff\xff"), ERROR_OK);
    cr_assert_eq(unscaled, DECIMAL_UNSCALED_MAX);
    cr_assert_eq(PRICE(""), ERROR_REJECT);
    cr_assert_eq(PRICE("\x0d\xe0\xb6\xb3\xa7\x64\x00\x00"), ERROR_REJECT); /* one more */
    cr_assert_eq(PRICE("\xf2\x1f\x49\x4c\x58\x9c\x00\x00"), ERROR_REJECT); /* one less */
    cr_assert_eq(PRICE("\x00\xff\xff\xff\xff\xff\xff\xff\xff"), ERROR_REJECT);
    cr_assert_eq(PRICE("\x01\x00\x00\x00\x00\x00\x00\x00\x00"), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_BAD_VALUE);
    cr_assert_eq(PRICE("12345678901234567"), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_TOO_LONG);
}

/* One byte of a golden record replaced. */
static void refuses_byte(const char *golden, uint32_t from_end, uint8_t byte, enum error_code code)
{
    struct text bytes = kit_golden(&kit, golden);
    struct buffer changed = {0};
    put_bytes(&changed, bytes.data, bytes.size);
    changed.data[changed.size - from_end] = byte;
    kit_refuses(&kit, text_of_buffer(&changed), ERROR_REJECT, code);
    buffer_deinit(&changed);
}

Test(schemas_hostile, rejects_booleans_enums_and_unions_out_of_range)
{
    /* OrderRow ends: ... alert_open, cancelled, 10 "Cancelled", 14 "ordered twice", 4 "ann",
     * 6 paused_at, 6 "carol", 14 "a stocktaking", 14 output, 12 output_problem, 6 held_at */
    refuses_byte("OrderRow", 10 + 14 + 4 + 6 + 6 + 14 + 14 + 12 + 6 + 1, 2, CODE_BAD_VALUE);
    refuses_byte("OrderRow", 10 + 14 + 4 + 6 + 6 + 14 + 14 + 12 + 6 + 1, 0xff, CODE_BAD_VALUE);
    /* SubmitOrder-least ends: priority, reply_to, 12 workflow, version, traceparent, hash,
     * submitted_by, time, input, parent */
    refuses_byte("SubmitOrder-least", 21, 6, CODE_BAD_VALUE); /* the fourth priority */
    refuses_byte("SubmitOrder-least", 21, 1, CODE_BAD_VALUE); /* the one before the first */
    refuses_byte("SubmitOrder-least", 5, 4, CODE_BAD_VALUE);  /* third branch of two */
    refuses_byte("SubmitOrder-least", 5, 1, CODE_BAD_VALUE);
    refuses_byte("SubmitOrder-least", 5, 2, CODE_TRUNCATED); /* a hash, but no bytes */
}

Test(schemas_hostile, rejects_a_decision_without_events)
{
    struct record record = {.kind = RECORD_DECISION};
    struct buffer bytes = kit_encode(&kit, &record);
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
    buffer_deinit(&bytes);
}

Test(schemas_hostile, leaves_the_record_untouched_on_failure)
{
    struct text golden = kit_golden(&kit, "Decision");
    struct record before;
    memset(&before, 0x5a, sizeof(before));
    memcpy(&kit.record, &before, sizeof(before));
    golden.size--;
    cr_assert_eq(kit_decode(&kit, golden), ERROR_REJECT);
    cr_assert_eq(memcmp(&kit.record, &before, sizeof(before)), 0);
    /* ret_error may be NULL. */
    cr_assert_eq(codec_decode(kit.codec, golden, true, &kit.memory.arena, &kit.record, NULL),
                 ERROR_REJECT);
}
