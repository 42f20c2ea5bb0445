/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/details.h"

#include "base/bytes.h"
#include "base/goods.h"
#include "base/json.h"
#include "base/names.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#define XXH_STATIC_LINKING_ONLY /* for a state that needs no malloc */
#include <xxhash.h>

#define QUANTITY_MAX INT64_C(1000000000)

#define INVALID(...) error_set(ret_error, CODE_INVALID_ORDER, __VA_ARGS__)

/* ---- limits and forms ---- */

enum error_class order_id_validate_new(struct text order_id, struct error *ret_error)
{
    if (order_id_validate(order_id, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (order_id.data[0] == '-')
        return INVALID("order_id must not begin with '-': a command line would take it for a flag");
    if (name_is_path_step(order_id))
        return INVALID("order_id must not be \".\" or \"..\": a URL would lead elsewhere");
    if (memchr(order_id.data, '~', order_id.size) != NULL)
        return INVALID("order_id must not contain '~': such ids are reserved for orders that reeve "
                       "makes itself");
    return ERROR_OK;
}

static enum error_class check_text(const char *name, struct text text, uint32_t min, uint32_t max,
                                   struct error *ret_error)
{
    if (text.size < min || text.size > max)
        return INVALID("%s is %u bytes; it must be %u to %u", name, text.size, min, max);
    if (!utf8_printable(text))
        return INVALID("%s must be printable UTF-8", name);
    return ERROR_OK;
}

/* How much of everything a submission may have. */
struct details_limits {
    uint32_t customer, traceparent, who, sku, description, attribute_name, attribute_value;
    uint32_t lines, attributes, input, bytes;
};
static const struct details_limits new_limits = {CUSTOMER_BYTES_MAX,
                                                 TRACEPARENT_BYTES_MAX,
                                                 WHO_BYTES_MAX,
                                                 SKU_BYTES_MAX,
                                                 DESCRIPTION_BYTES_MAX,
                                                 ATTRIBUTE_NAME_BYTES_MAX,
                                                 ATTRIBUTE_VALUE_BYTES_MAX,
                                                 ORDER_LINES_MAX,
                                                 ORDER_ATTRIBUTES_MAX,
                                                 ORDER_INPUT_BYTES_MAX,
                                                 ORDER_DETAILS_BYTES_MAX};
static const struct details_limits accepted_limits = {CUSTOMER_BYTES_READ_MAX,
                                                      TRACEPARENT_BYTES_READ_MAX,
                                                      WHO_BYTES_READ_MAX,
                                                      SKU_BYTES_READ_MAX,
                                                      DESCRIPTION_BYTES_READ_MAX,
                                                      ATTRIBUTE_NAME_BYTES_READ_MAX,
                                                      ATTRIBUTE_VALUE_BYTES_READ_MAX,
                                                      ORDER_LINES_READ_MAX,
                                                      ORDER_ATTRIBUTES_READ_MAX,
                                                      ORDER_INPUT_BYTES_READ_MAX,
                                                      INPUT_BYTES_READ_MAX};

static enum error_class check_parent(const struct order_parent *parent, struct error *ret_error)
{
    struct error why;
    if (order_parent_validate(parent, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (order_id_validate(parent->root, &why) != ERROR_OK)
        return INVALID("parent.root: %.300s", why.message);
    if (parent->depth < 1 || parent->depth >= ORDER_DEPTH_MAX || parent->quota > TREE_SUBORDERS_MAX)
        return INVALID("parent.depth must be 1 to %d, and quota at most %d", ORDER_DEPTH_MAX - 1,
                       TREE_SUBORDERS_MAX);
    return ERROR_OK;
}

static enum error_class check_names(const struct order_details *details,
                                    const struct details_limits *limits, struct error *ret_error)
{
    if (order_id_validate(details->order_id, ret_error) != ERROR_OK ||
        check_text("customer", details->customer, 0, limits->customer, ret_error) != ERROR_OK ||
        check_text("workflow", details->workflow, 1,
                   details->parent != NULL ? BODY_NAME_BYTES_MAX : NAME_BYTES_MAX,
                   ret_error) != ERROR_OK ||
        check_text("reply_to", details->reply_to, 0, TOPIC_BYTES_MAX, ret_error) != ERROR_OK ||
        check_text("traceparent", details->traceparent, 0, limits->traceparent, ret_error) !=
            ERROR_OK ||
        check_text("submitted_by", details->submitted_by, 0, limits->who, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (details->parent != NULL && check_parent(details->parent, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (details->parent == NULL && !name_valid(details->workflow))
        return INVALID("workflow must be " NAME_EXPECTED);
    if (!workflow_name_valid(details->workflow))
        return INVALID("workflow must be " WORKFLOW_NAME_EXPECTED);
    if (!name_characters_valid(details->reply_to))
        return INVALID("reply_to must consist of letters, digits, '.', '_' and '-'");
    if ((unsigned)details->priority >= PRIORITY_COUNT)
        return INVALID("priority must be high, normal or low");
    if (details->workflow_version > INT32_MAX)
        return INVALID("workflow_version %u is too large", details->workflow_version);
    return ERROR_OK;
}

static enum error_class check_currency(const struct goods *goods, struct error *ret_error)
{
    struct text currency = goods->currency;
    if (text_empty(currency))
        return goods->line_count == 0 ? ERROR_OK
                                      : INVALID("currency is missing: prices need one (ISO 4217)");
    bool upper = currency.size == CURRENCY_BYTES_MAX;
    for (uint32_t i = 0; upper && i < CURRENCY_BYTES_MAX; i++)
        upper = currency.data[i] >= 'A' && currency.data[i] <= 'Z';
    return upper ? ERROR_OK : INVALID("currency must be three upper-case letters (ISO 4217)");
}

/* Adds the line to *total. */
static enum error_class check_line(const struct order_line *line, uint32_t index,
                                   const struct details_limits *limits, int64_t *total,
                                   struct error *ret_error)
{
    struct error why;
    if (check_text("sku", line->sku, 1, limits->sku, &why) != ERROR_OK ||
        check_text("description", line->description, 0, limits->description, &why) != ERROR_OK)
        return INVALID("lines[%u].%.300s", index, why.message);
    if (line->quantity < 1 || line->quantity > QUANTITY_MAX)
        return INVALID("lines[%u].quantity is %lld; it must be 1 to %lld", index,
                       (long long)line->quantity, (long long)QUANTITY_MAX);
    int64_t price = line->unit_price.unscaled;
    if (price < 0 || price > DECIMAL_UNSCALED_MAX)
        return INVALID("lines[%u].unit_price must be 0 or more, with at most 18 digits", index);
    int64_t sum;
    if (__builtin_mul_overflow(line->quantity, price, &sum) ||
        __builtin_add_overflow(*total, sum, total) || *total > DECIMAL_UNSCALED_MAX)
        return INVALID("lines[%u]: the order's total has more than 18 digits", index);
    return ERROR_OK;
}

static int compare_attributes(const void *a, const void *b)
{
    return text_compare(((const struct attribute *)a)->name, ((const struct attribute *)b)->name);
}

static bool is_own_attribute(struct text name)
{
    struct text own = ORDER_OWN_ATTRIBUTES;
    return name.size >= own.size && memcmp(name.data, own.data, own.size) == 0;
}

static enum error_class check_attributes(struct order_details *details,
                                         const struct details_limits *limits,
                                         struct error *ret_error)
{
    if (details->attribute_count > limits->attributes)
        return INVALID("there are %u attributes; the limit is %u", details->attribute_count,
                       limits->attributes);
    if (details->attribute_count > 0)
        qsort(details->attributes, details->attribute_count, sizeof(struct attribute),
              compare_attributes);
    for (uint32_t i = 0; i < details->attribute_count; i++) {
        const struct attribute *attribute = &details->attributes[i];
        struct error why;
        if (check_text("a name", attribute->name, 1, limits->attribute_name, &why) != ERROR_OK)
            return INVALID("attributes: %.300s", why.message);
        if (limits == &new_limits && is_own_attribute(attribute->name))
            return INVALID("attributes must not have names that begin with \"reeve.\", as %.*s "
                           "does: sub-orders are found by such",
                           TEXT_ARG(attribute->name));
        if (i > 0 && text_equal(attribute[-1].name, attribute->name))
            return INVALID("two attributes are named %.*s", TEXT_ARG(attribute->name));
        if (attribute->value.size > limits->attribute_value)
            return INVALID("attributes.%.*s is %u bytes; the limit is %u",
                           TEXT_ARG(attribute->name), attribute->value.size,
                           limits->attribute_value);
        /* Line breaks and the like are welcome in a value. */
        if (!utf8_valid(attribute->value) ||
            (attribute->value.size > 0 &&
             memchr(attribute->value.data, 0, attribute->value.size) != NULL))
            return INVALID("attributes.%.*s must be UTF-8 without NUL", TEXT_ARG(attribute->name));
    }
    return ERROR_OK;
}

/* Makes the input canonical. */
static enum error_class check_input(struct order_details *details,
                                    const struct details_limits *limits, struct arena *arena,
                                    struct error *ret_error)
{
    char line[JSON_PROBLEM_SIZE];
    struct json_problem problem;
    if (text_empty(details->input))
        return ERROR_OK;
    if (!json_canonical(details->input, limits->input, arena, &details->input, &problem)) {
        if (problem.fault == JSON_FAULT_SIZE) /* of the whole, wherever it was passed */
            return INVALID("input is too long; the limit is %u bytes", limits->input);
        json_problem_format(&problem, "input", line);
        return INVALID("%s", line);
    }
    if (text_equal(details->input, TEXT("null"))) /* left out, or named: the same */
        details->input = (struct text){0};
    return ERROR_OK;
}

static enum error_class check(struct order_details *details, const struct details_limits *limits,
                              struct arena *arena, struct error *ret_error)
{
    const struct goods *goods = goods_or_none(details->goods);
    if (check_names(details, limits, ret_error) != ERROR_OK ||
        check_currency(goods, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (goods->line_count > limits->lines)
        return INVALID("there are %u lines; the limit is %u", goods->line_count, limits->lines);
    int64_t total = 0;
    for (uint32_t i = 0; i < goods->line_count; i++)
        if (check_line(&goods->lines[i], i, limits, &total, ret_error) != ERROR_OK)
            return ERROR_REJECT;
    if (check_attributes(details, limits, ret_error) != ERROR_OK ||
        check_input(details, limits, arena, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (order_details_bytes(details) > limits->bytes)
        return INVALID("the order has more than %u bytes", limits->bytes);
    return ERROR_OK;
}

enum error_class details_validate(struct order_details *details, struct arena *arena,
                                  struct error *ret_error)
{
    return check(details, &accepted_limits, arena, ret_error);
}

enum error_class details_validate_new(struct order_details *details, struct arena *arena,
                                      struct error *ret_error)
{
    enum error_class class = order_id_validate_new(details->order_id, ret_error);
    if (details->parent != NULL)
        return INVALID("parent must be null: only schedulers submit sub-orders");
    return class == ERROR_OK ? check(details, &new_limits, arena, ret_error) : class;
}

/* ---- identity ----
 *
 * The hash goes over a sequence of items: a tag byte, then 8 bytes little-endian (a number, or the
 * size of the text that follows). Defaults are left out, so that naming a default is the same as
 * leaving it away, and so that a field that later versions add changes no hash of an order without
 * it. Tags never change. traceparent and submitted_by have none: they may differ from try to
 * try. */

enum hash_tag {
    TAG_ORDER_ID = 1,
    TAG_CUSTOMER = 2,
    TAG_CURRENCY = 3,
    TAG_PRIORITY = 4,
    TAG_REPLY_TO = 5,
    TAG_WORKFLOW = 6,
    TAG_WORKFLOW_VERSION = 7,
    TAG_LINE = 8, /* its number, from 0; the line's own items follow */
    TAG_LINE_SKU = 9,
    TAG_LINE_DESCRIPTION = 10,
    TAG_LINE_QUANTITY = 11,
    TAG_LINE_UNIT_PRICE = 12,
    TAG_ATTRIBUTE_NAME = 13,
    TAG_ATTRIBUTE_VALUE = 14,
    TAG_INPUT = 15,
    TAG_PARENT = 16 /* its accepted_offset; its id, step, item and generation follow */
};

static void hash_number(XXH3_state_t *state, enum hash_tag tag, int64_t number)
{
    uint8_t item[9] = {(uint8_t)tag};
    bytes_put_le(item + 1, (uint64_t)number, 8);
    XXH3_128bits_update(state, item, sizeof(item));
}

static void hash_text(XXH3_state_t *state, enum hash_tag tag, struct text text)
{
    if (text.size == 0)
        return;
    hash_number(state, tag, text.size);
    XXH3_128bits_update(state, text.data, text.size);
}

/* Not root, depth and quota: the id says which tree it is of. */
static void hash_parent(XXH3_state_t *state, const struct order_parent *parent)
{
    hash_number(state, TAG_PARENT, parent->accepted_offset);
    hash_text(state, TAG_PARENT, parent->order_id);
    hash_text(state, TAG_PARENT, parent->step);
    hash_number(state, TAG_PARENT, parent->item);
    hash_number(state, TAG_PARENT, parent->generation);
}

struct content_hash details_content_hash(const struct order_details *details)
{
    assert(details->attribute_count <= ORDER_ATTRIBUTES_READ_MAX);
    const struct goods *goods = goods_or_none(details->goods);
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    hash_text(&state, TAG_ORDER_ID, details->order_id);
    hash_text(&state, TAG_CUSTOMER, details->customer);
    hash_text(&state, TAG_CURRENCY, goods->currency);
    if (details->priority != PRIORITY_NORMAL)
        hash_number(&state, TAG_PRIORITY, details->priority);
    hash_text(&state, TAG_REPLY_TO, details->reply_to);
    hash_text(&state, TAG_WORKFLOW, details->workflow);
    if (details->workflow_version != 0)
        hash_number(&state, TAG_WORKFLOW_VERSION, details->workflow_version);
    for (uint32_t i = 0; i < goods->line_count; i++) {
        const struct order_line *line = &goods->lines[i];
        hash_number(&state, TAG_LINE, i);
        hash_text(&state, TAG_LINE_SKU, line->sku);
        hash_text(&state, TAG_LINE_DESCRIPTION, line->description);
        hash_number(&state, TAG_LINE_QUANTITY, line->quantity);
        hash_number(&state, TAG_LINE_UNIT_PRICE, line->unit_price.unscaled);
    }
    struct attribute sorted[ORDER_ATTRIBUTES_READ_MAX];
    if (details->attribute_count > 0) {
        memcpy(sorted, details->attributes, details->attribute_count * sizeof(sorted[0]));
        qsort(sorted, details->attribute_count, sizeof(sorted[0]), compare_attributes);
    }
    for (uint32_t i = 0; i < details->attribute_count; i++) {
        hash_text(&state, TAG_ATTRIBUTE_NAME, sorted[i].name);
        hash_text(&state, TAG_ATTRIBUTE_VALUE, sorted[i].value);
    }
    hash_text(&state, TAG_INPUT, details->input);
    if (details->parent != NULL)
        hash_parent(&state, details->parent);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    struct content_hash hash;
    memcpy(hash.bytes, canonical.digest, sizeof(hash.bytes));
    return hash;
}
