/* SPDX-License-Identifier: Apache-2.0 */
/* Columns to fields. See csv_map.h. */
#include "cli/import/csv_map.h"

#include "base/decimal.h"
#include "base/numbers.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "platform/config/config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *const target_names[] = {
    "order_id",   "customer", "currency", "sku",      "description", "quantity",
    "unit_price", "priority", "workflow", "reply_to", "attributes.", "input.",
};
_Static_assert(sizeof(target_names) / sizeof(target_names[0]) == CSV_TARGET_COUNT,
               "every field has a name");

static struct text trim(struct text text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t'))
        text = (struct text){text.data + 1, text.size - 1};
    while (text.size > 0 && strchr(" \t", text.data[text.size - 1]) != NULL)
        text.size--;
    return text;
}

void csv_map_deinit(struct csv_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        free(map->columns[i].name);
        free(map->columns[i].column);
    }
    *map = (struct csv_map){0};
}

/* ---- the specification ---- */

static char *new_string(const char *data, size_t size)
{
    char *string = strndup(data, size);
    assert(string != NULL);
    return string;
}

static bool is_taken(const struct csv_map *map, const struct csv_map_column *other)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct csv_map_column *column = &map->columns[i];
        if (column->target == other->target &&
            (other->name == NULL || strcmp(column->name, other->name) == 0))
            return true;
    }
    return false;
}

static enum error_class unknown_field(const char *field, struct error *ret_error)
{
    const char *nearest = suggest_string(field, target_names, CSV_TARGET_COUNT);
    bool named = nearest == target_names[CSV_ATTRIBUTE] || nearest == target_names[CSV_INPUT];
    return error_set(ret_error, CODE_USAGE, "--map: unknown field \"%.60s\"%s%s%s", field,
                     nearest != NULL ? ": did you mean " : "", nearest != NULL ? nearest : "",
                     named ? "NAME" : "");
}

/* `field` without its prefix; NULL: it has another one, or no name. */
static const char *name_behind(const char *field, enum csv_target target)
{
    const char *prefix = target_names[target];
    return string_starts_with(field, prefix) && strlen(field) > strlen(prefix)
               ? field + strlen(prefix)
               : NULL;
}

/* Names of an input have no dots: they may become paths. */
static enum error_class read_input_name(const char *name, struct csv_map_column *column,
                                        struct error *ret_error)
{
    static const char mark[] = ":string";
    size_t size = strlen(name);
    column->target = CSV_INPUT;
    column->as_text = string_ends_with(name, mark);
    if (column->as_text)
        size -= strlen(mark);
    if (size == 0 || memchr(name, '.', size) != NULL || memchr(name, ':', size) != NULL)
        return error_set(ret_error, CODE_USAGE,
                         "--map: input.%.60s: expected input.NAME or input.NAME:string, where NAME "
                         "has no '.' or ':'",
                         name);
    column->name = new_string(name, size);
    return ERROR_OK;
}

/* The column's target and name, which is new. */
static enum error_class read_field(const char *field, struct csv_map_column *column,
                                   struct error *ret_error)
{
    const char *attribute = name_behind(field, CSV_ATTRIBUTE);
    const char *input = name_behind(field, CSV_INPUT);
    if (input != NULL)
        return read_input_name(input, column, ret_error);
    if (attribute != NULL) {
        column->target = CSV_ATTRIBUTE;
        column->name = new_string(attribute, strlen(attribute));
        return ERROR_OK;
    }
    column->target = 0;
    while (column->target < CSV_ATTRIBUTE && strcmp(field, target_names[column->target]) != 0)
        column->target++;
    return column->target < CSV_ATTRIBUTE ? ERROR_OK : unknown_field(field, ret_error);
}

static enum error_class add_pair(struct csv_map *map, const char *field, const char *column,
                                 size_t column_size, struct error *ret_error)
{
    struct csv_map_column added = {0};
    enum error_class class = read_field(field, &added, ret_error);
    if (class == ERROR_OK && is_taken(map, &added))
        class = error_set(ret_error, CODE_USAGE, "--map: %.60s is given twice", field);
    else if (class == ERROR_OK && map->count == CSV_MAP_COLUMNS_MAX)
        class = error_set(ret_error, CODE_USAGE, "--map: too many fields");
    if (class != ERROR_OK) {
        free(added.name);
        return class;
    }
    added.column = new_string(column, column_size);
    map->columns[map->count++] = added;
    return ERROR_OK;
}

enum error_class csv_map_add(struct csv_map *map, const char *specification,
                             struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    while (class == ERROR_OK && *specification != '\0') {
        size_t size = strcspn(specification, ",");
        size_t equals = strcspn(specification, "=");
        if (equals == 0 || equals + 1 >= size)
            return error_set(ret_error, CODE_USAGE, "--map \"%.*s\": expected FIELD=COLUMN",
                             (int)size, specification);
        char *field = new_string(specification, equals);
        class = add_pair(map, field, specification + equals + 1, size - equals - 1, ret_error);
        free(field);
        specification += size + (specification[size] == ',');
    }
    return class;
}

/* ---- the header ---- */

