/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_data.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { DATA_SIZE = 512, SET_EXCEEDED = 9000, INPUT_EXCEEDED = 33000, MESSAGE_EXCEEDED = 1100 };
enum { SIGNAL_EXCEEDED = 66000 };

/* ---- making ---- */

struct data {
    char text[DATA_SIZE];
    uint32_t size;
};

static void add(struct data *data, const char *text)
{
    int size = snprintf(data->text + data->size, DATA_SIZE - data->size, "%s", text);
    data->size += (uint32_t)size;
    assert(data->size < DATA_SIZE);
}

static void add_number(struct dice *dice, struct data *data)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int)dice_roll(dice, 12) - 2);
    add(data, text);
}

static const char *const words[DATA_WORDS] = {"go", "stop", "wait"};

struct text data_word_at(uint32_t index)
{
    return text_of(words[index % DATA_WORDS]);
}

struct text data_word(struct dice *dice)
{
    return data_word_at(dice_roll(dice, DATA_WORDS));
}

static void add_scalar(struct dice *dice, struct data *data)
{
    uint32_t roll = dice_roll(dice, 5);
    if (roll == 0)
        add(data, "null");
    else if (roll == 1)
        add(data, dice_percent(dice, 50) ? "true" : "false");
    else if (roll == 2)
        add_number(dice, data);
    else
        add(data, roll == 3 ? "\"go\"" : "[]");
}

static void add_text(struct dice *dice, struct data *data)
{
    add(data, "\"");
    add(data, words[dice_roll(dice, 3)]);
    add(data, "\"");
}

static void add_list(struct dice *dice, struct data *data)
{
    uint32_t count = dice_roll(dice, 4);
    add(data, "[");
    for (uint32_t i = 0; i < count; i++) {
        add(data, i > 0 ? "," : "");
        add_number(dice, data);
    }
    add(data, "]");
}

static void add_map(struct dice *dice, struct data *data)
{
    add(data, "{\"n\":");
    add_number(dice, data);
    add(data, ",\"t\":");
    add_text(dice, data);
    add(data, "}");
}

static void add_usual(struct dice *dice, struct data *data, char name)
{
    if (name == 'b')
        add(data, dice_percent(dice, 50) ? "true" : "false");
    else if (name == 'l')
        add_list(dice, data);
    else if (name == 'm')
        add_map(dice, data);
    else if (name == 'n')
        add_number(dice, data);
    else
        add_text(dice, data);
}

/* One member may be missing, and may be of another kind than it mostly is. */
static void add_members(struct dice *dice, struct data *data)
{
    static const char names[] = "blmnt";
    for (const char *name = names; *name != '\0'; name++) {
        char begin[] = {'"', *name, '"', ':', '\0'};
        if (dice_percent(dice, 10))
            continue;
        add(data, data->text[data->size - 1] == '{' ? "" : ",");
        add(data, begin);
        if (dice_percent(dice, 5))
            add_scalar(dice, data);
        else
            add_usual(dice, data, *name);
    }
}

static struct text keep(const struct data *data, struct arena *arena)
{
    return arena_text(arena, (struct text){data->text, data->size});
}

static struct text any(struct dice *dice, struct arena *arena)
{
    struct data data = {.size = 0};
    if (dice_percent(dice, 6)) {
        add_scalar(dice, &data);
    } else {
        add(&data, "{");
        add_members(dice, &data);
        add(&data, "}");
    }
    return keep(&data, arena);
}

struct text data_truncated(uint32_t bytes, struct arena *arena)
{
    char text[64];
    int size = snprintf(text, sizeof(text), "{\"bytes\":%" PRIu32 ",\"truncated\":true}", bytes);
    return arena_text(arena, (struct text){text, (uint32_t)size});
}

struct text data_answer(struct dice *dice, struct arena *arena)
{
    if (dice_percent(dice, 10))
        return (struct text){0};
    if (dice_percent(dice, 3))
        return data_truncated(70000, arena);
    return any(dice, arena);
}

