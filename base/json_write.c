/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical text is made: see json.h.
 *
 * The text under way is the beginning of another one, of which nothing was copied yet (`own` is
 * NULL), or lies in the arena. A map is sorted when it is closed and only if a name was out of
 * order: its members are swapped as they lie, since each of them is canonical by then. */
#include "base/json_internal.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { CAPACITY_MIN = 64 };

static void fail(struct json_writer *writer, enum json_fault fault)
{
    if (writer->fault == JSON_FAULT_NONE)
        writer->fault = fault;
}

void json_writer_init(struct json_writer *writer, uint32_t size_max, struct arena *arena)
{
    memset(writer, 0, offsetof(struct json_writer, levels));
    writer->arena = arena;
    writer->size_max = size_max;
    writer->depth_max = JSON_DEPTH_MAX;
}

void json_writer_mirror(struct json_writer *writer, struct text json)
{
    assert(writer->size == 0 && writer->capacity == 0);
    writer->data = json.data;
    writer->hint = json.size;
}

/* ---- bytes ---- */

/* Makes room for `size` more bytes in the arena. */
static bool reserve(struct json_writer *writer, uint32_t size)
{
    uint64_t need = (uint64_t)writer->size + size;
    if (need > writer->size_max) {
        fail(writer, JSON_FAULT_SIZE);
        return false;
    }
    if (need <= writer->capacity)
        return true;
    uint64_t capacity = writer->capacity > 0 ? 2 * (uint64_t)writer->capacity : CAPACITY_MIN;
    if (capacity < writer->hint)
        capacity = writer->hint;
    if (capacity < need)
        capacity = need;
    if (capacity > writer->size_max)
        capacity = writer->size_max;
    char *own = arena_bytes(writer->arena, capacity);
    if (writer->size > 0)
        memcpy(own, writer->data, writer->size);
    writer->own = own;
    writer->data = own;
    writer->capacity = (uint32_t)capacity;
    return true;
}

void json_put(struct json_writer *writer, const char *bytes, uint32_t size)
{
    if (writer->fault != JSON_FAULT_NONE || size == 0)
        return;
    bool mirrors = writer->own == NULL && writer->data != NULL &&
                   bytes == writer->data + writer->size && size <= writer->size_max - writer->size;
    if (!mirrors && !reserve(writer, size))
        return;
    if (!mirrors)
        memcpy(writer->own + writer->size, bytes, size);
    writer->size += size;
}

/* ---- the grammar ---- */

static struct json_writer_level *innermost(struct json_writer *writer)
{
    return writer->depth > 0 ? &writer->levels[writer->depth - 1] : NULL;
}

void json_put_begin(struct json_writer *writer, const char *comma)
{
    struct json_writer_level *level = innermost(writer);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    if (level == NULL) {
        assert(writer->size == 0);
        return;
    }
    if (level->map) {
        assert(level->named);
        level->named = false;
        return;
    }
    if (level->count > 0)
        json_put(writer, comma, 1);
    level->count++;
}

void json_put_open(struct json_writer *writer, const char *bracket)
{
    if (writer->fault != JSON_FAULT_NONE)
        return;
    assert(writer->depth_max <= JSON_ENVELOPE_DEPTH_MAX);
    if (writer->depth == writer->depth_max) {
        fail(writer, JSON_FAULT_DEPTH);
        return;
    }
    writer->levels[writer->depth++] =
        (struct json_writer_level){.start = writer->size, .map = *bracket == '{'};
    json_put(writer, bracket, 1);
}

static struct text name_text(const struct json_writer *writer, struct json_writer_name name)
{
    assert(writer->data[name.at] == '"');
    return (struct text){writer->data + name.at + 1, name.size};
}

void json_put_name_begin(struct json_writer *writer, const char *comma, const char *quote)
{
    struct json_writer_level *level = innermost(writer);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    assert(level != NULL && level->map && !level->named);
    if (level->count > 0)
        json_put(writer, comma, 1);
    level->previous = level->last;
    level->last = (struct json_writer_name){.at = writer->size};
    json_put(writer, quote, 1);
}

