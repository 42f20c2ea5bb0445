/* SPDX-License-Identifier: Apache-2.0 */
/* See json_random.h. */
#include "tests/property/json_random.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { DEPTH_MAX = 5, CHILDREN_MAX = 5, TEXT_MAX = 24, CHARACTERS_MAX = 6 };

/* What a seed stands for. */
struct random_value {
    enum json_kind kind;
    bool boolean;
    struct json_number number;
    uint32_t count; /* children, or bytes of `text` */
    char text[TEXT_MAX + 2];
    uint64_t children[CHILDREN_MAX]; /* seeds; of a map, also of the names */
};

static const char *const characters[] = {"a",
                                         "b",
                                         "Z",
                                         "0",
                                         " ",
                                         "/",
                                         "\"",
                                         "\\",
                                         "\b",
                                         "\f",
                                         "\n",
                                         "\r",
                                         "\t",
                                         "\x01",
                                         "\x1f",
                                         "\x7f",
                                         "{",
                                         "]",
                                         ",",
                                         ":",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "\xef\xbf\xbf"};

static uint32_t random_text(struct dice *dice, char ret_text[TEXT_MAX])
{
    uint32_t size = 0;
    for (uint32_t left = dice_roll(dice, CHARACTERS_MAX + 1); left > 0; left--) {
        const char *one = characters[dice_roll(dice, sizeof(characters) / sizeof(characters[0]))];
        memcpy(ret_text + size, one, strlen(one));
        size += (uint32_t)strlen(one);
    }
    return size;
}

struct json_number json_random_number(struct dice *dice)
{
    struct json_number number = {.negative = dice_percent(dice, 40)};
    uint32_t count =
        dice_percent(dice, 10) ? 0 : 1 + dice_roll(dice, dice_percent(dice, 80) ? 5 : 40);
    for (uint32_t i = 0; i < count; i++)
        number.digits[i] = (uint8_t)dice_roll(dice, 10);
    if (count == 0)
        return (struct json_number){0};
    number.digits[0] = (uint8_t)(1 + dice_roll(dice, 9));
    number.digits[count - 1] = (uint8_t)(1 + dice_roll(dice, 9));
    number.count = (uint8_t)count;
    uint32_t room = JSON_DIGITS_MAX - count; /* for zeros at either end */
    if (dice_percent(dice, 50))
        number.exponent = (int32_t)dice_roll(dice, room + 1);
    else if (room > 0)
        number.exponent = -(int32_t)dice_roll(dice, JSON_DIGITS_MAX);
    return number;
}

static struct random_value value_of(uint64_t seed, uint32_t depth)
{
    static const enum json_kind kinds[] = {JSON_KIND_NULL,   JSON_KIND_BOOLEAN, JSON_KIND_NUMBER,
                                           JSON_KIND_NUMBER, JSON_KIND_TEXT,    JSON_KIND_TEXT,
                                           JSON_KIND_LIST,   JSON_KIND_MAP,     JSON_KIND_MAP};
    struct dice dice = dice_of(seed);
    uint32_t range = sizeof(kinds) / sizeof(kinds[0]) - (depth < DEPTH_MAX ? 0 : 3);
    struct random_value drawn = {.kind =
                                     depth == 0 ? JSON_KIND_MAP : kinds[dice_roll(&dice, range)]};
    drawn.boolean = dice_percent(&dice, 50);
    drawn.number = json_random_number(&dice);
    if (drawn.kind == JSON_KIND_TEXT)
        drawn.count = random_text(&dice, drawn.text);
    if (drawn.kind == JSON_KIND_LIST || drawn.kind == JSON_KIND_MAP)
        drawn.count = dice_roll(&dice, CHILDREN_MAX + 1);
    for (uint32_t i = 0; i < CHILDREN_MAX; i++)
        drawn.children[i] = dice_next(&dice);
    return drawn;
}

/* The names of a map differ in their last byte, or in a later character than its escape. */
static struct text name_of(const struct random_value *map, uint32_t child,
                           char ret_text[TEXT_MAX + 2])
{
    struct dice dice = dice_of(map->children[child] ^ 1);
    uint32_t size = random_text(&dice, ret_text);
    ret_text[size] = (char)((dice_percent(&dice, 50) ? '\x02' : 'c') + (int)child);
    return (struct text){ret_text, size + 1};
}

/* ---- spelling ---- */

