/* SPDX-License-Identifier: Apache-2.0 */
/* The codec against the golden bytes of another Avro implementation, and against avro-c's reader.
 */
#include "base/goods.h"
#include "base/utf8.h"
#include "schemas/binding.h"
#include "tests/unit/schemas/fixture.h"

#include <avro.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

TestSuite(schemas_codec, .init = open_kit, .fini = close_kit);

static void assert_same_bytes(const struct buffer *ours, struct text theirs, const char *name)
{
    uint32_t at = 0;
    while (at < ours->size && at < theirs.size && ours->data[at] == (uint8_t)theirs.data[at])
        at++;
    cr_assert_eq(ours->size, theirs.size, "%s: %zu bytes, not %u; first difference at %u", name,
                 ours->size, theirs.size, at);
    cr_assert_eq(at, theirs.size, "%s: first difference at %u", name, at);
}

Test(schemas_codec, writes_the_bytes_that_another_implementation_writes)
{
    uint64_t kinds = 0;
    for (uint32_t i = 0; i < sample_count; i++) {
        struct buffer ours = {0};
        codec_encode(kit.codec, samples[i].kind, samples[i].record, &ours);
        assert_same_bytes(&ours, kit_golden(&kit, samples[i].name), samples[i].name);
        buffer_deinit(&ours);
        kinds |= UINT64_C(1) << samples[i].kind;
    }
    cr_assert_eq(kinds, (UINT64_C(1) << RECORD_KIND_COUNT) - 2, "a sample of each kind");
}

Test(schemas_codec, reads_the_bytes_that_another_implementation_writes)
{
    for (uint32_t i = 0; i < sample_count; i++) {
        struct text golden = kit_golden(&kit, samples[i].name);
        cr_assert_eq(kit_decode(&kit, golden), ERROR_OK, "%s: %s", samples[i].name,
                     kit.error.message);
        cr_assert_eq(kit.record.kind, samples[i].kind);
        struct buffer again = kit_encode(&kit, &kit.record);
        assert_same_bytes(&again, golden, samples[i].name);
        buffer_deinit(&again);
        if (record_kind_is_command(samples[i].kind)) {
            cr_assert_eq((int)kit.record.command.kind, (int)samples[i].kind);
            cr_assert_eq(strncmp(kit.record.command.order_id.data, "53636", 5), 0);
        }
    }
}

Test(schemas_codec, writes_an_order_without_goods_with_their_defaults)
{
    struct order_details details = {.order_id = TEXT("1"), .workflow = TEXT("w")};
    struct record record = {.kind = RECORD_SUBMIT_ORDER,
                            .command = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = details}};
    struct buffer bytes = kit_encode(&kit, &record);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    const struct goods *goods = kit.record.command.submit_order.goods;
    cr_assert(text_empty(goods->currency));
    cr_assert_eq(goods->line_count, 0);
    buffer_deinit(&bytes);
}

Test(schemas_codec, borrows_texts_from_the_bytes_only_on_request)
{
    struct text golden = kit_golden(&kit, "CancelOrder");
    for (int borrow = 0; borrow < 2; borrow++) {
        cr_assert_eq(codec_decode(kit.codec, golden, borrow == 1, &kit.memory.arena, &kit.record,
                                  &kit.error),
                     ERROR_OK);
        const char *by = kit.record.command.cancel_order.by.data;
        cr_assert_eq(by >= golden.data && by < golden.data + golden.size, borrow == 1);
        cr_assert(text_equal(kit.record.command.cancel_order.by, TEXT("ann")));
    }
}

