/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions from JSON. See submission_json.h. */
#include "schemas/json/submission_json.h"

#include "base/json.h"
#include "schemas/json/json_codec.h"

#include <assert.h>

/* `order`, which is canonical, without the member at `start`, which is `size` bytes long. */
static struct text without(struct text order, uint32_t start, uint32_t size, struct arena *arena)
{
    uint32_t end = start + size;
    assert(start > 0 && end < order.size);
    if (order.data[end] == ',')
        end++;
    else if (order.data[start - 1] == ',')
        start--;
    uint32_t rest = order.size - end;
    char *copy = arena_bytes(arena, start + rest);
    memcpy(copy, order.data, start);
    memcpy(copy + start, order.data + end, rest);
    return (struct text){copy, start + rest};
}

/* Takes the input out of *order: its numbers are not to become doubles. Empty: there is none. */
static struct text take_input(struct text *order, struct arena *arena)
{
    struct json_items items;
    json_items_begin(&items, json_value_of(*order));
    while (json_items_next(&items, NULL)) {
        if (!json_escaped_equal(items.name, TEXT("input")))
            continue;
        struct text input = json_value_text(items.value, NULL);
        uint32_t start = (uint32_t)(items.name.data - 1 - order->data);
        uint32_t end = (uint32_t)(input.data + input.size - order->data);
        *order = without(*order, start, end - start, arena);
        return text_equal(input, TEXT("null")) ? TEXT("") : input;
    }
    return TEXT("");
}

enum error_class submission_json_read(struct text json, struct arena *arena,
                                      struct order_details *ret_details, struct error *ret_error)
{
    /* Not content_hash, which is computed, and submitted_by, which the front door sets. */
    static const char *const fields[] = {
        "order_id", "customer", "currency",         "lines",       "attributes", "priority",
        "reply_to", "workflow", "workflow_version", "traceparent", NULL,
    };
    struct text order = {0};
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    if (!json_canonical(json, UINT32_MAX, arena, &order, &problem)) {
        json_problem_format(&problem, "order", line);
        return error_set(ret_error, CODE_BAD_JSON, "not JSON: %s", line);
    }
    struct text input = take_input(&order, arena);
    json_t *object = NULL;
    enum error_class class = json_codec_parse(order, &object, ret_error);
    if (class == ERROR_OK)
        class = json_codec_decode(&binding_order_details, fields, JSON_CODEC_ANY_SIZE, object,
                                  arena, ret_details, ret_error);
    if (class == ERROR_OK)
        ret_details->input = input;
    json_decref(object);
    return class;
}
