/* SPDX-License-Identifier: Apache-2.0 */
/* See json_tree.h. */
#include "platform/json_tree.h"

#include "base/buffer.h"
#include "base/numbers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct text json_tree_marked(const json_t *value)
{
    const char *string = json_string_value(value);
    if (string == NULL || *string != JSON_MARK)
        return (struct text){0};
    return (struct text){string + 1, (uint32_t)json_string_length(value) - 1};
}

/* ---- loading ----
 *
 * Numbers that jansson cannot hold are replaced by one that it can, and put into the tree, which
 * has the order of the text, afterwards: the others are integers, so each fraction is one of
 * them. */

struct number_list {
    struct text *items;
    size_t count;
    size_t capacity;
};

static void add_number(struct number_list *list, struct text number)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        list->items = realloc(list->items, list->capacity * sizeof(*list->items));
        assert(list->items != NULL);
    }
    list->items[list->count++] = number;
}

/* Behind the string at `at`, as far as there is one. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && end - at > 1;
    return at < end ? at + 1 : end;
}

static const char *skip_number(const char *at, const char *end)
{
    while (at < end && (number_is_digit(*at) || strchr("+-.eE", *at) != NULL) && *at != '\0')
        at++;
    return at;
}

/* Whether jansson cannot hold it. What is not a number is left for it to refuse. */
static bool is_beyond(struct text number)
{
    int64_t integer;
    struct json_number parsed;
    return !number_parse(number, INT64_MIN, INT64_MAX, &integer) &&
           json_number_parse(number, &parsed) != JSON_FAULT_SYNTAX;
}

static void replace_numbers(struct text json, struct buffer *to, struct number_list *numbers)
{
    const char *end = json.data + json.size;
    for (const char *at = json.data, *next; at < end; at = next) {
        bool number = *at == '-' || number_is_digit(*at);
        next = *at == '"' ? skip_string(at, end) : number ? skip_number(at, end) : at + 1;
        struct text token = {at, (uint32_t)(next - at)};
        if (number && is_beyond(token)) {
            add_number(numbers, token);
            token = TEXT("0.5");
        }
        buffer_append(to, token.data, token.size);
    }
}

static json_t *new_marked(struct text json)
{
    char *bytes = malloc(json.size + 1ull);
    assert(bytes != NULL);
    bytes[0] = JSON_MARK;
    memcpy(bytes + 1, json.data, json.size);
    json_t *string = json_stringn_nocheck(bytes, json.size + 1ull);
    assert(string != NULL);
    free(bytes);
    return string;
}

/* Puts the numbers from *next on where there is a fraction. */
static void restore_numbers(json_t *tree, const struct number_list *numbers, size_t *next)
{
    size_t index;
    json_t *item;
    json_array_foreach(tree, index, item) {
        if (json_is_real(item))
            json_array_set_new(tree, index, new_marked(numbers->items[(*next)++]));
        else
            restore_numbers(item, numbers, next);
    }
    for (void *at = json_object_iter(tree); at != NULL; at = json_object_iter_next(tree, at)) {
        item = json_object_iter_value(at);
        if (json_is_real(item))
            json_object_iter_set_new(tree, at, new_marked(numbers->items[(*next)++]));
        else
            restore_numbers(item, numbers, next);
    }
}

json_t *json_tree_load(struct text json, size_t flags, json_error_t *ret_at)
{
    struct buffer replaced = {0};
    struct number_list numbers = {0};
    size_t next = 0;
    if (json.size > 0)
        replace_numbers(json, &replaced, &numbers);
    json_t *tree = json_loadb(replaced.data != NULL ? (const char *)replaced.data : "",
                              replaced.size, flags | JSON_REJECT_DUPLICATES, ret_at);
    if (tree != NULL && numbers.count > 0)
        restore_numbers(tree, &numbers, &next);
    assert(tree == NULL || next == numbers.count);
    buffer_deinit(&replaced);
    free(numbers.items);
    return tree;
}

/* ---- printing ---- */

struct tree_printer {
    struct buffer text;
    size_t flags;
};

static void put(struct tree_printer *printer, const char *string)
{
    buffer_append(&printer->text, string, strlen(string));
}

static int append(const char *bytes, size_t size, void *ctx)
{
    buffer_append(ctx, bytes, size);
    return 0;
}

static void print_scalar(struct tree_printer *printer, const json_t *value)
{
    int failed =
        json_dump_callback(value, append, &printer->text, printer->flags | JSON_ENCODE_ANY);
    assert(failed == 0);
    (void)failed;
}

/* Before an item of a list at that depth, or (`last`) before its bracket. */
static void print_break(struct tree_printer *printer, int depth, bool first, bool last)
{
    size_t indent = printer->flags & JSON_MAX_INDENT;
    if (!first && !last)
        put(printer, ",");
    if (indent > 0)
        put(printer, "\n");
    else if (!first && !last && (printer->flags & JSON_COMPACT) == 0)
        put(printer, " ");
    for (size_t i = 0; i < indent * (size_t)(last ? depth - 1 : depth); i++)
        put(printer, " ");
}

static void print_value(struct tree_printer *printer, const json_t *value, int depth);

static void print_list(struct tree_printer *printer, const json_t *list, int depth)
{
    size_t index;
    json_t *item;
    put(printer, "[");
    json_array_foreach(list, index, item) {
        print_break(printer, depth, index == 0, false);
        print_value(printer, item, depth);
    }
    if (json_array_size(list) > 0)
        print_break(printer, depth, false, true);
    put(printer, "]");
}

static void print_object(struct tree_printer *printer, const json_t *object, int depth)
{
    const char *name;
    json_t *value;
    bool first = true;
    put(printer, "{");
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        json_t *quoted = json_string(name);
        print_break(printer, depth, first, false);
        print_scalar(printer, quoted);
        put(printer, (printer->flags & JSON_COMPACT) != 0 ? ":" : ": ");
        print_value(printer, value, depth);
        json_decref(quoted);
        first = false;
    }
    if (!first)
        print_break(printer, depth, false, true);
    put(printer, "}");
}

static void print_value(struct tree_printer *printer, const json_t *value, int depth)
{
    struct text marked = json_tree_marked(value);
    if (marked.data != NULL)
        buffer_append(&printer->text, marked.data, marked.size);
    else if (json_is_object(value))
        print_object(printer, value, depth + 1);
    else if (json_is_array(value))
        print_list(printer, value, depth + 1);
    else
        print_scalar(printer, value);
}

static bool has_mark(const json_t *value)
{
    size_t index;
    const char *name;
    json_t *item;
    bool found = json_tree_marked(value).data != NULL;
    json_array_foreach(value, index, item)
        found = found || has_mark(item);
    json_object_foreach((json_t *)(uintptr_t)value, name, item)
        found = found || has_mark(item);
    return found;
}

char *json_tree_print(const json_t *tree, size_t flags)
{
    struct tree_printer printer = {.flags = flags};
    if (!has_mark(tree)) /* most have none, and jansson is faster */
        return json_dumps(tree, flags | JSON_ENCODE_ANY);
    print_value(&printer, tree, 0);
    buffer_append(&printer.text, "", 1);
    return (char *)printer.text.data;
}