Test(schemas_codec, decodes_values_into_their_members)
{
    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, "SubmitOrder")), ERROR_OK);
    const struct order_details *details = &kit.record.command.submit_order;
    cr_assert(text_equal(details->customer, TEXT("17850")));
    const struct goods *goods = details->goods;
    cr_assert_eq(goods->line_count, 7);
    cr_assert_eq(goods->lines[3].unit_price.unscaled, -127);
    cr_assert_eq(goods->lines[5].unit_price.unscaled, DECIMAL_UNSCALED_MAX);
    cr_assert_eq(goods->lines[6].unit_price.unscaled, -DECIMAL_UNSCALED_MAX);
    cr_assert_eq(details->attribute_count, 3);
    cr_assert(text_equal(details->attributes[1].name, TEXT("gift note")));
    cr_assert_eq(details->priority, PRIORITY_LOW);
    cr_assert_eq(details->content_hash.bytes[15], 16);

    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, "SubmitOrder-least")), ERROR_OK);
    cr_assert_eq(kit.record.command.submit_order.priority, PRIORITY_NORMAL);
    cr_assert_eq(kit.record.command.submit_order.goods->line_count, 0);

    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, "StepRequest")), ERROR_OK);
    cr_assert_eq(kit.record.step_request.order->goods->line_count, 7);
    cr_assert_eq(kit.record.step_request.ref.direction, DIRECTION_UNDO);

    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, "Decision")), ERROR_OK);
    cr_assert_eq(kit.record.decision.event_count, EVENT_KIND_COUNT - 1);
    for (uint32_t i = 0; i < kit.record.decision.event_count; i++)
        cr_assert_eq(kit.record.decision.events[i].kind, i + 1);
}

/* avro-c reads our bytes with nothing but the .avsc text. */
Test(schemas_codec, writes_bytes_that_avro_c_reads)
{
    for (uint32_t i = 0; i < sample_count; i++) {
        struct text text = codec_schema(samples[i].kind);
        avro_schema_t schema = NULL;
        cr_assert_eq(avro_schema_from_json_length(text.data, text.size, &schema), 0);
        avro_value_iface_t *class = avro_generic_class_from_schema(schema);
        avro_value_t value;
        cr_assert_eq(avro_generic_value_new(class, &value), 0);
        struct buffer ours = {0};
        codec_encode(kit.codec, samples[i].kind, samples[i].record, &ours);
        avro_reader_t reader =
            avro_reader_memory((const char *)ours.data + 10, (int64_t)ours.size - 10);
        cr_assert_eq(avro_value_read(reader, &value), 0, "%s: %s", samples[i].name,
                     avro_strerror());
        char one;
        cr_assert_neq(avro_read(reader, &one, 1), 0, "%s: bytes are left", samples[i].name);
        /* avro-c encodes the same value as the same bytes. */
        char *again = malloc(ours.size);
        cr_assert_not_null(again);
        avro_writer_t writer = avro_writer_memory(again, (int64_t)ours.size);
        cr_assert_eq(avro_value_write(writer, &value), 0, "%s", avro_strerror());
        cr_assert_eq(avro_writer_tell(writer), (int64_t)ours.size - 10);
        cr_assert_eq(memcmp(again, ours.data + 10, ours.size - 10), 0, "%s", samples[i].name);
        avro_writer_free(writer);
        free(again);
        avro_reader_free(reader);
        avro_value_decref(&value);
        avro_value_iface_decref(class);
        avro_schema_decref(schema);
        buffer_deinit(&ours);
    }
}

Test(schemas_codec, appends_records_to_the_buffer)
{
    struct buffer buffer = {0};
    codec_encode(kit.codec, samples[0].kind, samples[0].record, &buffer);
    size_t first = buffer.size;
    codec_encode(kit.codec, samples[0].kind, samples[0].record, &buffer);
    cr_assert_eq(buffer.size, 2 * first);
    cr_assert_eq(memcmp(buffer.data, buffer.data + first, first), 0);
    buffer_deinit(&buffer);
}

Test(schemas_codec, keeps_every_field_of_an_order_row)
{
    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, "OrderRow")), ERROR_OK);
    const struct order *order = &kit.record.order_row;
    cr_assert_eq(order->step_count, 3);
    const struct step *step = &order->steps[1];
    const uint32_t used[RETRIERS_MAX] = {0, 2, 0, 1};
    cr_assert_eq(memcmp(step->retries_used, used, sizeof(used)), 0);
    cr_assert_eq(step->generation[DIRECTION_DO], 93);
    cr_assert_eq(step->generation[DIRECTION_UNDO], 94);
    cr_assert_eq(step->undo_effect, EFFECT_APPLIED);
    cr_assert_eq(order->steps[2].retries_used[7], 8);
    cr_assert_eq(order->error_from, ORDER_COMPENSATING);
}

