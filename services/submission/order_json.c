/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from JSON. See order_json.h. */
#include "services/submission/order_json.h"

#include "base/suggest.h"
#include "platform/config/config.h"
#include "schemas/codec.h"

#include <math.h>
#include <stdio.h>

/* "lines[1999]." and its NUL. */
enum { WHERE_SIZE = 24 };

static const char *const order_fields[] = {
    "order_id", "customer", "currency",         "lines",       "attributes", "priority",
    "reply_to", "workflow", "workflow_version", "traceparent",
};
static const char *const line_fields[] = {"sku", "description", "quantity", "unit_price"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
/* Below this, 15 significant digits hold every price of our scale, and a double holds those. */
#define PRICE_NUMBER_MAX 1e11

enum error_class order_json_object(struct text json, json_t **ret_object, struct error *ret_error)
{
    json_error_t at;
    json_t *object =
        json_loadb(json.data != NULL ? json.data : "", json.size, JSON_REJECT_DUPLICATES, &at);
    if (object == NULL)
        return error_set(ret_error, ERROR_REJECT, "BadJson", "not JSON: %.150s at line %d", at.text,
                         at.line);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(ret_error, ERROR_REJECT, "BadJson", "expected a JSON object: {...}");
    }
    *ret_object = object;
    return ERROR_OK;
}

enum error_class order_json_known(const json_t *object, const char *where,
                                  const char *const known[], size_t known_count,
                                  struct error *ret_error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        bool found = false;
        for (size_t i = 0; i < known_count && !found; i++)
            found = strcmp(key, known[i]) == 0;
        if (found)
            continue;
        const char *nearest = suggest_string(key, known, known_count);
        return error_set(ret_error, ERROR_REJECT, "UnknownField",
                         nearest != NULL ? "unknown field \"%s%.60s\": did you mean \"%s\"?"
                                         : "unknown field \"%s%.60s\"",
                         where, key, nearest);
    }
    return ERROR_OK;
}

static enum error_class bad_field(struct error *ret_error, const char *where, const char *key,
                                  const char *expected)
{
    return error_set(ret_error, ERROR_REJECT, "BadField", "%s%.60s: expected %s", where, key,
                     expected);
}

static struct text text_value(const json_t *value, struct arena *arena)
{
    struct text text = {json_string_value(value), (uint32_t)json_string_length(value)};
    return arena_text(arena, text);
}

enum error_class order_json_text(const json_t *object, const char *where, const char *key,
                                 struct arena *arena, struct text *ret_text,
                                 struct error *ret_error)
{
    const json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_string(value))
        return bad_field(ret_error, where, key, "a text");
    *ret_text = value != NULL ? text_value(value, arena) : (struct text){0};
    return ERROR_OK;
}

