/* SPDX-License-Identifier: Apache-2.0 */
/* Reading values. See values.h. */
#include "workflow/values.h"

#include "base/names.h"
#include "base/numbers.h"
#include "base/suggest.h"

#include <assert.h>
#include <stdio.h>

enum { DIGITS_MAX = 18 };

static uint32_t count_digits(struct text text, uint32_t from)
{
    uint32_t at = from;
    while (at < text.size && number_is_digit(text.data[at]))
        at++;
    return at - from;
}

/* ---- forms of plain scalars ---- */

bool value_looks_like_number(struct text text)
{
    uint32_t at = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
    uint32_t digits = count_digits(text, at);
    at += digits;
    if (at < text.size && text.data[at] == '.') {
        uint32_t fraction = count_digits(text, at + 1);
        digits += fraction;
        at += 1 + fraction;
    }
    if (digits == 0)
        return false;
    if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
        at++;
        at += at < text.size && (text.data[at] == '-' || text.data[at] == '+');
        digits = count_digits(text, at);
        at += digits;
    }
    return at == text.size && digits > 0;
}

bool value_looks_like_boolean(struct text text)
{
    static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE",
                                           "yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                           "on",   "On",   "ON",   "off",   "Off",   "OFF"};
    for (size_t i = 0; i < sizeof(booleans) / sizeof(booleans[0]); i++) {
        if (text_equal(text, text_of(booleans[i])))
            return true;
    }
    return false;
}

bool value_looks_like_time(struct text text, int64_t *ret_seconds)
{
    static const struct {
        struct text unit;
        int64_t seconds;
    } units[] = {
        {TEXT_CONST("s"), 1},       {TEXT_CONST("sec"), 1},      {TEXT_CONST("second"), 1},
        {TEXT_CONST("seconds"), 1}, {TEXT_CONST("m"), 60},       {TEXT_CONST("min"), 60},
        {TEXT_CONST("minute"), 60}, {TEXT_CONST("minutes"), 60}, {TEXT_CONST("h"), 3600},
        {TEXT_CONST("hour"), 3600}, {TEXT_CONST("hours"), 3600}, {TEXT_CONST("d"), 86400},
        {TEXT_CONST("day"), 86400}, {TEXT_CONST("days"), 86400},
    };
    uint64_t number = 0;
    if (!number_take(&text, DURATION_MS_MAX / 1000, &number))
        return false;
    if (text.size > 0 && text.data[0] == ' ')
        text = text_from(text, 1);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (text_equal(text, units[i].unit)) {
            *ret_seconds = (int64_t)number * units[i].seconds;
            return true;
        }
    }
    return false;
}

static bool wrong_type(const struct values *values, const struct yaml_node *node, const char *what,
                       const char *wanted)
{
    if (node->kind == NODE_SCALAR && !yaml_node_is_null(node))
        problems_add_error(
            values->problems, node->mark, "%s must be %s, not %s (%.*s)%s", what, wanted,
            yaml_node_phrase(node), QUOTE_ARG(node->text),
            !node->plain && value_looks_like_number(node->text) ? ": leave out the quotes" : "");
    else
        problems_add_error(values->problems, node->mark, "%s must be %s, not %s", what, wanted,
                           yaml_node_phrase(node));
    return false;
}

/* ---- texts ---- */

static bool is_text(const struct yaml_node *node)
{
    if (node->kind != NODE_SCALAR || yaml_node_is_null(node))
        return false;
    return !node->plain ||
           (!value_looks_like_number(node->text) && !value_looks_like_boolean(node->text));
}

/* As other YAML readers would see it: 1.0 and true are texts only in quotes. */
static bool check_text(const struct values *values, const struct yaml_node *node, const char *what,
                       const char *wanted)
{
    if (is_text(node))
        return true;
    if (node->kind != NODE_SCALAR || yaml_node_is_null(node))
        return wrong_type(values, node, what, wanted);
    problems_add_error(values->problems, node->mark, "%s must be %s: put %.*s in quotes", what,
                       wanted, QUOTE_ARG(node->text));
    return false;
}

