/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of expressions in words. See evaluate.h. */
#include "engine/expression/evaluate.h"

#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    LINE_SIZE = EXPRESSION_MESSAGE_BYTES_MAX + 1,
    /* Of a long expression: what is shown around the place. */
    BEFORE_BYTES_MAX = 160,
    AFTER_BYTES_MAX = 160,
    NAME_SHOWN_MAX = 64,
};

#define SHOWN(text) TEXT_ARG(utf8_cut((text), NAME_SHOWN_MAX))

/* "a text, a list or a map" */
static void format_kinds(uint8_t kinds, char *phrase, size_t size)
{
    size_t used = 0;
    kinds &= (uint8_t) ~((kinds & 1U << VALUE_INT) != 0 ? 1U << VALUE_REAL : 0);
    phrase[0] = '\0';
    for (uint32_t kind = 0; kind < VALUE_KIND_COUNT && used < size; kind++) {
        if ((kinds & 1U << kind) == 0)
            continue;
        bool last = kinds >> (kind + 1) == 0;
        used += (size_t)snprintf(phrase + used, size - used, "%s%s",
                                 used == 0 ? ""
                                 : last    ? " or "
                                           : ", ",
                                 value_kind_phrase((enum value_kind)kind));
    }
}

static int format_wrong_type(const struct expression_error *error, char *line, size_t size)
{
    char wants[96];
    const char *found = value_kind_phrase((enum value_kind)error->kinds[0]);
    if (error->wants == 0)
        return snprintf(line, size, "%.*s cannot take %s and %s", SHOWN(error->name), found,
                        value_kind_phrase((enum value_kind)error->kinds[1]));
    if (error->wants == 1U << VALUE_MAP)
        return snprintf(line, size, "%s has no member %.*s", found, SHOWN(error->name));
    if (error->wants == 1U << VALUE_INT)
        return snprintf(line, size, "%.*s takes whole numbers: write int(x)", SHOWN(error->name));
    format_kinds(error->wants, wants, sizeof(wants));
    return snprintf(line, size, "%.*s takes %s, not %s", SHOWN(error->name), wants, found);
}

static int format_what(const struct expression_error *error, char *line, size_t size)
{
    switch (error->code) {
    case EXPRESSION_NO_MEMBER:
        return snprintf(line, size, "there is no member %.*s", SHOWN(error->name));
    case EXPRESSION_NO_OUTPUT:
        return snprintf(line, size, "step %.*s has no output", SHOWN(error->name));
    case EXPRESSION_NOT_CAUGHT:
        return snprintf(line, size, "step %.*s has no error", SHOWN(error->name));
    case EXPRESSION_WRONG_TYPE:
        return format_wrong_type(error, line, size);
    case EXPRESSION_OVERFLOW:
        return snprintf(line, size, "the result does not fit into 64 bits: write double(x)");
    case EXPRESSION_NOT_FINITE:
        return snprintf(line, size, "the result is beyond the largest number, 1.8e308");
    case EXPRESSION_DIVIDED_BY_0:
        return snprintf(line, size, "%.*s divides by 0", SHOWN(error->name));
    case EXPRESSION_OUT_OF_RANGE:
        return snprintf(line, size, "the list has no element %" PRId64, error->number);
    case EXPRESSION_NOT_AN_INDEX:
        return snprintf(line, size, "an index must be a whole number: write int(x)");
    case EXPRESSION_NOT_A_NUMBER:
        return snprintf(line, size, "%.*s() takes a text that is %s number", SHOWN(error->name),
                        text_equal(error->name, TEXT("int")) ? "a whole" : "a");
    case EXPRESSION_EMPTY_LIST:
        return snprintf(line, size, "an empty list has no %.*s", SHOWN(error->name));
    case EXPRESSION_NEGATIVE:
        return snprintf(line, size, "seconds must be 0 or more");
    case EXPRESSION_TOO_LONG:
        return snprintf(line, size, "seconds must be at most %" PRId64, error->number);
    case EXPRESSION_NOT_A_TIME:
        return snprintf(line, size,
                        "'%.*s' is not a time of RFC 3339, such as 2026-07-01T09:00:00Z",
                        SHOWN(error->name));
    case EXPRESSION_NOT_JSON:
        return snprintf(line, size, "the data is not JSON");
    case EXPRESSION_NOT_WRITABLE:
        return snprintf(line, size, "the number has more than 40 digits");
    case EXPRESSION_TOO_DEEP:
        return snprintf(line, size, "the result is nested more than 32 deep");
    case EXPRESSION_TRUNCATED:
        return snprintf(line, size, "the output%s%.*s was too large to be kept",
                        text_empty(error->name) ? "" : " of step ", SHOWN(error->name));
    case EXPRESSION_TOO_LARGE:
        return snprintf(line, size, "the result is more than the limit of %" PRId64 " bytes",
                        error->number);
    case EXPRESSION_BUDGET_SPENT:
        return snprintf(line, size, "the step's budget of %d units of work is spent",
                        EXPRESSION_BUDGET);
    case EXPRESSION_DISABLED:
        return snprintf(line, size,
                        "expressions are not evaluated for this command: it ended schedulers");
    case EXPRESSION_OK:
    case EXPRESSION_ERROR_CODE_COUNT:
        break;
    }
    assert(false); /* no error */
    return 0;
}

static bool continues(char c)
{
    return ((uint8_t)c & 0xc0) == 0x80;
}

/* From 1, in characters. */
static uint32_t column_of(struct text source, uint32_t at)
{
    uint32_t column = 1;
    for (uint32_t i = 0; i < at && i < source.size; i++)
        column += !continues(source.data[i]);
    return column;
}

/* The source, or what of it stands around `at`. */
static int format_place(const struct expression_error *error, char *line, size_t size)
{
    struct text source = error->source;
    uint32_t begin = error->at > BEFORE_BYTES_MAX ? error->at - BEFORE_BYTES_MAX : 0;
    while (begin < source.size && continues(source.data[begin]))
        begin++;
    struct text shown = text_from(source, begin);
    struct text cut = utf8_cut(shown, error->at - begin + AFTER_BYTES_MAX);
    return snprintf(line, size, ": column %u of %s%.*s%s", column_of(source, error->at),
                    begin > 0 ? "..." : "", TEXT_ARG(cut), cut.size < shown.size ? "..." : "");
}

struct text expression_error_message(const struct expression_error *error, struct arena *arena)
{
    char line[LINE_SIZE];
    assert(error->code != EXPRESSION_OK);
    assert(error->at <= error->source.size);
    int size = format_what(error, line, sizeof(line));
    if (error->source.size > 0)
        size += format_place(error, line + size, sizeof(line) - (size_t)size);
    assert(size > 0 && size < LINE_SIZE);
    for (int i = 0; i < size; i++) {
        if ((uint8_t)line[i] < ' ')
            line[i] = ' ';
    }
    return arena_text(arena, (struct text){line, (uint32_t)size});
}

struct text expression_error_name(const struct expression_error *error)
{
    bool limit = error->code == EXPRESSION_TRUNCATED || error->code == EXPRESSION_TOO_LARGE;
    return limit ? TEXT(ERROR_DATA_LIMIT) : TEXT(ERROR_QUERY_EVALUATION);
}
