/* SPDX-License-Identifier: Apache-2.0 */
/* Values -> texts and canonical JSON. See evaluation.h. What came from data is copied as it is. */
#include "engine/expression/evaluation.h"

#include "base/real.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- texts ---- */

static bool number_to_text(struct evaluation *evaluation, uint32_t at,
                           const struct expression_value *value, struct text *ret_text)
{
    char text[JSON_NUMBER_SIZE];
    uint32_t size;
    if (value->form == VALUE_JSON) {
        *ret_text = json_value_text(value->json, &evaluation->run->budget);
        return evaluation_check_walk(evaluation, at) &&
               (ret_text->size > 0 || evaluation_fail(evaluation, EXPRESSION_NOT_JSON, at));
    }
    struct json_number number = {0};
    if (value->kind == VALUE_INT) {
        number = json_number_of_integer(value->whole);
    } else {
        real_to_number(value->real, &number);
        if (number.count > REAL_FAST_DIGITS_MAX &&
            !evaluation_spend(evaluation, at, COST_DIGITS_WRITTEN))
            return false;
    }
    size = json_number_format(&number, text);
    if (size == 0)
        return evaluation_fail(evaluation, EXPRESSION_NOT_WRITABLE, at);
    if (!evaluation_spend(evaluation, at, (uint64_t)size * COST_MADE))
        return false;
    *ret_text = arena_text(evaluation->run->arena, (struct text){text, size});
    return true;
}

bool value_to_text(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                   struct text *ret_text)
{
    if (value->kind == VALUE_TEXT)
        return value_plain_text(evaluation, at, value, ret_text);
    if (value_is_number(value))
        return number_to_text(evaluation, at, value, ret_text);
    if (value->kind == VALUE_BOOL) {
        *ret_text = value->yes ? TEXT("true") : TEXT("false");
        return true;
    }
    return evaluation_fail_type(evaluation, at, TEXT("a text with ${ } in it"),
                                KIND_BIT(TEXT) | KINDS_NUMBERS | KIND_BIT(BOOL), value);
}

/* ---- JSON ---- */

static bool write_at(struct evaluation *evaluation, uint32_t at,
                     const struct expression_value *value, struct json_writer *writer,
                     uint32_t depth);

static bool write_items(struct evaluation *evaluation, uint32_t at,
                        const struct expression_value *value, struct json_writer *writer,
                        uint32_t depth)
{
    struct value_items items;
    value_items_begin(&items, value);
    if (value->kind == VALUE_LIST)
        json_write_list(writer);
    else
        json_write_map(writer);
    while (value_items_next(evaluation, at, &items)) {
        if (value->kind == VALUE_MAP) {
            if (!evaluation_spend(evaluation, at, (uint64_t)items.name.size * COST_MADE))
                return false;
            json_write_name(writer, items.name);
        }
        if (!write_at(evaluation, at, &items.value, writer, depth + 1))
            return false;
    }
    json_write_close(writer);
    return !items.failed;
}

static bool write_at(struct evaluation *evaluation, uint32_t at,
                     const struct expression_value *value, struct json_writer *writer,
                     uint32_t depth)
{
    struct text text;
    if (depth > JSON_DEPTH_MAX)
        return evaluation_fail(evaluation, EXPRESSION_TOO_DEEP, at);
    if (!evaluation_spend(evaluation, at, COST_ELEMENT))
        return false;
    if (value->form == VALUE_JSON) {
        text = json_value_text(value->json, &evaluation->run->budget);
        if (!evaluation_check_walk(evaluation, at))
            return false;
        if (text.size == 0)
            return evaluation_fail(evaluation, EXPRESSION_NOT_JSON, at);
        if (!evaluation_spend(evaluation, at, (uint64_t)text.size * COST_MADE))
            return false;
        json_write_canonical(writer, text);
        return true;
    }
    switch ((enum value_kind)value->kind) {
    case VALUE_NULL:
        json_write_null(writer);
        return true;
    case VALUE_BOOL:
        json_write_boolean(writer, value->yes);
        return true;
    case VALUE_INT:
    case VALUE_REAL:
        if (!number_to_text(evaluation, at, value, &text))
            return false;
        json_write_canonical(writer, text);
        return true;
    case VALUE_TEXT:
        if (!evaluation_spend(evaluation, at, (uint64_t)value->text.size * COST_MADE))
            return false;
        json_write_text(writer, value->text);
        return true;
    case VALUE_LIST:
    case VALUE_MAP:
        return write_items(evaluation, at, value, writer, depth);
    case VALUE_KIND_COUNT:
        break;
    }
    assert(false); /* a kind that is none */
    return false;
}

bool value_write(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                 struct json_writer *writer)
{
    return write_at(evaluation, at, value, writer, 0);
}

static enum expression_error_code code_of(enum json_fault fault)
{
    return fault == JSON_FAULT_SIZE    ? EXPRESSION_TOO_LARGE
           : fault == JSON_FAULT_DEPTH ? EXPRESSION_TOO_DEEP
                                       : EXPRESSION_NOT_JSON;
}

bool evaluation_written(struct evaluation *evaluation, struct json_writer *writer,
                        struct text *ret_json)
{
    if (json_writer_done(writer, ret_json))
        return true;
    evaluation_fail(evaluation, code_of(writer->fault), 0);
    evaluation->error.number = writer->size_max;
    return false;
}
