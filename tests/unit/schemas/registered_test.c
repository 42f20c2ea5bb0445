/* SPDX-License-Identifier: Apache-2.0 */
/* Confluent's framing, and what is kept of the ids in it: how long, how much, and in which order
 * they are asked for. */
#include "base/bytes.h"
#include "schemas/avro/registered.h"
#include "tests/unit/schemas/kit.h"

#include <criterion/criterion.h>

static struct kit kit;
static struct registered *table;

static void set_up(void)
{
    kit_init(&kit);
    table = registered_new();
}

static void tear_down(void)
{
    registered_free(table);
    kit_deinit(&kit);
}

TestSuite(schemas_registered, .init = set_up, .fini = tear_down);

static enum error_class find(uint32_t id, int64_t now_ms)
{
    uint64_t fingerprint = 0;
    enum error_class class = registered_find(table, id, now_ms, &fingerprint, &kit.error);
    cr_assert(class != ERROR_OK || fingerprint == 1000 + (uint64_t)id);
    return class;
}

static uint32_t next(int64_t now_ms)
{
    uint32_t id = UINT32_MAX;
    cr_assert(registered_next(table, now_ms, &id));
    return id;
}

static void expect_nothing_to_ask(int64_t now_ms)
{
    uint32_t id;
    cr_assert_not(registered_next(table, now_ms, &id));
}

static void know(uint32_t id)
{
    cr_assert_eq(find(id, 0), ERROR_RETRY);
    cr_assert_eq(next(0), id);
    registered_known(table, id, 1000 + (uint64_t)id);
}

Test(schemas_registered, tells_the_framing_by_its_first_byte)
{
    uint32_t id = 0;
    cr_assert(registered_peek((struct text){"\x00\xfe\xdc\xba\x98", 5}, &id));
    cr_assert_eq(id, 0xfedcba98);
    cr_assert_not(registered_peek((struct text){"\x00\x01\x02\x03", 4}, &id));
    cr_assert_not(registered_peek((struct text){"\xc3\x01\x02\x03\x04", 5}, &id));
    cr_assert_not(registered_peek((struct text){NULL, 0}, &id));
}

Test(schemas_registered, frames_our_own_record_and_leaves_what_is_before_it)
{
    struct status_update status = {.order_id = TEXT("o"), .command_offset = 7};
    struct buffer buffer = {0};
    struct record record;
    uint32_t id = 0;
    buffer_append(&buffer, "key", 3);
    codec_encode(kit.codec, RECORD_STATUS_UPDATE, &status, &buffer);
    registered_frame(&buffer, 3, 77);
    struct text framed = {(const char *)buffer.data + 3, (uint32_t)buffer.size - 3};
    cr_assert_eq(memcmp(buffer.data, "key", 3), 0);
    cr_assert(registered_peek(framed, &id));
    cr_assert_eq(id, 77);
    struct codec_body body = {codec_fingerprint(kit.codec, RECORD_STATUS_UPDATE),
                              text_from(framed, REGISTERED_FRAME_BYTES)};
    cr_assert_eq(codec_decode_body(kit.codec, &body, true, &kit.memory.arena, &record, &kit.error),
                 ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(record.kind, RECORD_STATUS_UPDATE);
    cr_assert(text_equal(record.status_update.order_id, TEXT("o")));
    cr_assert_eq(record.status_update.command_offset, 7);
    buffer_deinit(&buffer);
}

Test(schemas_registered, asks_once_for_an_id_that_many_records_have)
{
    for (int i = 0; i < 10; i++)
        cr_assert_eq(find(5, 0), ERROR_RETRY);
    cr_assert(registered_waits(table, 5));
    cr_assert_eq(next(0), 5);
    expect_nothing_to_ask(0);
    cr_assert_eq(find(5, 0), ERROR_RETRY);
    expect_nothing_to_ask(0);
    registered_known(table, 5, 1005);
    cr_assert_not(registered_waits(table, 5));
    cr_assert_eq(find(5, 0), ERROR_OK);
    cr_assert_eq(registered_asked(table), 0);
}

Test(schemas_registered, believes_that_an_id_is_unknown_when_it_is_said_twice)
{
    cr_assert_eq(find(5, 0), ERROR_RETRY);
    cr_assert_eq(next(0), 5);
    registered_unknown(table, 5, 100);
    cr_assert_eq(find(5, 100), ERROR_RETRY);
    expect_nothing_to_ask(100 + REGISTERED_DOUBT_MS - 1);
    cr_assert_eq(registered_next_ms(table), 100 + REGISTERED_DOUBT_MS);
    cr_assert_eq(next(100 + REGISTERED_DOUBT_MS), 5);
    registered_unknown(table, 5, 1000);
    cr_assert_eq(find(5, 1000), ERROR_REJECT);
    cr_assert_eq(kit.error.code, CODE_UNKNOWN_SCHEMA);
    cr_assert_eq(find(5, 1000 + REGISTERED_REFUSED_MS - 1), ERROR_REJECT);
    expect_nothing_to_ask(1000 + REGISTERED_REFUSED_MS - 1);
    cr_assert_eq(find(5, 1000 + REGISTERED_REFUSED_MS), ERROR_RETRY, "it may exist by now");
    cr_assert_eq(next(1000 + REGISTERED_REFUSED_MS), 5);
    registered_unknown(table, 5, 90000);
    cr_assert_eq(find(5, 90000), ERROR_RETRY, "and is doubted again");
}

Test(schemas_registered, asks_again_when_there_was_no_answer)
{
    cr_assert_eq(find(5, 0), ERROR_RETRY);
    cr_assert_eq(find(6, 0), ERROR_RETRY);
    cr_assert_eq(next(0), 5);
    registered_ask_again(table, 5);
    cr_assert_eq(next(0), 6, "others come first: the call for one id may always fail");
    cr_assert_eq(next(0), 5);
}

Test(schemas_registered, keeps_a_bounded_number_and_forgets_what_was_not_needed_for_longest)
{
    for (uint32_t id = 0; id < REGISTERED_MAX; id++)
        know(id);
    cr_assert_eq(find(0, 0), ERROR_OK, "it was needed");
    know(REGISTERED_MAX);
    cr_assert_eq(find(0, 0), ERROR_OK);
    cr_assert_eq(find(1, 0), ERROR_RETRY, "it made room");
}

Test(schemas_registered, takes_a_bounded_number_of_questions_and_the_rest_later)
{
    for (uint32_t id = 0; id < 3 * REGISTERED_ASKED_MAX; id++)
        cr_assert_eq(find(id, 0), ERROR_RETRY);
    cr_assert_eq(registered_asked(table), REGISTERED_ASKED_MAX);
    cr_assert(registered_waits(table, REGISTERED_ASKED_MAX), "its turn has not come");
    cr_assert_eq(next(0), 0);
    registered_known(table, 0, 1000);
    cr_assert_not(registered_waits(table, REGISTERED_ASKED_MAX));
    cr_assert_eq(find(REGISTERED_ASKED_MAX, 0), ERROR_RETRY);
    cr_assert(registered_waits(table, REGISTERED_ASKED_MAX));
}
