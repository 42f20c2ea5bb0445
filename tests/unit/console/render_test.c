/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of orders and events, including hostile ones. */
#include "services/console/render/render.h"
#include "tests/unit/schemas/samples.h"

#include "base/heap_arena.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const void *sample(const char *name)
{
    for (uint32_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, name) == 0)
            return samples[i].record;
    cr_assert_fail("no sample %s", name);
    return NULL;
}

/* What a client reads. */
static json_t *sent(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    cr_assert_not_null(text);
    for (const char *at = text; *at != '\0'; at++)
        cr_assert((unsigned char)*at >= 0x20, "control characters are escaped");
    json_t *back = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(json_equal(json, back), "%s", text);
    free(text);
    json_decref(json);
    return back;
}

static void check_text(const json_t *object, const char *name, const char *expected)
{
    const char *text = json_string_value(json_object_get(object, name));
    cr_assert(text != NULL && strcmp(text, expected) == 0, "%s is %s", name,
              text != NULL ? text : "(null)");
}

static void check_int(const json_t *object, const char *name, int64_t expected)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_integer(value) && json_integer_value(value) == expected, "%s", name);
}

Test(console_render, renders_every_field_of_an_order)
{
    const struct order *order = sample("OrderRow");
    json_t *json = sent(render_order(order, 4));
    check_text(json, "order_id", "536365");
    check_text(json, "state", "Error");
    check_text(json, "error_from", "Compensating");
    check_text(json, "reason_by", "ann");
    check_text(json, "currency", "GBP");
    check_text(json, "content_hash", "0102030405060708090a0b0c0d0e0f10");
    check_int(json, "version", 101);
    check_int(json, "partition", 4);
    check_text(json, "accepted_at", "2023-11-14T22:13:20.024Z");
    const json_t *line = json_array_get(json_object_get(json, "lines"), 0);
    check_text(line, "unit_price", "2.55");
    check_int(line, "quantity", 6);
    check_text(json_object_get(json, "attributes"), "gift note", "line one\nline two");
    const json_t *step = json_array_get(json_object_get(json, "steps"), 1);
    check_text(step, "step", "TakePayment");
    check_text(step, "direction", "undo");
    check_text(step, "effect", "unknown");
    check_text(step, "undo_effect", "applied");
    check_text(step, "locked_by", "scheduler-1");
    check_text(step, "error_name", "Declined");
    check_text(step, "output", "[1]");
    check_int(step, "attempt", 91);
    check_int(step, "failure_count", 92);
    check_int(step, "undo_generation", 94);
    check_text(step, "retry_at", "2023-11-14T22:13:20.021Z");
    cr_assert_eq(json_array_size(json_object_get(step, "retries_used")), 4);
    const json_t *first = json_array_get(json_object_get(json, "steps"), 0);
    cr_assert(json_is_null(json_object_get(first, "locked_by")));
    cr_assert(json_is_null(json_object_get(first, "complete_by")));
    json_decref(json);
}

Test(console_render, renders_kind_text_and_data_of_every_event)
{
    const struct decision *decision = sample("Decision");
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    json_t *json = sent(render_decision(decision, 3, 77, &heap.arena));
    const json_t *events = json_object_get(json, "events");
    check_int(json, "offset", 77);
    check_int(json, "partition", 3);
    cr_assert_eq(json_array_size(events), decision->event_count);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const json_t *event = json_array_get(events, i);
        check_text(event, "kind", event_kind_name(decision->events[i].kind));
        cr_assert_gt(json_string_length(json_object_get(event, "words")), 5);
        cr_assert(json_is_object(json_object_get(event, "data")));
    }
    json_decref(json);
    heap_arena_deinit(&heap);
}