/* What is restated in a log outlives the release that wrote it, and an owner that does not know all
 * fields must not restate. If this fails: raise STATE_FORMAT, and put the new fingerprint here. */
Test(schemas_codec, raises_the_format_of_the_state_with_each_change_of_it)
{
    struct codec *codec = codec_new();
    uint64_t state = codec_fingerprint(codec, RECORD_ORDER_ROW);
    codec_free(codec);
    cr_assert_eq(STATE_FORMAT, 7);
    cr_assert_eq(state, UINT64_C(0x40e237725d5392c0), "%016" PRIx64, state);
}

Test(schemas_codec, binds_each_event_and_finds_each_record_by_its_name)
{
    for (int i = 1; i < EVENT_KIND_COUNT; i++)
        cr_assert_not_null(event_binding((enum event_kind)i));
    for (int i = 1; i < RECORD_KIND_COUNT; i++)
        cr_assert_eq((int)record_kind_of(record_kind_name((enum record_kind)i)), i);
    cr_assert_str_eq(record_kind_name(RECORD_KIND_COUNT), "?");
    cr_assert_str_eq(record_kind_name((enum record_kind)0), "?");
}

/* ---- values that codec_encode() must not get ---- */

static void encode_command(const struct command *command)
{
    struct codec *codec = codec_new();
    struct buffer buffer = {0};
    codec_encode(codec, (enum record_kind)command->kind, command, &buffer);
    buffer_deinit(&buffer);
    codec_free(codec);
}

static char long_text[INPUT_BYTES_MAX + 1];

Test(schemas_codec, aborts_on_a_text_over_its_limit, .signal = SIGABRT)
{
    memset(long_text, 'x', sizeof(long_text));
    struct command command = {
        .kind = COMMAND_CANCEL_ORDER,
        .cancel_order = {
            TEXT("1"), TEXT("a"), {long_text, MESSAGE_BYTES_READ_MAX + 1}, TEXT(""), TEXT("")}};
    encode_command(&command);
}

Test(schemas_codec, aborts_on_invalid_utf8, .signal = SIGABRT)
{
    struct command command = {
        .kind = COMMAND_CANCEL_ORDER,
        .cancel_order = {TEXT("1"), TEXT("\xff"), TEXT(""), TEXT(""), TEXT("")}};
    encode_command(&command);
}

Test(schemas_codec, aborts_on_an_enum_out_of_range, .signal = SIGABRT)
{
    struct command command = {.kind = COMMAND_REPORT_STEP,
                              .report_step = {.order_id = TEXT("1"), .effect = EFFECT_COUNT}};
    encode_command(&command);
}

Test(schemas_codec, aborts_on_a_decimal_of_19_digits, .signal = SIGABRT)
{
    struct order_line line = {TEXT("a"), TEXT(""), 1, {DECIMAL_UNSCALED_MAX + 1}};
    struct goods goods = {.lines = &line, .line_count = 1};
    struct command command = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = {.goods = &goods}};
    encode_command(&command);
}

Test(schemas_codec, aborts_on_a_command_of_another_kind, .signal = SIGABRT)
{
    struct codec *codec = codec_new();
    struct buffer buffer = {0};
    struct command command = {.kind = COMMAND_CANCEL_ORDER};
    codec_encode(codec, RECORD_SUBMIT_ORDER, &command, &buffer);
}

Test(schemas_codec, encodes_the_largest_dead_letter)
{
    memset(long_text, 0xff, sizeof(long_text));
    struct text most = {long_text, INPUT_BYTES_MAX};
    struct event event = {
        .kind = EVENT_COMMAND_DEAD_LETTERED,
        .command_dead_lettered = {
            .bytes = most, .key = most, .reason = TEXT("not Avro"), .quarantined = false}};
    struct record record = {.kind = RECORD_DECISION};
    record.decision = (struct decision){.events = &event, .event_count = 1};
    struct buffer bytes = kit_encode(&kit, &record);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(kit.record.decision.events[0].command_dead_lettered.key.size, INPUT_BYTES_MAX);
    buffer_deinit(&bytes);
}