static struct text big_input(struct dice *dice, struct arena *arena)
{
    static const uint32_t sizes[] = {MESSAGE_EXCEEDED, SET_EXCEEDED, INPUT_EXCEEDED};
    uint32_t size = sizes[dice_roll(dice, 3)];
    struct data data = {.size = 0};
    char *text = arena_bytes(arena, size + DATA_SIZE);
    add(&data, "\"n\":");
    add_number(dice, &data);
    add(&data, "}");
    memcpy(text, "{\"big\":\"", 8);
    memset(text + 8, 'x', size);
    memcpy(text + 8 + size, "\",", 2);
    memcpy(text + 10 + size, data.text, data.size);
    return (struct text){text, size + 10 + data.size};
}

struct text data_input(struct dice *dice, struct arena *arena, bool big)
{
    if (big && dice_percent(dice, 5))
        return big_input(dice, arena);
    return dice_percent(dice, 10) ? (struct text){0} : any(dice, arena);
}

struct text data_long_text(uint32_t bytes, struct arena *arena)
{
    char *text = arena_bytes(arena, bytes);
    assert(bytes >= 2);
    memset(text, 'x', bytes);
    text[0] = text[bytes - 1] = '"';
    return (struct text){text, bytes};
}

struct text data_signal(struct dice *dice, struct arena *arena)
{
    uint32_t roll = dice_roll(dice, 100);
    if (roll == 0)
        return data_long_text(SIGNAL_EXCEEDED, arena);
    if (roll < 3)
        return data_truncated(70000, arena);
    struct text input = data_input(dice, arena, roll < 40);
    return text_empty(input) ? TEXT("null") : input;
}

/* ---- reading ---- */

bool data_is_truncated(struct text json)
{
    struct text begin = TEXT("{\"bytes\":");
    struct text end = TEXT(",\"truncated\":true}");
    return json.size > begin.size + end.size && memcmp(json.data, begin.data, begin.size) == 0 &&
           memcmp(json.data + json.size - end.size, end.data, end.size) == 0;
}

/* Behind the value that begins at `at`. */
static const char *behind(const char *at, const char *end)
{
    uint32_t open = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (*at == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (open == 0 && (*at == ',' || *at == '}' || *at == ']'))
            return at;
        open += *at == '{' || *at == '[';
        open -= *at == '}' || *at == ']';
    }
    return end;
}

void data_items_begin(struct data_items *items, struct text container)
{
    assert(container.size >= 2 && (container.data[0] == '{' || container.data[0] == '['));
    *items = (struct data_items){.at = container.data + 1,
                                 .end = container.data + container.size - 1,
                                 .map = container.data[0] == '{'};
}

bool data_items_next(struct data_items *items)
{
    if (items->at >= items->end)
        return false;
    if (items->map) {
        const char *name = items->at + 1;
        const char *close = memchr(name, '"', (size_t)(items->end - name));
        items->name = (struct text){name, (uint32_t)(close - name)};
        items->at = close + 2;
    }
    const char *end = behind(items->at, items->end);
    items->value = (struct text){items->at, (uint32_t)(end - items->at)};
    items->at = end < items->end ? end + 1 : end;
    return true;
}

struct text data_member(struct text json, struct text name)
{
    struct data_items items = {.map = false};
    if (json.size >= 2 && json.data[0] == '{')
        data_items_begin(&items, json);
    while (items.at != NULL && data_items_next(&items)) {
        if (text_equal(items.name, name))
            return items.value;
    }
    return (struct text){0};
}

/* ---- changing ---- */

struct text data_amended(struct dice *dice, struct arena *arena, struct text input, char member)
{
    static const char *const names[] = {"b", "big", "l", "m", "n", "t"}; /* sorted */
    bool number = dice_percent(dice, 30);                                /* what is read most */
    uint32_t chosen = number ? 4 : dice_roll(dice, sizeof(names) / sizeof(names[0]));
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        chosen = member != '\0' && names[i][0] == member && names[i][1] == '\0' ? i : chosen;
    struct text other = any(dice, arena);
    char *made = arena_bytes(arena, input.size + other.size + 64);
    uint32_t size = 0;
    made[size++] = '{';
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct text value = data_member(i == chosen ? other : input, text_of(names[i]));
        if (text_empty(value))
            continue;
        size += (uint32_t)snprintf(made + size, 16, "%s\"%s\":", size > 1 ? "," : "", names[i]);
        memcpy(made + size, value.data, value.size);
        size += value.size;
    }
    made[size++] = '}';
    return (struct text){made, size};
}
