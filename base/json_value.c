/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical text read where it lies: see json.h. What is read may be anything: the answers are
 * right for canonical text only, the bounds hold for all. */
#include "base/json_internal.h"
#include "base/numbers.h"

#include <assert.h>

static const char *const kind_names[] = {
    [JSON_KIND_NONE] = "nothing",    [JSON_KIND_NULL] = "null",   [JSON_KIND_BOOLEAN] = "a boolean",
    [JSON_KIND_NUMBER] = "a number", [JSON_KIND_TEXT] = "a text", [JSON_KIND_LIST] = "a list",
    [JSON_KIND_MAP] = "a map",
};
_Static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == JSON_KIND_COUNT, "each has a name");

const char *json_kind_name(enum json_kind kind)
{
    assert(kind >= 0 && kind < JSON_KIND_COUNT);
    return kind_names[kind];
}

/* ---- where tokens end ---- */

const char *json_quote_end(const char *at, const char *end)
{
    while ((at = json_plain_end(at, end)) < end && *at == '\\') {
        if (end - at < 2)
            return NULL;
        at += 2;
    }
    return at < end && *at == '"' ? at : NULL;
}

static const char *word_end(const char *at, const char *end, struct text word)
{
    if ((size_t)(end - at) < word.size || memcmp(at, word.data, word.size) != 0)
        return NULL;
    return at + word.size;
}

static const char *number_end(const char *at, const char *end)
{
    while (at < end && (number_is_digit(*at) || *at == '.' || *at == '-'))
        at++;
    return at;
}

/* What a byte does to the search for the end of a list or map. */
enum { OPENS = 1, CLOSES = 2, QUOTES = 3 };
static const uint8_t roles[256] = {
    ['['] = OPENS, ['{'] = OPENS, [']'] = CLOSES, ['}'] = CLOSES, ['"'] = QUOTES};

static const char *container_end(const char *at, const char *end)
{
    uint64_t depth = 0;
    while (at < end) {
        uint8_t role = roles[(uint8_t)*at++];
        if (role == 0)
            continue;
        if (role == OPENS) {
            depth++;
        } else if (role == CLOSES) {
            if (--depth == 0)
                return at;
        } else {
            at = json_quote_end(at, end);
            if (at == NULL)
                return NULL;
            at++;
        }
    }
    return NULL;
}

static enum json_kind kind_at(const char *at, const char *end)
{
    if (at == NULL || at >= end)
        return JSON_KIND_NONE;
    switch (*at) {
    case '"':
        return JSON_KIND_TEXT;
    case '{':
        return JSON_KIND_MAP;
    case '[':
        return JSON_KIND_LIST;
    case 't':
    case 'f':
        return JSON_KIND_BOOLEAN;
    case 'n':
        return JSON_KIND_NULL;
    default:
        return *at == '-' || number_is_digit(*at) ? JSON_KIND_NUMBER : JSON_KIND_NONE;
    }
}

const char *json_value_end(const char *at, const char *end)
{
    const char *quote;
    switch (kind_at(at, end)) {
    case JSON_KIND_TEXT:
        quote = json_quote_end(at + 1, end);
        return quote != NULL ? quote + 1 : NULL;
    case JSON_KIND_LIST:
    case JSON_KIND_MAP:
        return container_end(at, end);
    case JSON_KIND_NUMBER:
        return number_end(at, end);
    case JSON_KIND_BOOLEAN:
        return *at == 't' ? word_end(at, end, TEXT("true")) : word_end(at, end, TEXT("false"));
    case JSON_KIND_NULL:
        return word_end(at, end, TEXT("null"));
    case JSON_KIND_NONE:
    case JSON_KIND_COUNT:
        break;
    }
    return NULL;
}

/* ---- walking ---- */

/* How far the walk may go from `at`. */
static const char *limit_of(const char *at, const char *end, const struct json_walk *walk)
{
    if (walk == NULL)
        return end;
    if (walk->spent)
        return at;
    return walk->left < (uint64_t)(end - at) ? at + walk->left : end;
}

/* The walk went from `at` to `to`, or (NULL) to its limit without finding what it looked for. What
 * ends at the limit may go on behind it, so it counts as not found. */
static const char *charge(const char *at, const char *to, const char *limit, const char *end,
                          struct json_walk *walk)
{
    if (walk == NULL)
        return to;
    if (limit < end && (to == NULL || to == limit)) {
        walk->left = 0;
        walk->spent = true;
        return NULL;
    }
    walk->left -= (uint64_t)((to != NULL ? to : limit) - at);
    return to;
}

static const char *walk_value(const char *at, const char *end, struct json_walk *walk)
{
    const char *limit = limit_of(at, end, walk);
    return charge(at, json_value_end(at, limit), limit, end, walk);
}