static enum error_class read_price(const json_t *value, const char *where,
                                   struct decimal *ret_price, struct error *ret_error)
{
    char digits[40];
    struct text text = {digits, 0};
    if (json_is_string(value)) {
        text = (struct text){json_string_value(value), (uint32_t)json_string_length(value)};
    } else if (json_is_integer(value)) {
        text.size = (uint32_t)snprintf(digits, sizeof(digits), "%lld",
                                       (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        if (fabs(json_real_value(value)) >= PRICE_NUMBER_MAX)
            return bad_field(ret_error, where, "unit_price",
                             "a text, as \"2.55\": this number is too large to be exact");
        text.size = (uint32_t)snprintf(digits, sizeof(digits), "%.15g", json_real_value(value));
    } else {
        return bad_field(ret_error, where, "unit_price", "a price, as \"2.55\"");
    }
    if (!decimal_parse(text, ret_price))
        return bad_field(ret_error, where, "unit_price",
                         "a price of at most 4 decimals and 18 digits, as \"2.55\"");
    return ERROR_OK;
}

static enum error_class read_line(const json_t *value, const char *where, struct arena *arena,
                                  struct order_line *ret_line, struct error *ret_error)
{
    if (!json_is_object(value))
        return bad_field(ret_error, where, "", "an object: {\"sku\": ...}");
    const json_t *quantity = json_object_get(value, "quantity");
    enum error_class class =
        order_json_known(value, where, line_fields, COUNT_OF(line_fields), ret_error);
    if (class == ERROR_OK)
        class = order_json_text(value, where, "sku", arena, &ret_line->sku, ret_error);
    if (class == ERROR_OK)
        class =
            order_json_text(value, where, "description", arena, &ret_line->description, ret_error);
    if (class == ERROR_OK && !json_is_integer(quantity))
        class = bad_field(ret_error, where, "quantity", "an integer");
    if (class == ERROR_OK) {
        ret_line->quantity = json_integer_value(quantity);
        class = read_price(json_object_get(value, "unit_price"), where, &ret_line->unit_price,
                           ret_error);
    }
    return class;
}

static enum error_class read_lines(const json_t *lines, struct arena *arena,
                                   struct order_details *details, struct error *ret_error)
{
    if (lines == NULL)
        return ERROR_OK;
    if (!json_is_array(lines))
        return bad_field(ret_error, "", "lines", "a list: [...]");
    if (json_array_size(lines) > ORDER_LINES_MAX)
        return error_set(ret_error, ERROR_REJECT, "BadField", "lines: %zu are more than %d",
                         json_array_size(lines), ORDER_LINES_MAX);
    details->line_count = (uint32_t)json_array_size(lines);
    details->lines = ARENA_ARRAY(arena, struct order_line, details->line_count);
    for (uint32_t i = 0; i < details->line_count; i++) {
        char where[WHERE_SIZE];
        snprintf(where, sizeof(where), "lines[%u].", i);
        enum error_class class =
            read_line(json_array_get(lines, i), where, arena, &details->lines[i], ret_error);
        if (class != ERROR_OK)
            return class;
    }
    return ERROR_OK;
}

static enum error_class read_attributes(const json_t *attributes, struct arena *arena,
                                        struct order_details *details, struct error *ret_error)
{
    const char *name;
    json_t *value;
    if (attributes == NULL)
        return ERROR_OK;
    if (!json_is_object(attributes))
        return bad_field(ret_error, "", "attributes", "an object of texts: {\"name\": \"value\"}");
    size_t size = json_object_size(attributes);
    if (size > ORDER_ATTRIBUTES_MAX)
        return error_set(ret_error, ERROR_REJECT, "BadField", "attributes: %zu are more than %d",
                         size, ORDER_ATTRIBUTES_MAX);
    details->attributes = ARENA_ARRAY(arena, struct attribute, size);
    json_object_foreach((json_t *)attributes, name, value) {
        if (!json_is_string(value))
            return bad_field(ret_error, "attributes.", name, "a text");
        details->attributes[details->attribute_count++] =
            (struct attribute){arena_text(arena, text_of(name)), text_value(value, arena)};
    }
    return ERROR_OK;
}

static enum error_class read_priority(const json_t *value, struct order_details *details,
                                      struct error *ret_error)
{
    details->priority = PRIORITY_NORMAL;
    if (value == NULL)
        return ERROR_OK;
    for (int priority = 0; priority < PRIORITY_COUNT && json_is_string(value); priority++) {
        if (strcmp(json_string_value(value), priority_name((enum priority)priority)) == 0) {
            details->priority = (enum priority)priority;
            return ERROR_OK;
        }
    }
    return bad_field(ret_error, "", "priority", "\"high\", \"normal\" or \"low\"");
}

static enum error_class read_version(const json_t *value, struct order_details *details,
                                     struct error *ret_error)
{
    if (value == NULL)
        return ERROR_OK;
    json_int_t version = json_is_integer(value) ? json_integer_value(value) : -1;
    if (version < 0 || version > INT32_MAX)
        return bad_field(ret_error, "", "workflow_version", "a version, or 0 for the newest");
    details->workflow_version = (uint32_t)version;
    return ERROR_OK;
}

static enum error_class read_texts(const json_t *value, struct arena *arena,
                                   struct order_details *details, struct error *ret_error)
{
    const struct {
        const char *key;
        struct text *text;
    } texts[] = {
        {"order_id", &details->order_id}, {"customer", &details->customer},
        {"currency", &details->currency}, {"reply_to", &details->reply_to},
        {"workflow", &details->workflow}, {"traceparent", &details->traceparent},
    };
    enum error_class class = ERROR_OK;
    for (size_t i = 0; i < COUNT_OF(texts) && class == ERROR_OK; i++)
        class = order_json_text(value, "", texts[i].key, arena, texts[i].text, ret_error);
    return class;
}

enum error_class order_json_read_value(const json_t *value, struct arena *arena,
                                       struct order_details *ret_details, struct error *ret_error)
{
    struct order_details details = {0};
    if (!json_is_object(value))
        return error_set(ret_error, ERROR_REJECT, "BadJson", "expected an order: {...}");
    enum error_class class =
        order_json_known(value, "", order_fields, COUNT_OF(order_fields), ret_error);
    if (class == ERROR_OK)
        class = read_texts(value, arena, &details, ret_error);
    if (class == ERROR_OK)
        class = read_lines(json_object_get(value, "lines"), arena, &details, ret_error);
    if (class == ERROR_OK)
        class = read_attributes(json_object_get(value, "attributes"), arena, &details, ret_error);
    if (class == ERROR_OK)
        class = read_priority(json_object_get(value, "priority"), &details, ret_error);
    if (class == ERROR_OK)
        class = read_version(json_object_get(value, "workflow_version"), &details, ret_error);
    if (class == ERROR_OK)
        *ret_details = details;
    return class;
}

enum error_class order_json_read(struct text json, struct arena *arena,
                                 struct order_details *ret_details, struct error *ret_error)
{
    json_t *object = NULL;
    enum error_class class = order_json_object(json, &object, ret_error);
    if (class == ERROR_OK)
        class = order_json_read_value(object, arena, ret_details, ret_error);
    json_decref(object);
    return class;
}