static void add(struct json_spelling *spelling, const char *bytes, size_t size)
{
    cr_assert_lt(spelling->size + size, JSON_RANDOM_SIZE);
    memcpy(spelling->text + spelling->size, bytes, size);
    spelling->size += (uint32_t)size;
}

static void add_blanks(struct json_spelling *spelling)
{
    while (dice_percent(&spelling->dice, 20))
        add(spelling, &" \t\n\r"[dice_roll(&spelling->dice, 4)], 1);
}

static void add_token(struct json_spelling *spelling, const char *token)
{
    add_blanks(spelling);
    add(spelling, token, strlen(token));
    add_blanks(spelling);
}

static void add_unit(struct json_spelling *spelling, uint32_t unit)
{
    char text[8];
    snprintf(text, sizeof(text), dice_percent(&spelling->dice, 50) ? "\\u%04x" : "\\u%04X", unit);
    add(spelling, text, 6);
}

static uint32_t character_at(const uint8_t *at, uint32_t *ret_size)
{
    uint32_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t character = size == 1 ? at[0] : at[0] & (0x7fU >> size);
    for (uint32_t i = 1; i < size; i++)
        character = character << 6 | (at[i] & 0x3f);
    *ret_size = size;
    return character;
}

static void add_character(struct json_spelling *spelling, const char *at, uint32_t character,
                          uint32_t size)
{
    static const char shorts[] = "\"\\/\b\f\n\r\t";
    const char *known = size == 1 ? memchr(shorts, (int)character, sizeof(shorts) - 1) : NULL;
    bool must = character < 0x20 || character == '"' || character == '\\';
    if (known != NULL && dice_percent(&spelling->dice, 50)) {
        add(spelling, (char[]){'\\', "\"\\/bfnrt"[known - shorts]}, 2);
    } else if (!must && dice_percent(&spelling->dice, 60)) {
        add(spelling, at, size);
    } else if (character >= 0x10000) {
        add_unit(spelling, 0xd800 + ((character - 0x10000) >> 10));
        add_unit(spelling, 0xdc00 + ((character - 0x10000) & 0x3ff));
    } else {
        add_unit(spelling, character);
    }
}

static void add_text(struct json_spelling *spelling, struct text text)
{
    uint32_t size = 0;
    add(spelling, "\"", 1);
    for (uint32_t at = 0; at < text.size; at += size) {
        uint32_t character = character_at((const uint8_t *)text.data + at, &size);
        add_character(spelling, text.data + at, character, size);
    }
    add(spelling, "\"", 1);
}

uint32_t json_random_spell_number(struct dice *dice, const struct json_number *number,
                                  char ret_text[128])
{
    char digits[64] = "0";
    uint32_t count = number->count > 0 ? number->count : 1;
    for (uint32_t i = 0; i < number->count; i++)
        digits[i] = (char)('0' + number->digits[i]);
    for (uint32_t zeros = dice_roll(dice, 4); zeros > 0; zeros--)
        digits[count++] = '0';
    int32_t power = number->exponent - (int32_t)(count - (number->count > 0 ? number->count : 1));
    /* The point behind `whole` digits; a digit that is 0 cannot be followed by others. */
    uint32_t whole = number->count == 0 ? 1 : 1 + dice_roll(dice, count);
    bool lead = number->count > 0 && dice_percent(dice, 20);
    if (lead)
        whole = 0;
    power += (int32_t)(count - whole);
    uint32_t size = 0;
    if (number->negative)
        ret_text[size++] = '-';
    if (lead)
        ret_text[size++] = '0';
    for (uint32_t i = 0; i < count; i++) {
        if (i == whole)
            ret_text[size++] = '.';
        ret_text[size++] = digits[i];
    }
    if (power != 0 || dice_percent(dice, 20))
        size += (uint32_t)snprintf(ret_text + size, 16, dice_percent(dice, 50) ? "e%d" : "E%+04d",
                                   power);
    return size;
}

