/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/data.h"

#include "base/json.h"

#include <assert.h>

struct text data_of_text(struct text text, struct arena *arena)
{
    struct json_writer writer;
    struct text json = {0};
    json_writer_init(&writer, UINT32_MAX, arena);
    json_write_text(&writer, text);
    bool done = json_writer_done(&writer, &json);
    assert(done); /* the file was checked to be text */
    (void)done;
    return json;
}

/* What YAML 1.1 or 1.2 takes for something else than a text, and JSON does not. */
static bool reads_differently(struct text text)
{
    static const char *const words[] = {"~",  "Null", "NULL", "y",    "Y",    "n",    "N",   "=",
                                        "<<", ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (text_equal(text, text_of(words[i])))
            return true;
    }
    if (value_looks_like_boolean(text))
        return true;
    /* Numbers with other spellings, times and dates: digits and such marks only. */
    uint32_t from = text.data[0] == '-' || text.data[0] == '+' || text.data[0] == '.';
    if (from == text.size || text.data[from] < '0' || text.data[from] > '9')
        return false;
    for (uint32_t i = from; i < text.size; i++) {
        if (text.data[i] == '\0' ||
            strchr("0123456789abcdefABCDEFxoTtZz_:.+- ", text.data[i]) == NULL)
            return false;
    }
    return true;
}

/* The result outlives the tree. */
static bool data_of_word(struct text text, struct text *ret_json)
{
    static const struct text words[] = {TEXT_CONST("true"), TEXT_CONST("false"),
                                        TEXT_CONST("null")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (text_equal(text, words[i])) {
            *ret_json = words[i];
            return true;
        }
    }
    return false;
}

bool data_of_plain(const struct values *values, const struct yaml_node *node, struct text *ret_json)
{
    struct text text = node->text;
    if (data_of_word(text, ret_json))
        return true;
    struct json_number number;
    enum json_fault fault = json_number_parse(text, &number);
    if (fault == JSON_FAULT_DIGITS) {
        problems_add_error(values->problems, node->mark,
                           "%.*s has more than %d digits: put it in quotes", QUOTE_ARG(text),
                           JSON_DIGITS_MAX);
        return false;
    }
    if (fault == JSON_FAULT_NONE) {
        char digits[JSON_NUMBER_SIZE];
        uint32_t size = json_number_format(&number, digits);
        *ret_json = arena_text(values->arena, (struct text){digits, size});
        return true;
    }
    if (text.size == 0 || reads_differently(text)) {
        if (text.size == 0)
            problems_add_error(values->problems, node->mark,
                               "there is no value here: write null, or \"\" for an empty text");
        else
            problems_add_error(values->problems, node->mark,
                               "%.*s is not a text to every YAML reader: put it in quotes%s",
                               QUOTE_ARG(text),
                               value_looks_like_boolean(text)  ? ", or write true or false"
                               : value_looks_like_number(text) ? ", or write it as JSON does"
                               : yaml_node_is_null(node)       ? ", or write null"
                                                               : "");
        return false;
    }
    *ret_json = data_of_text(text, values->arena);
    return true;
}

/* ---- any node ---- */

/* False after a problem; then what was written is of no use. */
static bool write_node(const struct values *values, const struct yaml_node *node,
                       struct json_writer *writer)
{
    struct text json;
    if (node->kind == NODE_SCALAR) {
        if (!node->plain)
            json_write_text(writer, node->text);
        else if (data_of_plain(values, node, &json))
            json_write_canonical(writer, json);
        else
            return false;
        return true;
    }
    bool map = node->kind == NODE_MAPPING, good = true;
    if (map)
        json_write_map(writer);
    else
        json_write_list(writer);
    for (const struct yaml_node *child = node->first; child != NULL && good; child = child->next) {
        if (map)
            json_write_name(writer, child->key->text);
        good = write_node(values, child, writer);
    }
    if (good)
        json_write_close(writer);
    return good;
}

bool data_of_node(const struct values *values, const struct yaml_node *node, struct text *ret_json)
{
    struct json_writer writer;
    struct text json = {0};
    json_writer_init(&writer, UINT32_MAX, values->arena);
    if (!write_node(values, node, &writer))
        return false;
    bool done = json_writer_done(&writer, &json);
    assert(done); /* a tree is less deep than JSON may be, and has no name twice */
    (void)done;
    *ret_json = json;
    return true;
}
