/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a value to its meaning, by the type of its key. See config.h. */
#include "base/names.h"
#include "base/numbers.h"
#include "platform/config/internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool parse_bool(const char *text, int64_t *ret_number)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (int i = 0; i < 8; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *ret_number = i % 2;
            return true;
        }
    }
    return false;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t size = strlen(text);
    for (const char *at = choices; size > 0; at++) {
        size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, text, size) == 0)
            return true;
        at += length;
        if (*at == '\0')
            break;
    }
    return false;
}

static void parse_list(const char *text, struct config_value *value)
{
    size_t most = 2;
    for (const char *at = text; *at != '\0'; at++)
        most += *at == ',';
    value->items = calloc(most, sizeof(*value->items));
    assert(value->items != NULL);
    for (const char *at = text;; at++) {
        at += strspn(at, " \t");
        size_t size = strcspn(at, ",");
        size_t trimmed = size;
        while (trimmed > 0 && isspace((unsigned char)at[trimmed - 1]))
            trimmed--;
        if (trimmed > 0) {
            value->items[value->item_count] = strndup(at, trimmed);
            assert(value->items[value->item_count] != NULL);
            value->item_count++;
        }
        at += size;
        if (*at == '\0')
            break;
    }
}

static bool parse_by_type(const struct config_key *key, const char *text,
                          struct config_value *value)
{
    struct text whole = text_of(text);
    struct text rest = whole;
    switch (key->type) {
    case CONFIG_STRING:
    case CONFIG_SECRET:
        return true;
    case CONFIG_NAME:
        return name_characters_valid(whole);
    case CONFIG_INT:
        return number_parse(whole, INT64_MIN, INT64_MAX, &value->number);
    case CONFIG_BOOL:
        return parse_bool(text, &value->number);
    case CONFIG_DURATION_MS:
        return number_parse_duration(whole, &value->number);
    case CONFIG_DOUBLE:
        return number_take_real(&rest, &value->real) && rest.size == 0;
    case CONFIG_ENUM:
        return is_choice(key->choices, text);
    case CONFIG_LIST:
        parse_list(text, value);
        return true;
    case CONFIG_TYPE_COUNT:
        break;
    }
    assert(key->type < CONFIG_TYPE_COUNT);
    return false;
}

static const char *expectation(const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_NAME:
        return "made of letters, digits, '.', '_' and '-'";
    case CONFIG_INT:
        return "a whole number";
    case CONFIG_BOOL:
        return "true or false";
    case CONFIG_DURATION_MS:
        return "a time such as 500, 500ms, 30s, 5m, 2h or 7d";
    case CONFIG_DOUBLE:
        return "a number";
    case CONFIG_ENUM:
        return key->choices; /* a|b|c */
    case CONFIG_STRING:
    case CONFIG_SECRET:
    case CONFIG_LIST:
    case CONFIG_TYPE_COUNT:
        break;
    }
    return "text";
}

static enum error_class check_bounds(const struct config_key *key, const char *text,
                                     const char *origin, const struct config_value *value,
                                     struct error *ret_error)
{
    const char *unit = key->unit != NULL ? key->unit : "";
    if (key->min == 0 && key->max == 0)
        return ERROR_OK;
    double measure = (double)value->number;
    switch (key->type) {
    case CONFIG_STRING:
    case CONFIG_NAME:
    case CONFIG_SECRET:
        measure = (double)strlen(text);
        if (measure >= key->min && measure <= key->max)
            return ERROR_OK;
        if (measure < key->min)
            return config_fail(ret_error, "%s (%s) is empty; set a value", key->name, origin);
        return config_fail(ret_error, "%s (%s) is %.0f bytes; the limit is %.0f", key->name, origin,
                           measure, key->max);
    case CONFIG_DOUBLE:
        measure = value->real;
        break;
    case CONFIG_INT:
    case CONFIG_DURATION_MS:
    case CONFIG_BOOL:
    case CONFIG_ENUM:
    case CONFIG_LIST:
    case CONFIG_TYPE_COUNT:
        break;
    }
    if (measure >= key->min && measure <= key->max)
        return ERROR_OK;
    return config_fail(ret_error, "%s (%s) is %s; it must be %.15g to %.15g%s%s", key->name, origin,
                       text, key->min, key->max, *unit != '\0' ? " " : "", unit);
}

enum error_class config_parse(const struct config_key *key, const char *text, const char *origin,
                              struct config_value *ret_value, struct error *ret_error)
{
    struct config_value value = {0};
    if (!parse_by_type(key, text, &value))
        return config_fail(ret_error, "%s (%s) is \"%.100s\"; it must be %s", key->name, origin,
                           text, expectation(key));
    enum error_class class = check_bounds(key, text, origin, &value, ret_error);
    if (class != ERROR_OK) {
        config_value_deinit(&value);
        return class;
    }
    *ret_value = value;
    return ERROR_OK;
}

void config_value_deinit(struct config_value *value)
{
    for (size_t i = 0; i < value->item_count; i++)
        free((char *)value->items[i]);
    free(value->items);
    *value = (struct config_value){0};
}