static void spell(uint64_t seed, uint32_t depth, struct json_spelling *spelling)
{
    struct random_value drawn = value_of(seed, depth);
    char scratch[128];
    bool map = drawn.kind == JSON_KIND_MAP;
    if (drawn.kind == JSON_KIND_NULL || drawn.kind == JSON_KIND_BOOLEAN) {
        add_token(spelling, drawn.kind == JSON_KIND_NULL ? "null"
                            : drawn.boolean              ? "true"
                                                         : "false");
    } else if (drawn.kind == JSON_KIND_NUMBER) {
        add_blanks(spelling);
        add(spelling, scratch, json_random_spell_number(&spelling->dice, &drawn.number, scratch));
        add_blanks(spelling);
    } else if (drawn.kind == JSON_KIND_TEXT) {
        add_text(spelling, (struct text){drawn.text, drawn.count});
    } else {
        uint32_t turn = map && drawn.count > 0 ? dice_roll(&spelling->dice, drawn.count) : 0;
        bool back = map && dice_percent(&spelling->dice, 50);
        add_token(spelling, map ? "{" : "[");
        for (uint32_t i = 0; i < drawn.count; i++) {
            uint32_t child = (turn + (back ? drawn.count - i : i)) % drawn.count;
            if (i > 0)
                add_token(spelling, ",");
            if (map) {
                add_text(spelling, name_of(&drawn, child, scratch));
                add_token(spelling, ":");
            }
            spell(drawn.children[child], depth + 1, spelling);
        }
        add_token(spelling, map ? "}" : "]");
    }
}

void json_random_spell(uint64_t seed, struct json_spelling *spelling)
{
    spelling->size = 0;
    spell(seed, 0, spelling);
}

/* ---- writing and reading ---- */

static void write_value(uint64_t seed, uint32_t depth, struct json_writer *writer)
{
    struct random_value drawn = value_of(seed, depth);
    char scratch[TEXT_MAX + 2];
    int64_t integer;
    bool map = drawn.kind == JSON_KIND_MAP;
    if (drawn.kind == JSON_KIND_NULL) {
        json_write_null(writer);
    } else if (drawn.kind == JSON_KIND_BOOLEAN) {
        json_write_boolean(writer, drawn.boolean);
    } else if (drawn.kind == JSON_KIND_NUMBER) {
        if (json_number_integer(&drawn.number, &integer))
            json_write_integer(writer, integer);
        else
            json_write_number(writer, &drawn.number);
    } else if (drawn.kind == JSON_KIND_TEXT) {
        json_write_text(writer, (struct text){drawn.text, drawn.count});
    } else {
        map ? json_write_map(writer) : json_write_list(writer);
        for (uint32_t i = 0; i < drawn.count; i++) {
            if (map)
                json_write_name(writer, name_of(&drawn, i, scratch));
            write_value(drawn.children[i], depth + 1, writer);
        }
        json_write_close(writer);
    }
}

void json_random_write(uint64_t seed, struct json_writer *writer)
{
    write_value(seed, 0, writer);
}

static void check_value(uint64_t seed, uint32_t depth, struct json_value value)
{
    struct random_value drawn = value_of(seed, depth);
    char scratch[TEXT_MAX + 2], memory[TEXT_MAX];
    struct arena arena;
    struct json_number number;
    arena_init(&arena, memory, sizeof(memory));
    cr_assert_eq(json_value_kind(value), drawn.kind);
    if (drawn.kind == JSON_KIND_BOOLEAN)
        cr_assert_eq(json_value_boolean(value), drawn.boolean);
    if (drawn.kind == JSON_KIND_NUMBER) {
        cr_assert(json_value_number(value, &number));
        cr_assert_eq(memcmp(&number, &drawn.number, sizeof(number)), 0);
    }
    if (drawn.kind == JSON_KIND_TEXT) {
        /* A text is at most twice as long with short escapes, six times with others. */
        char large[8 * TEXT_MAX];
        arena_init(&arena, large, sizeof(large));
        struct text text = json_unescape(json_value_escaped(value, NULL), &arena);
        cr_assert(text_equal(text, (struct text){drawn.text, drawn.count}));
    }
    if (drawn.kind != JSON_KIND_LIST && drawn.kind != JSON_KIND_MAP)
        return;
    cr_assert_eq(json_value_count(value, NULL), drawn.count);
    for (uint32_t i = 0; i < drawn.count; i++) {
        struct json_value child = drawn.kind == JSON_KIND_LIST
                                      ? json_value_element(value, i, NULL)
                                      : json_value_member(value, name_of(&drawn, i, scratch), NULL);
        check_value(drawn.children[i], depth + 1, child);
    }
}

void json_random_check(uint64_t seed, struct json_value value)
{
    check_value(seed, 0, value);
}