void json_put_name_end(struct json_writer *writer, const char *quote, const char *colon)
{
    struct json_writer_level *level = innermost(writer);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    level->last.size = writer->size - level->last.at - 1;
    json_put(writer, quote, 1);
    json_put(writer, colon, 1);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    level->named = true;
    if (level->count++ == 0)
        return;
    int order =
        json_escaped_compare(name_text(writer, level->previous), name_text(writer, level->last));
    if (order == 0)
        fail(writer, JSON_FAULT_NAME_TWICE);
    level->unsorted = level->unsorted || order > 0;
}

/* ---- names in order ---- */

struct json_writer_member {
    struct json_writer_name name;
    uint32_t size; /* with the value, without a comma */
};

static void make_room_to_sort(struct json_writer *writer, uint32_t count, uint32_t size)
{
    if (count > writer->members_capacity) {
        uint32_t twice = 2 * writer->members_capacity;
        writer->members_capacity = count > twice ? count : twice;
        writer->members =
            ARENA_ARRAY(writer->arena, struct json_writer_member, writer->members_capacity);
    }
    if (size > writer->spare_capacity) {
        uint64_t twice = 2 * (uint64_t)writer->spare_capacity;
        writer->spare_capacity = size > twice ? size : (uint32_t)twice;
        writer->spare = arena_bytes(writer->arena, writer->spare_capacity);
    }
}

static void list_members(struct json_writer *writer, const struct json_writer_level *level)
{
    const char *end = writer->data + writer->size;
    const char *at = writer->data + level->start + 1;
    for (uint32_t i = 0; i < level->count; i++) {
        const char *quote = json_quote_end(at + 1, end);
        assert(quote != NULL && quote[1] == ':');
        const char *to = json_value_end(quote + 2, end);
        assert(to != NULL && (to == end || *to == ','));
        writer->members[i] = (struct json_writer_member){
            .name = {(uint32_t)(at - writer->data), (uint32_t)(quote - at - 1)},
            .size = (uint32_t)(to - at)};
        at = to + 1;
    }
    assert(at == end + 1);
}

static int compare_members(const struct json_writer *writer, uint32_t a, uint32_t b)
{
    return json_escaped_compare(name_text(writer, writer->members[a].name),
                                name_text(writer, writer->members[b].name));
}

static void swap_members(struct json_writer *writer, uint32_t a, uint32_t b)
{
    struct json_writer_member kept = writer->members[a];
    writer->members[a] = writer->members[b];
    writer->members[b] = kept;
}

/* Of a heap with the greatest name at 0: the member at `at` may be too small for its place. It goes
 * to the bottom first and rises from there, which takes half the comparisons. */
static void sift_down(struct json_writer *writer, uint32_t at, uint32_t count)
{
    uint32_t top = at;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare_members(writer, child, child + 1) < 0)
            child++;
        swap_members(writer, at, child);
    }
    for (uint32_t parent; at > top; at = parent) {
        parent = (at - 1) / 2;
        if (compare_members(writer, parent, at) >= 0)
            return;
        swap_members(writer, parent, at);
    }
}

/* A heap's order does not depend on luck, and the C library's qsort() may allocate. */
static void sort_members(struct json_writer *writer, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--)
        sift_down(writer, i - 1, count);
    for (uint32_t left = count; left > 1; left--) {
        swap_members(writer, 0, left - 1);
        sift_down(writer, 0, left - 1);
    }
}

static bool has_name_twice(struct json_writer *writer, struct json_writer_level *level)
{
    for (uint32_t i = 1; i < level->count; i++) {
        if (compare_members(writer, i - 1, i) != 0)
            continue;
        level->last = writer->members[i].name;
        return true;
    }
    return false;
}

static void sort_map(struct json_writer *writer, struct json_writer_level *level)
{
    uint32_t start = level->start + 1;
    uint32_t size = writer->size - start;
    if (!reserve(writer, 0))
        return;
    make_room_to_sort(writer, level->count, size);
    list_members(writer, level);
    sort_members(writer, level->count);
    if (has_name_twice(writer, level)) {
        fail(writer, JSON_FAULT_NAME_TWICE);
        return;
    }
    memcpy(writer->spare, writer->data + start, size);
    char *to = writer->own + start;
    for (uint32_t i = 0; i < level->count; i++) {
        const struct json_writer_member *member = &writer->members[i];
        if (i > 0)
            *to++ = ',';
        memcpy(to, writer->spare + (member->name.at - start), member->size);
        to += member->size;
    }
    assert(to == writer->own + writer->size);
}

