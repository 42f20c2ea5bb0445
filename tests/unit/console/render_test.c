/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of Decisions and their events, including hostile ones. */
#include "services/console/render/render.h"

#include "base/heap_arena.h"
#include "platform/json_tree.h"
#include "tests/unit/schemas/json_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(console_render, renders_kind_text_and_data_of_every_event)
{
    const struct decision *decision = sample_record("Decision");
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    json_t *json = json_kit_sent(render_decision(decision, 3, 77, &heap.arena));
    const json_t *events = json_object_get(json, "events");
    json_kit_int(json, "offset", 77);
    json_kit_int(json, "partition", 3);
    cr_assert_eq(json_array_size(events), decision->event_count);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const json_t *event = json_array_get(events, i);
        json_kit_text(event, "kind", event_kind_name(decision->events[i].kind));
        cr_assert_gt(json_string_length(json_object_get(event, "words")), 5);
        cr_assert(json_is_object(json_object_get(event, "data")));
    }
    json_decref(json);
    heap_arena_deinit(&heap);
}

/* A Set and a Fail have no agent. */
Test(console_render, shows_no_agent_of_a_step_without_one)
{
    struct heap_arena heap;
    struct step_plan plans[] = {{.name = TEXT("Pay"), .agent = TEXT("bank")},
                                {.name = TEXT("Total")}};
    struct event event = {EVENT_ORDER_ACCEPTED,
                          .order_accepted = {.steps = plans, .step_count = 2}};
    struct decision decision = {.order_id = TEXT("17"), .events = &event, .event_count = 1};
    heap_arena_init(&heap, 4096);
    json_t *json = json_kit_sent(render_decision(&decision, 0, 0, &heap.arena));
    const json_t *data =
        json_object_get(json_array_get(json_object_get(json, "events"), 0), "data");
    const json_t *steps = json_object_get(data, "steps");
    json_kit_text(json_array_get(steps, 0), "agent", "bank");
    cr_assert(json_is_null(json_object_get(json_array_get(steps, 1), "agent")));
    json_decref(json);
    heap_arena_deinit(&heap);
}

Test(console_render, keeps_hostile_texts_within_their_strings)
{
    struct heap_arena heap;
    struct event events[] = {
        {EVENT_STEP_FAILED, .step_failed = {.ref = {TEXT("Pay"), DIRECTION_DO, 1},
                                            .error_name = TEXT("\"}]"),
                                            .error_message = TEXT("\x1b[2J\r\n{\xff"),
                                            .effect = EFFECT_UNKNOWN,
                                            .failure_count = 1,
                                            .by = TEXT("a\"b")}},
        {EVENT_COMMAND_DEAD_LETTERED, .command_dead_lettered = {.bytes = {"\x00\xff\"", 3},
                                                                .key = TEXT("\xfe"),
                                                                .reason = TEXT("why\xf0"),
                                                                .quarantined = true}},
    };
    struct decision decision = {
        .order_id = TEXT("17"), .events = events, .event_count = 2, .claim_id = {{0xab, 1}}};
    heap_arena_init(&heap, 4096);
    json_t *json = json_kit_sent(render_decision(&decision, 0, 0, &heap.arena));
    const json_t *failed =
        json_object_get(json_array_get(json_object_get(json, "events"), 0), "data");
    const json_t *letter =
        json_object_get(json_array_get(json_object_get(json, "events"), 1), "data");
    json_kit_text(failed, "error_name", "\"}]");
    json_kit_text(letter, "code", "Quarantined");
    json_kit_text(letter, "bytes_base64url", "AP8i");
    json_kit_text(letter, "key_base64url", "_g");
    json_kit_text(json, "claim_id", "ab010000-0000-0000-0000-000000000000");
    cr_assert(json_is_null(json_object_get(json, "state")), "there is no such order");
    json_decref(json);
    heap_arena_deinit(&heap);
}

Test(console_render, shows_large_dead_letters_in_part)
{
    static char bytes[INPUT_BYTES_MAX];
    struct heap_arena heap;
    struct event event = {EVENT_COMMAND_DEAD_LETTERED,
                          .command_dead_lettered = {.bytes = {bytes, sizeof(bytes)}}};
    heap_arena_init(&heap, 4096);
    json_t *json = json_kit_sent(render_event(&event, &heap.arena));
    const json_t *data = json_object_get(json, "data");
    json_kit_int(data, "bytes_size", sizeof(bytes));
    cr_assert_lt(json_string_length(json_object_get(data, "bytes_base64url")), 6000);
    json_decref(json);
    heap_arena_deinit(&heap);
}

Test(console_render, shows_the_output_of_an_order_in_its_last_status)
{
    struct topics topics;
    struct error error;
    struct heap_arena heap;
    struct event end = {EVENT_ORDER_PROCESSED,
                        .order_processed = {.output = TEXT("{\"sum\":12345678901234567890}"),
                                            .problem = TEXT("no member 'x'")}};
    struct decision decision = {.order_id = TEXT("17"),
                                .order_version = 9,
                                .reply_to = TEXT("t.replies.web"),
                                .events = &end,
                                .event_count = 1};
    cr_assert(topics_init(&topics, "t", &error) == ERROR_OK, "%s", error.message);
    heap_arena_init(&heap, 4096);
    json_t *updates = render_updates(&decision, 0, &topics, &heap.arena);
    char *text = json_tree_print(json_array_get(updates, 0), JSON_COMPACT);
    cr_assert_not_null(strstr(text, "\"output\":{\"sum\":12345678901234567890}"), "%s", text);
    cr_assert_not_null(strstr(text, "\"message\":\"no member 'x'\""), "%s", text);
    free(text);
    json_decref(updates);
    heap_arena_deinit(&heap);
}
