/* SPDX-License-Identifier: Apache-2.0 */
/* See order_members.h. */
#include "engine/order_members.h"

#include "base/goods.h"

#include <assert.h>

/* An exact number, so that a price is written as it was given. */
static void write_decimal(struct json_writer *writer, struct decimal decimal)
{
    struct json_number number = json_number_of_integer(decimal.unscaled);
    if (number.count > 0)
        number.exponent -= DECIMAL_SCALE;
    json_write_number(writer, &number);
}

static void write_line(struct json_writer *writer, const struct order_line *line)
{
    json_write_map(writer);
    json_write_name(writer, TEXT("description"));
    json_write_text(writer, line->description);
    json_write_name(writer, TEXT("quantity"));
    json_write_integer(writer, line->quantity);
    json_write_name(writer, TEXT("sku"));
    json_write_text(writer, line->sku);
    json_write_name(writer, TEXT("unit_price"));
    write_decimal(writer, line->unit_price);
    json_write_close(writer);
}

static void write_lines(struct json_writer *writer, const struct goods *goods)
{
    json_write_list(writer);
    for (uint32_t i = 0; i < goods->line_count; i++)
        write_line(writer, &goods->lines[i]);
    json_write_close(writer);
}

/* Sorted by name, as canonical JSON is. */
static void write_attributes(struct json_writer *writer, const struct order_details *details)
{
    json_write_map(writer);
    for (uint32_t i = 0; i < details->attribute_count; i++) {
        json_write_name(writer, details->attributes[i].name);
        json_write_text(writer, details->attributes[i].value);
    }
    json_write_close(writer);
}

static struct text text_member(const struct order_details *details,
                               enum expression_order_member member)
{
    switch (member) {
    case MEMBER_ID:
        return details->order_id;
    case MEMBER_CUSTOMER:
        return details->customer;
    case MEMBER_CURRENCY:
        return goods_or_none(details->goods)->currency;
    case MEMBER_PRIORITY:
        return text_of(enum_name(&priority_names, details->priority));
    case MEMBER_SUBMITTED_BY:
        return details->submitted_by;
    case MEMBER_LINES:
    case MEMBER_ATTRIBUTES:
    case EXPRESSION_ORDER_MEMBER_COUNT:
        break;
    }
    assert(false);
    return (struct text){0};
}

struct text order_member_json(const struct order_details *details,
                              enum expression_order_member member, struct arena *arena,
                              uint32_t *ret_units)
{
    struct json_writer writer;
    struct text json = TEXT("null");
    /* The details fit a record; escapes make six bytes of one. */
    json_writer_init(&writer, 6 * RECORD_BYTES_MAX, arena);
    *ret_units = 0;
    if (member == MEMBER_LINES) {
        write_lines(&writer, goods_or_none(details->goods));
        *ret_units = goods_or_none(details->goods)->line_count;
    } else if (member == MEMBER_ATTRIBUTES) {
        write_attributes(&writer, details);
        *ret_units = details->attribute_count;
    } else {
        json_write_text(&writer, text_member(details, member));
    }
    json_writer_done(&writer, &json);
    return json;
}