void json_put_close(struct json_writer *writer, const char *bracket)
{
    struct json_writer_level *level = innermost(writer);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    assert(level != NULL && !level->named && level->map == (*bracket == '}'));
    if (level->unsorted)
        sort_map(writer, level);
    json_put(writer, bracket, 1);
    if (writer->fault == JSON_FAULT_NONE)
        writer->depth--;
}

/* ---- values ---- */

static void put_whole(struct json_writer *writer, const char *bytes, uint32_t size)
{
    json_put_begin(writer, ",");
    json_put(writer, bytes, size);
}

void json_write_null(struct json_writer *writer)
{
    put_whole(writer, "null", 4);
}

void json_write_boolean(struct json_writer *writer, bool boolean)
{
    put_whole(writer, boolean ? "true" : "false", boolean ? 4 : 5);
}

void json_write_number(struct json_writer *writer, const struct json_number *number)
{
    char text[JSON_NUMBER_SIZE];
    uint32_t size = json_number_format(number, text);
    if (size == 0)
        fail(writer, JSON_FAULT_DIGITS);
    put_whole(writer, text, size);
}

void json_write_integer(struct json_writer *writer, int64_t integer)
{
    char text[JSON_NUMBER_SIZE];
    int size = snprintf(text, sizeof(text), "%" PRId64, integer);
    assert(size > 0 && (size_t)size < sizeof(text));
    put_whole(writer, text, (uint32_t)size);
}

/* What is between the quotes. */
static void put_escaped(struct json_writer *writer, struct text text)
{
    if (text.size == 0)
        return;
    const char *at = text.data;
    const char *end = at + text.size;
    if (!utf8_valid(text))
        fail(writer, JSON_FAULT_UTF8);
    else if (memchr(text.data, 0, text.size) != NULL)
        fail(writer, JSON_FAULT_NUL);
    while (at < end && writer->fault == JSON_FAULT_NONE) {
        char escape[JSON_ESCAPE_SIZE_MAX];
        const char *to = json_plain_end(at, end);
        json_put(writer, at, (uint32_t)(to - at));
        if (to < end)
            json_put(writer, escape, json_escape_write((uint8_t)*to, escape));
        at = to + 1;
    }
}

void json_write_text(struct json_writer *writer, struct text text)
{
    put_whole(writer, "\"", 1);
    put_escaped(writer, text);
    json_put(writer, "\"", 1);
}

/* How many lists and maps lie within each other. */
static uint32_t depth_of(struct text canonical)
{
    uint32_t depth = 0, deepest = 0;
    const char *end = canonical.data + canonical.size;
    for (const char *at = canonical.data; at < end; at++) {
        if (*at == '[' || *at == '{')
            deepest = ++depth > deepest ? depth : deepest;
        else if ((*at == ']' || *at == '}') && depth > 0)
            depth--;
        else if (*at == '"' && (at = json_quote_end(at + 1, end)) == NULL)
            break;
    }
    return deepest;
}

void json_write_canonical(struct json_writer *writer, struct text canonical)
{
    assert(canonical.size > 0);
    if (depth_of(canonical) > writer->depth_max - writer->depth)
        fail(writer, JSON_FAULT_DEPTH);
    put_whole(writer, canonical.data, canonical.size);
}

void json_write_list(struct json_writer *writer)
{
    json_put_begin(writer, ",");
    json_put_open(writer, "[");
}

void json_write_map(struct json_writer *writer)
{
    json_put_begin(writer, ",");
    json_put_open(writer, "{");
}

void json_write_name(struct json_writer *writer, struct text name)
{
    json_put_name_begin(writer, ",", "\"");
    put_escaped(writer, name);
    json_put_name_end(writer, "\"", ":");
}

void json_write_close(struct json_writer *writer)
{
    struct json_writer_level *level = innermost(writer);
    if (writer->fault != JSON_FAULT_NONE)
        return;
    assert(level != NULL);
    json_put_close(writer, level->map ? "}" : "]");
}

bool json_writer_done(struct json_writer *writer, struct text *ret_text)
{
    if (writer->fault != JSON_FAULT_NONE)
        return false;
    assert(writer->depth == 0 && writer->size > 0);
    *ret_text = (struct text){writer->data, writer->size};
    return true;
}
