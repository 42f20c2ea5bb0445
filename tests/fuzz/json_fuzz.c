/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted JSON becomes canonical or is refused; readers stay within any bytes and within their
 * walk; what they read, written again, is the same text.
 *
 *     how (1 byte), text
 *
 * The low half of `how` bounds the canonical text and the walk. With the high half 15 the text is
 * repeated, as the elements of a list, up to the largest input of an order. */
#include "base/heap_arena.h"
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>

enum { TEXT_BYTES_MAX = 256 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct text repeated(struct text text, struct arena *arena)
{
    char *list = arena_bytes(arena, TEXT_BYTES_MAX);
    uint32_t size = 0;
    do {
        list[size] = size == 0 ? '[' : ',';
        memcpy(list + size + 1, text.data, text.size);
        size += 1 + text.size;
    } while (size + text.size + 2 <= TEXT_BYTES_MAX);
    list[size++] = ']';
    return (struct text){list, size};
}

/* What a reader sees of a list or map, spending its walk. */
static void walk_all(struct json_value value, struct json_walk *walk, struct arena *arena)
{
    struct json_items items;
    uint64_t before = walk->left;
    struct text whole = json_value_text(value, walk);
    assert(before - walk->left >= whole.size);
    for (json_items_begin(&items, value); json_items_next(&items, walk);) {
        struct text escaped = json_value_escaped(items.value, walk);
        struct text plain = json_unescape(escaped, arena);
        struct json_number number;
        int64_t integer, same;
        assert(plain.size <= escaped.size && json_escaped_equal(escaped, plain));
        if (json_value_integer(items.value, &integer) && json_value_number(items.value, &number))
            assert(json_number_integer(&number, &same) && same == integer);
    }
    assert(walk->left <= before && (!walk->spent || walk->left == 0));
}

static void copy(struct json_value value, struct json_writer *writer, struct arena *arena)
{
    struct json_items items;
    struct json_number number;
    enum json_kind kind = json_value_kind(value);
    switch (kind) {
    case JSON_KIND_NULL:
        json_write_null(writer);
        return;
    case JSON_KIND_BOOLEAN:
        json_write_boolean(writer, json_value_boolean(value));
        return;
    case JSON_KIND_NUMBER:
        if (!json_value_number(value, &number))
            abort();
        json_write_number(writer, &number);
        return;
    case JSON_KIND_TEXT:
        json_write_text(writer, json_unescape(json_value_escaped(value, NULL), arena));
        return;
    case JSON_KIND_LIST:
    case JSON_KIND_MAP:
        break;
    case JSON_KIND_NONE:
    case JSON_KIND_COUNT:
        abort();
    }
    kind == JSON_KIND_LIST ? json_write_list(writer) : json_write_map(writer);
    for (json_items_begin(&items, value); json_items_next(&items, NULL);) {
        if (kind == JSON_KIND_MAP)
            json_write_name(writer, json_unescape(items.name, arena));
        copy(items.value, writer, arena);
    }
    json_write_close(writer);
}

static void check_canonical(struct text canonical, struct arena *arena)
{
    struct text again = {0};
    struct json_writer writer;
    bool same = json_canonical(canonical, canonical.size, arena, &again, NULL);
    assert(same && again.data == canonical.data && again.size == canonical.size);
    assert(text_equal(json_value_text(json_value_of(canonical), NULL), canonical));
    json_writer_init(&writer, canonical.size, arena);
    copy(json_value_of(canonical), &writer, arena);
    bool written = json_writer_done(&writer, &again);
    assert(written && text_equal(again, canonical));
}

static void check(struct text json, uint32_t how, struct arena *arena)
{
    char line[JSON_PROBLEM_SIZE];
    struct text canonical = {0};
    struct json_problem problem;
    uint32_t size_max = how == 15 ? TEXT_BYTES_MAX : 16U << how;
    size_t used = arena->used;
    struct json_walk walk = {.left = how == 0 ? UINT64_MAX : json.size / how};
    walk_all(json_value_of(json), &walk, arena);
    used = arena->used;
    if (json_canonical(json, size_max, arena, &canonical, &problem)) {
        assert(canonical.size > 0 && canonical.size <= size_max);
        assert(arena->used - used <= 16 * (size_t)size_max);
        walk = (struct json_walk){.left = json.size / (how + 1)};
        walk_all(json_value_of(canonical), &walk, arena);
        check_canonical(canonical, arena);
        return;
    }
    assert(problem.fault != JSON_FAULT_NONE && problem.offset <= json.size);
    size_t size = json_problem_format(&problem, "input", line);
    assert(size == strlen(line));
    for (size_t i = 0; i < size; i++)
        assert((uint8_t)line[i] >= ' ' && line[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > TEXT_BYTES_MAX)
        return 0;
    struct heap_arena scratch;
    struct text json = {(const char *)data + 1, (uint32_t)size - 1};
    heap_arena_init(&scratch, 32 * 1024);
    if (data[0] >> 4 == 15)
        json = repeated(json, &scratch.arena);
    check(json, data[0] & 15, &scratch.arena);
    heap_arena_deinit(&scratch);
    return 0;
}