bool value_text(const struct values *values, const struct yaml_node *node, const char *what)
{
    return check_text(values, node, what, "a text");
}

bool value_name(const struct values *values, const struct yaml_node *node, const char *what,
                struct text *ret_value)
{
    if (!check_text(values, node, what, "a name"))
        return false;
    if (node->text.size == 0 || node->text.size > NAME_BYTES_MAX) {
        problems_add_error(values->problems, node->mark,
                           "%s has %u characters; it must have 1 to %d", what, node->text.size,
                           NAME_BYTES_MAX);
        return false;
    }
    if (!name_characters_valid(node->text)) {
        problems_add_error(
            values->problems, node->mark,
            "%s \"%.*s\" has a character that is not a letter, a digit or one of . _ -", what,
            QUOTE_ARG(node->text));
        return false;
    }
    if (!values->deployed && name_is_path_step(node->text)) {
        problems_add_error(values->problems, node->mark,
                           "%s \"%.*s\" is a step of a path: it must not be \".\" or \"..\"", what,
                           QUOTE_ARG(node->text));
        return false;
    }
    *ret_value = arena_text(values->arena, node->text);
    return true;
}

/* ---- numbers ---- */

struct number {
    bool negative;
    bool whole; /* no fraction but zeros */
    bool finer; /* than thousandths */
    bool huge;  /* beyond DIGITS_MAX digits */
    int64_t milli;
};

/* False: no plain decimal number. */
static bool parse_number(const struct yaml_node *node, struct number *ret_number)
{
    if (node->kind != NODE_SCALAR || !node->plain || !value_looks_like_number(node->text))
        return false;
    struct text text = node->text;
    struct number number = {.whole = true};
    uint32_t at = text.data[0] == '-' || text.data[0] == '+';
    number.negative = text.data[0] == '-';
    uint32_t significant = 0;
    for (; at < text.size && number_is_digit(text.data[at]); at++) {
        significant += significant > 0 || text.data[at] != '0';
        number.huge = number.huge || significant > DIGITS_MAX - 3;
        if (!number.huge)
            number.milli = number.milli * 10 + (text.data[at] - '0');
    }
    number.milli *= 1000;
    if (at < text.size && text.data[at] == '.')
        at++;
    for (int64_t weight = 100; at < text.size && number_is_digit(text.data[at]);
         at++, weight /= 10) {
        number.whole = number.whole && text.data[at] == '0';
        number.finer = number.finer || (weight == 0 && text.data[at] != '0');
        number.milli += weight * (text.data[at] - '0');
    }
    if (at < text.size)
        return false; /* an exponent */
    *ret_number = number;
    return true;
}

static bool read_whole(const struct values *values, const struct yaml_node *node, const char *what,
                       const char *wanted, int64_t least, int64_t most, int64_t *ret_value)
{
    struct number number;
    if (!parse_number(node, &number) || !number.whole)
        return wrong_type(values, node, what, wanted);
    int64_t value = number.negative ? -(number.milli / 1000) : number.milli / 1000;
    if (number.huge || value < least || value > most) {
        problems_add_error(values->problems, node->mark, "%s must be from %lld to %lld, not %.*s",
                           what, (long long)least, (long long)most, QUOTE_ARG(node->text));
        return false;
    }
    *ret_value = value;
    return true;
}

bool value_whole(const struct values *values, const struct yaml_node *node, const char *what,
                 int64_t least, int64_t most, int64_t *ret_value)
{
    return read_whole(values, node, what, "a whole number", least, most, ret_value);
}

bool value_whole_or_all(const struct values *values, const struct yaml_node *node, const char *what,
                        int64_t least, int64_t most, int64_t all, int64_t *ret_value)
{
    if (node->kind != NODE_SCALAR || !text_equal(node->text, TEXT("all")))
        return read_whole(values, node, what, "a whole number or all", least, most, ret_value);
    *ret_value = all;
    return true;
}