/* `at` is behind a quote. */
static const char *walk_quoted(const char *at, const char *end, struct json_walk *walk)
{
    const char *limit = limit_of(at, end, walk);
    return charge(at, json_quote_end(at, limit), limit, end, walk);
}

/* ---- values ---- */

struct json_value json_value_of(struct text canonical)
{
    if (canonical.size == 0)
        return (struct json_value){0};
    return (struct json_value){canonical.data, canonical.data + canonical.size};
}

enum json_kind json_value_kind(struct json_value value)
{
    return kind_at(value.at, value.end);
}

bool json_value_boolean(struct json_value value)
{
    assert(json_value_kind(value) == JSON_KIND_BOOLEAN);
    return *value.at == 't';
}

static struct text span(const char *at, const char *to)
{
    return to != NULL ? (struct text){at, (uint32_t)(to - at)} : (struct text){0};
}

struct text json_value_text(struct json_value value, struct json_walk *walk)
{
    if (json_value_kind(value) == JSON_KIND_NONE)
        return (struct text){0};
    return span(value.at, walk_value(value.at, value.end, walk));
}

static struct text number_text(struct json_value value)
{
    const char *end =
        value.end - value.at > JSON_NUMBER_SIZE + 1 ? value.at + JSON_NUMBER_SIZE + 1 : value.end;
    return span(value.at, number_end(value.at, end));
}

bool json_value_number(struct json_value value, struct json_number *ret_number)
{
    return json_value_kind(value) == JSON_KIND_NUMBER &&
           json_number_parse(number_text(value), ret_number) == JSON_FAULT_NONE;
}

bool json_value_integer(struct json_value value, int64_t *ret_integer)
{
    return json_value_kind(value) == JSON_KIND_NUMBER &&
           number_parse(number_text(value), INT64_MIN, INT64_MAX, ret_integer);
}

struct text json_value_escaped(struct json_value value, struct json_walk *walk)
{
    if (json_value_kind(value) != JSON_KIND_TEXT)
        return (struct text){0};
    return span(value.at + 1, walk_quoted(value.at + 1, value.end, walk));
}

/* ---- lists and maps ---- */

void json_items_begin(struct json_items *items, struct json_value container)
{
    enum json_kind kind = json_value_kind(container);
    bool any = kind == JSON_KIND_LIST || kind == JSON_KIND_MAP;
    *items = (struct json_items){
        .value = any ? container : (struct json_value){0},
        .map = kind == JSON_KIND_MAP,
    };
}

/* Behind the bracket that opens, or the comma behind the current value; NULL: there is none. */
static const char *next_item(const struct json_items *items, struct json_walk *walk)
{
    const char *end = items->value.end;
    const char *at = items->value.at;
    if (at == NULL)
        return NULL;
    if (!items->begun) {
        at++;
        return at < end && *at != ']' && *at != '}' ? at : NULL;
    }
    at = walk_value(at, end, walk);
    return at != NULL && at < end && *at == ',' ? at + 1 : NULL;
}

/* Behind the name at `at` and its colon; NULL: there is none. */
static const char *take_name(struct json_items *items, const char *at, struct json_walk *walk)
{
    const char *end = items->value.end;
    if (at >= end || *at != '"')
        return NULL;
    const char *quote = walk_quoted(at + 1, end, walk);
    if (quote == NULL || end - quote < 2 || quote[1] != ':')
        return NULL;
    items->name = span(at + 1, quote);
    return quote + 2;
}

bool json_items_next(struct json_items *items, struct json_walk *walk)
{
    const char *at = next_item(items, walk);
    items->begun = true;
    if (at != NULL && items->map)
        at = take_name(items, at, walk);
    bool there = at != NULL && kind_at(at, items->value.end) != JSON_KIND_NONE;
    items->value.at = there ? at : NULL;
    return there;
}

struct json_value json_value_member(struct json_value map, struct text name, struct json_walk *walk)
{
    struct json_items items;
    if (json_value_kind(map) != JSON_KIND_MAP)
        return (struct json_value){0};
    json_items_begin(&items, map);
    while (json_items_next(&items, walk))
        if (json_escaped_equal(items.name, name))
            return items.value;
    return (struct json_value){0};
}

struct json_value json_value_element(struct json_value list, uint64_t index, struct json_walk *walk)
{
    struct json_items items;
    if (json_value_kind(list) != JSON_KIND_LIST)
        return (struct json_value){0};
    json_items_begin(&items, list);
    while (json_items_next(&items, walk))
        if (index-- == 0)
            return items.value;
    return (struct json_value){0};
}

uint64_t json_value_count(struct json_value value, struct json_walk *walk)
{
    struct json_items items;
    uint64_t count = 0;
    json_items_begin(&items, value);
    while (json_items_next(&items, walk))
        count++;
    return count;
}
