/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schema where an InputShape should be: how it is recognized, and what to write instead.
 *
 * Each keyword of JSON Schema is also a name that an input may have, so only what cannot be a shape
 * is taken for a schema: {type: string, properties: {a: number}} is an input with two members. */
#include "base/numbers.h"
#include "engine/shape.h"
#include "workflow/compile.h"

#include <stdarg.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { WRITTEN_SIZE = 128 };

/* What is written so far. */
struct writing {
    char text[WRITTEN_SIZE];
    size_t size;
    bool optional; /* a member has a "?" */
    bool failed;   /* it does not fit, or a name would have to be put in quotes */
};

/* ---- recognizing ---- */

static const struct yaml_node *find(const struct yaml_node *map, const char *name)
{
    const struct yaml_node *child = map->kind == NODE_MAPPING ? map->first : NULL;
    while (child != NULL && !text_equal(child->key->text, text_of(name)))
        child = child->next;
    return child;
}

static bool is_word(const struct yaml_node *node, const char *word)
{
    return node->kind == NODE_SCALAR && text_equal(node->text, text_of(word));
}

static bool is_type(const struct yaml_node *node)
{
    for (uint32_t i = 0; i < SHAPE_LIST; i++) {
        if (is_word(node, shape_kind_name((enum shape_kind)i)))
            return true;
    }
    return false;
}

/* A number, true or false: no shape has them. */
static bool is_number_or_boolean(const struct yaml_node *node)
{
    struct text text = node->text;
    if (node->kind != NODE_SCALAR || !node->plain || text_empty(text))
        return false;
    return number_is_digit(text.data[0]) || text.data[0] == '-' || is_word(node, "true") ||
           is_word(node, "false");
}

static bool is_address(const struct yaml_node *node)
{
    return node != NULL && node->kind == NODE_SCALAR && node->text.size > 0 &&
           memchr(node->text.data, '/', node->text.size) != NULL;
}

/* `properties`: the names in a list are probably theirs. */
static bool is_list_of_names(const struct yaml_node *node, bool properties)
{
    if (node->kind != NODE_SEQUENCE)
        return false;
    return node->count != 1 ||
           (properties && node->first->kind == NODE_SCALAR && !is_type(node->first));
}

/* First those whose value can be a type as well, then those where it never is. */
static const char *const keywords[] = {"type",
                                       "properties",
                                       "items",
                                       "$schema",
                                       "$ref",
                                       "$id",
                                       "$defs",
                                       "title",
                                       "format",
                                       "pattern",
                                       "description",
                                       "examples",
                                       "oneOf",
                                       "anyOf",
                                       "allOf",
                                       "required",
                                       "enum",
                                       "minimum",
                                       "maximum",
                                       "exclusiveMinimum",
                                       "minLength",
                                       "exclusiveMaximum",
                                       "minItems",
                                       "maxItems",
                                       "additionalProperties",
                                       "maxLength",
                                       "multipleOf",
                                       "const",
                                       "default",
                                       "uniqueItems",
                                       "nullable"};
enum { FIRST_OF_DATA = 15 };

static bool has_keywords_only(const struct yaml_node *map)
{
    for (const struct yaml_node *child = map->first; child != NULL; child = child->next) {
        size_t i = 0;
        while (i < COUNT(keywords) && !text_equal(child->key->text, text_of(keywords[i])))
            i++;
        if (i == COUNT(keywords))
            return false;
    }
    return true;
}

bool shape_is_json_schema(const struct yaml_node *node)
{
    const struct yaml_node *type = find(node, "type");
    bool properties = find(node, "properties") != NULL;
    bool begun = properties || find(node, "items") != NULL ||
                 (type != NULL && (type->kind == NODE_SEQUENCE || is_type(type)));
    if (type != NULL && (is_word(type, "object") || is_word(type, "array")) &&
        has_keywords_only(node))
        return true;
    for (size_t i = FIRST_OF_DATA; begun && i < COUNT(keywords); i++) {
        const struct yaml_node *value = find(node, keywords[i]);
        if (value != NULL && (is_number_or_boolean(value) || is_list_of_names(value, properties)))
            return true;
    }
    return is_address(find(node, "$schema")) || is_address(find(node, "$ref"));
}

/* ---- what to write ---- */

__attribute__((format(printf, 2, 3))) static void add(struct writing *writing, const char *format,
                                                      ...)
{
    size_t room = sizeof(writing->text) - writing->size;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(writing->text + writing->size, room, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= room)
        writing->failed = true;
    else
        writing->size += (size_t)size;
}

static bool is_plain(struct text name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '_')
            return false;
    }
    return name.size > 0;
}

static bool is_required(const struct yaml_node *schema, struct text name)
{
    const struct yaml_node *required = find(schema, "required");
    const struct yaml_node *each =
        required != NULL && required->kind == NODE_SEQUENCE ? required->first : NULL;
    while (each != NULL && !(each->kind == NODE_SCALAR && text_equal(each->text, name)))
        each = each->next;
    return each != NULL;
}

static void add_type(struct writing *writing, const struct yaml_node *schema);

static void add_members(struct writing *writing, const struct yaml_node *schema,
                        const struct yaml_node *properties)
{
    add(writing, "{");
    for (const struct yaml_node *child = properties->first; child != NULL && !writing->failed;
         child = child->next) {
        struct text name = child->key->text;
        bool required = is_required(schema, name);
        writing->failed |= !is_plain(name);
        writing->optional |= !required;
        add(writing, "%.*s%s: ", QUOTE_ARG(name), required ? "" : "?");
        add_type(writing, child);
        add(writing, "%s", child->next != NULL ? ", " : "");
    }
    add(writing, "}");
}

/* No deeper than a file may be. */
static void add_type(struct writing *writing, const struct yaml_node *schema)
{
    const struct yaml_node *type = find(schema, "type");
    const struct yaml_node *properties = find(schema, "properties");
    const struct yaml_node *items = find(schema, "items");
    if (properties != NULL && properties->kind == NODE_MAPPING && properties->first != NULL) {
        add_members(writing, schema, properties);
    } else if (items != NULL || (type != NULL && is_word(type, "array"))) {
        add(writing, "[");
        if (items != NULL && !writing->failed)
            add_type(writing, items);
        else
            add(writing, "any");
        add(writing, "]");
    } else if (type != NULL && is_type(type)) {
        add(writing, "%.*s", QUOTE_ARG(type->text));
    } else {
        add(writing, "any");
    }
}

void shape_refuse_json_schema(const struct values *values, const struct yaml_node *node)
{
    struct writing writing = {.size = 0};
    add_type(&writing, node);
    if (writing.failed)
        problems_add_error(values->problems, node->mark,
                           "InputShape is not JSON Schema: write the names and types themselves, "
                           "as in {amount: number, note?: string, tags: [string]}");
    else
        problems_add_error(
            values->problems, node->mark, "InputShape is not JSON Schema: write %s%s", writing.text,
            writing.optional ? "; a ? behind a name says that it may be missing" : "");
}