/* Thousandths between `least` and `most`. */
static bool read_milli(const struct values *values, const struct yaml_node *node, const char *what,
                       const char *wanted, int64_t least, int64_t most, int64_t *ret_milli)
{
    struct number number;
    int64_t seconds = 0;
    if (node->kind == NODE_SCALAR && value_looks_like_time(node->text, &seconds)) {
        problems_add_error(values->problems, node->mark, "%s must be %s: write %lld", what, wanted,
                           (long long)seconds);
        return false;
    }
    if (!parse_number(node, &number))
        return wrong_type(values, node, what, wanted);
    if (number.finer) {
        problems_add_error(values->problems, node->mark,
                           "%s has more than three digits after the decimal point: %.*s", what,
                           QUOTE_ARG(node->text));
        return false;
    }
    int64_t milli = number.negative ? -number.milli : number.milli;
    if (number.huge || milli < least || milli > most) {
        problems_add_error(values->problems, node->mark,
                           "%s must be %s from %lld%s to %lld, not %.*s", what, wanted,
                           (long long)(least / 1000), least % 1000 != 0 ? ".001" : "",
                           (long long)(most / 1000), QUOTE_ARG(node->text));
        return false;
    }
    *ret_milli = milli;
    return true;
}

bool value_duration(const struct values *values, const struct yaml_node *node, const char *what,
                    int64_t *ret_ms)
{
    return read_milli(values, node, what, "a number of seconds", 1, DURATION_MS_MAX, ret_ms);
}

bool value_duration_or_0(const struct values *values, const struct yaml_node *node,
                         const char *what, int64_t *ret_ms)
{
    return read_milli(values, node, what, "a number of seconds", 0, DURATION_MS_MAX, ret_ms);
}

bool value_rate(const struct values *values, const struct yaml_node *node, const char *what,
                uint32_t *ret_milli)
{
    int64_t milli = 0;
    if (!read_milli(values, node, what, "a number", 1000, BACKOFF_RATE_MAX * 1000, &milli))
        return false;
    *ret_milli = (uint32_t)milli;
    return true;
}

/* ---- choices ---- */

/* Of the texts that value_looks_like_boolean() knows. */
static bool means_true(struct text word)
{
    return strchr("tTyY", word.data[0]) != NULL || (word.size == 2 && (word.data[1] | 0x20) == 'n');
}

bool value_boolean(const struct values *values, const struct yaml_node *node, const char *what,
                   bool *ret_value)
{
    if (node->kind != NODE_SCALAR || !value_looks_like_boolean(node->text))
        return wrong_type(values, node, what, "true or false");
    bool value = means_true(node->text);
    if (!node->plain || !text_equal(node->text, value ? TEXT("true") : TEXT("false"))) {
        problems_add_error(values->problems, node->mark, "%s must be true or false: write %s%s",
                           what, value ? "true" : "false", node->plain ? "" : " without quotes");
        return false;
    }
    *ret_value = value;
    return true;
}

/* "a, b or c" */
static void list_choices(const struct text *choices, uint32_t count, char *ret_text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        used +=
            (size_t)snprintf(ret_text + used, size - used, "%s%.*s", between, TEXT_ARG(choices[i]));
        assert(used < size);
    }
}

bool value_word(const struct values *values, const struct yaml_node *node, const char *what,
                const struct enum_names *words, uint32_t *ret_index)
{
    struct text choices[VALUE_WORDS_MAX];
    assert(words->count >= 2 && words->count <= VALUE_WORDS_MAX);
    for (uint32_t i = 0; i < words->count; i++)
        choices[i] = text_of(words->names[i]);
    if (node->kind == NODE_SCALAR) {
        if (enum_names_find(words, node->text, ret_index))
            return true;
        const struct text *near = suggest_text(node->text, choices, words->count);
        if (near != NULL) {
            problems_add_error(values->problems, node->mark,
                               "%s \"%.*s\" is unknown: did you mean %.*s?", what,
                               QUOTE_ARG(node->text), TEXT_ARG(*near));
            return false;
        }
    }
    char wanted[WORKFLOW_PROBLEM_TEXT_SIZE];
    list_choices(choices, words->count, wanted, sizeof(wanted));
    return wrong_type(values, node, what, wanted);
}