Test(console_render, renders_hostile_texts_as_strings)
{
    static const struct {
        struct text text;
        const char *expected; /* NULL: the same */
    } cases[] = {
        {{"</script><script>alert(1)", 25}, NULL},
        {{"\"},{\"state\":\"Processed\"", 23}, NULL},
        {{"a\\\"b\r\n\t\x01\x1f\x7f", 10}, NULL},
        {{"\xe2\x80\xa8\xe2\x80\xae", 6}, NULL}, /* line separator, right-to-left override */
        {{"\xff\xfe", 2}, "??"},
        {{"caf\xe9", 4}, "caf?"},
        {{"\xc0\xaf\xed\xa0\x80", 5}, "?????"}, /* overlong, surrogate */
        {{"half \xf0\x9f\x9a", 8}, "half ???"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step step = {.name = cases[i].text, .output = cases[i].text};
        struct order order = {.details = {.order_id = cases[i].text, .workflow = TEXT("w")},
                              .steps = &step,
                              .step_count = 1,
                              .reason = cases[i].text};
        char same[64];
        memcpy(same, cases[i].text.data, cases[i].text.size);
        same[cases[i].text.size] = '\0';
        const char *expected = cases[i].expected != NULL ? cases[i].expected : same;
        json_t *json = sent(render_order(&order, 0));
        check_text(json, "order_id", expected);
        check_text(json, "reason", expected);
        check_text(json_array_get(json_object_get(json, "steps"), 0), "output", expected);
        json_decref(json);
    }
}

Test(console_render, escapes_a_nul)
{
    json_t *text = json_codec_text((struct text){"a\0b", 3});
    char *dumped = json_dumps(text, JSON_ENCODE_ANY);
    cr_assert_str_eq(dumped, "\"a\\u0000b\"");
    free(dumped);
    json_decref(text);
}

Test(console_render, keeps_hostile_texts_within_their_strings)
{
    struct heap_arena heap;
    struct event events[] = {
        {EVENT_STEP_FAILED, .step_failed = {{TEXT("Pay"), DIRECTION_DO, 1},
                                            TEXT("\"}]"),
                                            TEXT("\x1b[2J\r\n{\xff"),
                                            EFFECT_UNKNOWN,
                                            1,
                                            TEXT("a\"b")}},
        {EVENT_COMMAND_DEAD_LETTERED, .command_dead_lettered = {.bytes = {"\x00\xff\"", 3},
                                                                .key = TEXT("\xfe"),
                                                                .reason = TEXT("why\xf0"),
                                                                .quarantined = true}},
    };
    struct decision decision = {
        .order_id = TEXT("17"), .events = events, .event_count = 2, .claim_id = {{0xab, 1}}};
    heap_arena_init(&heap, 4096);
    json_t *json = sent(render_decision(&decision, 0, 0, &heap.arena));
    const json_t *failed =
        json_object_get(json_array_get(json_object_get(json, "events"), 0), "data");
    const json_t *letter =
        json_object_get(json_array_get(json_object_get(json, "events"), 1), "data");
    check_text(failed, "error_name", "\"}]");
    check_text(letter, "bytes_base64url", "AP8i");
    check_text(letter, "key_base64url", "_g");
    check_text(json, "claim_id", "ab010000-0000-0000-0000-000000000000");
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
    json_t *json = sent(render_event(&event, &heap.arena));
    const json_t *data = json_object_get(json, "data");
    check_int(data, "bytes_size", sizeof(bytes));
    cr_assert_lt(json_string_length(json_object_get(data, "bytes_base64url")), 6000);
    json_decref(json);
    heap_arena_deinit(&heap);
}

/* ---- workflows ---- */

Test(console_render, tells_a_retirement_from_an_activation)
{
    struct workflow workflow = {.name = TEXT("w"), .version = 2};
    struct workflow_entry entry = {
        .workflow = &workflow,
        .latest = {.version = 2, .by = TEXT("ann"), .at = 5, .reason = TEXT("charges twice")}};
    for (int retired = 0; retired < 2; retired++) {
        entry.retired = retired == 1;
        json_t *made = render_workflow(&entry, !entry.retired);
        const char *there = retired == 1 ? "retired_by" : "activated_by";
        const char *absent = retired == 1 ? "activated_by" : "retired_by";
        cr_assert_str_eq(json_string_value(json_object_get(made, there)), "ann");
        cr_assert(json_is_null(json_object_get(made, absent)));
        check_text(made, retired == 1 ? "retired_at" : "activated_at", "1970-01-01T00:00:00.005Z");
        json_decref(made);
    }
}