static bool find_column(const struct csv_row *header, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < header->count; i++) {
        if (text_equal(trim(header->fields[i]), text_of(name))) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static enum error_class no_column(const struct csv_row *header, const char *name,
                                  struct error *ret_error)
{
    char columns[256];
    size_t used = 0;
    for (size_t i = 0; i < header->count && used < sizeof(columns); i++)
        used += (size_t)snprintf(columns + used, sizeof(columns) - used, "%s%.*s",
                                 i > 0 ? ", " : "", TEXT_ARG(header->fields[i]));
    return error_set(ret_error, CODE_USAGE,
                     "the file has no column \"%.60s\"; its columns are %s%s", name,
                     header->count > 0 ? columns : "none", used >= sizeof(columns) ? "..." : "");
}

enum error_class csv_map_bind(struct csv_map *map, const struct csv_row *header,
                              struct error *ret_error)
{
    bool has[CSV_TARGET_COUNT] = {false};
    for (size_t i = 0; i < map->count; i++) {
        struct csv_map_column *column = &map->columns[i];
        has[column->target] = true;
        if (!find_column(header, column->column, &column->index))
            return no_column(header, column->column, ret_error);
    }
    if (!has[CSV_ORDER_ID])
        return error_set(ret_error, CODE_USAGE,
                         "no column is the order id: give --map order_id=COLUMN,...");
    bool any_line =
        has[CSV_SKU] || has[CSV_UNIT_PRICE] || has[CSV_QUANTITY] || has[CSV_DESCRIPTION];
    if (any_line && !(has[CSV_SKU] && has[CSV_UNIT_PRICE]))
        return error_set(
            ret_error, CODE_USAGE,
            "a line of an order needs sku and unit_price: map both of them, or no field of a "
            "line");
    map->field_count = header->count;
    return ERROR_OK;
}

/* ---- rows ---- */

struct text csv_map_order_id(const struct csv_map *map, const struct csv_row *row)
{
    for (size_t i = 0; i < map->count; i++) {
        if (map->columns[i].target == CSV_ORDER_ID && map->columns[i].index < row->count)
            return trim(row->fields[map->columns[i].index]);
    }
    return (struct text){0};
}

static enum error_class read_line(struct csv_order_row *row, struct error *ret_error)
{
    struct order_line *line = &row->line;
    struct text quantity = row->texts[CSV_QUANTITY], price = row->texts[CSV_UNIT_PRICE];
    *line = (struct order_line){row->texts[CSV_SKU], row->texts[CSV_DESCRIPTION], 1, {0}};
    if (quantity.data != NULL && !number_parse(quantity, INT64_MIN, INT64_MAX, &line->quantity))
        return error_set(ret_error, CODE_BAD_ROW, "quantity \"%.*s\" is not a whole number",
                         TEXT_ARG(quantity));
    if (!decimal_parse(price, &line->unit_price))
        return error_set(ret_error, CODE_BAD_ROW,
                         "unit price \"%.*s\" is not a number with at most 4 decimals",
                         TEXT_ARG(price));
    if (line->quantity < 1)
        return error_set(ret_error, CODE_BAD_ROW, "quantity is %" PRId64 ": expected at least 1",
                         line->quantity);
    if (line->unit_price.unscaled < 0)
        return error_set(ret_error, CODE_BAD_ROW, "unit price %.*s is negative", TEXT_ARG(price));
    return ERROR_OK;
}

static enum error_class read_priority(struct csv_order_row *row, struct error *ret_error)
{
    struct text text = row->texts[CSV_PRIORITY];
    row->priority = PRIORITY_NORMAL;
    if (text_empty(text))
        return ERROR_OK;
    uint32_t priority;
    if (enum_names_find(&priority_names, text, &priority)) {
        row->priority = (enum priority)priority;
        return ERROR_OK;
    }
    return error_set(ret_error, CODE_BAD_ROW, "priority \"%.*s\" is not high, normal or low",
                     TEXT_ARG(text));
}

static bool is_utf8(const struct csv_row *row)
{
    bool valid = true;
    for (size_t i = 0; i < row->count && valid; i++)
        valid = utf8_valid(row->fields[i]);
    return valid;
}

enum error_class csv_map_row(const struct csv_map *map, const struct csv_row *row,
                             struct csv_order_row *ret_row, struct error *ret_error)
{
    if (row->count != map->field_count)
        return error_set(ret_error, CODE_BAD_ROW, "%zu fields, but the header has %zu", row->count,
                         map->field_count);
    if (!is_utf8(row))
        return error_set(ret_error, CODE_BAD_ROW, "the text is not UTF-8");
    struct csv_order_row order_row = {0};
    for (size_t i = 0; i < map->count; i++) {
        const struct csv_map_column *column = &map->columns[i];
        if (column->target < CSV_ATTRIBUTE)
            order_row.texts[column->target] = trim(row->fields[column->index]);
        order_row.has_line |= column->target == CSV_SKU;
    }
    if (text_empty(order_row.texts[CSV_ORDER_ID]))
        return error_set(ret_error, CODE_BAD_ROW, "the order id is empty");
    enum error_class class = read_priority(&order_row, ret_error);
    if (class == ERROR_OK && order_row.has_line)
        class = read_line(&order_row, ret_error);
    if (class == ERROR_OK)
        *ret_row = order_row;
    return class;
}
