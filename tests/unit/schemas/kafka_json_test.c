/* SPDX-License-Identifier: Apache-2.0 */
/* StatusUpdates of JSON, and which records are JSON at all. */
#include "base/heap_arena.h"
#include "schemas/json/kafka_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(kafka_json, is_what_the_header_says)
{
    cr_assert(kafka_json_is_type(TEXT("application/json")));
    cr_assert(kafka_json_is_type(TEXT("Application/JSON; charset=utf-8")));
    cr_assert(!kafka_json_is_type(TEXT("application/jsonl")));
    cr_assert(!kafka_json_is_type(TEXT("application/avro")));
    cr_assert(!kafka_json_is_type(TEXT("")));
    cr_assert(!kafka_json_is_type((struct text){0}));
}

Test(kafka_json, reads_the_statuses_that_it_writes)
{
    struct heap_arena heap;
    struct status_update read;
    struct error error = {0};
    struct step_change step = {.step = TEXT("A"), .state = STEP_PROCESSED, .attempt = 1};
    const struct status_update status = {.order_id = TEXT("o\"1"),
                                         .kind = STATUS_REJECTED,
                                         .order_state = ORDER_PENDING,
                                         .order_version = 7,
                                         .decided_at = 1291191960000,
                                         .command_partition = -1,
                                         .command_offset = 5,
                                         .decision_offset = -1,
                                         .code = TEXT("BadJson"),
                                         .message = TEXT("no"),
                                         .steps = &step,
                                         .step_count = 1};
    heap_arena_init(&heap, 1 << 14);
    json_t *object = kafka_json_status(&status);
    cr_assert_str_eq(json_string_value(json_object_get(object, "kind")), "Rejected");
    cr_assert_str_eq(json_string_value(json_object_get(object, "decided_at")),
                     "2010-12-01T08:26:00.000Z");
    char *text = json_dumps(object, 0);
    cr_assert_eq(kafka_json_read_status(text_of(text), &heap.arena, &read, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert(text_equal(read.order_id, status.order_id));
    cr_assert_eq(read.kind, STATUS_REJECTED);
    cr_assert_eq(read.order_version, 7);
    cr_assert_eq(read.decided_at, status.decided_at);
    cr_assert_eq(read.command_partition, -1);
    cr_assert(text_equal(read.code, status.code));
    cr_assert_eq(read.step_count, 1);
    cr_assert(text_equal(read.steps[0].step, TEXT("A")));
    free(text);
    json_decref(object);
    heap_arena_deinit(&heap);
}
