/* SPDX-License-Identifier: Apache-2.0 */
/* InputShape: what the input of orders consists of. See engine/shape.h.
 *
 *     {amount: number, items: [{sku: string, quantity: integer}], gift: boolean?, notes?: [string]}
 *
 * A type is a word, a list of one type, or a map from names to types. A `?` behind the word, or
 * behind the name, says that the member may be missing: YAML allows none behind a bracket. */
#include "base/json.h"
#include "base/suggest.h"
#include "workflow/compile.h"

#define TYPES "string, number, integer, boolean, any, [TYPE] or {NAME: TYPE}"

/* The words of shape_kind_name(), and those of other languages. */
static const struct {
    struct text word;
    enum shape_kind kind;
} others[] = {
    {TEXT_CONST("str"), SHAPE_STRING},     {TEXT_CONST("text"), SHAPE_STRING},
    {TEXT_CONST("int"), SHAPE_INTEGER},    {TEXT_CONST("int64"), SHAPE_INTEGER},
    {TEXT_CONST("long"), SHAPE_INTEGER},   {TEXT_CONST("bool"), SHAPE_BOOLEAN},
    {TEXT_CONST("double"), SHAPE_NUMBER},  {TEXT_CONST("float"), SHAPE_NUMBER},
    {TEXT_CONST("decimal"), SHAPE_NUMBER}, {TEXT_CONST("object"), SHAPE_ANY},
};

static bool ends_with_mark(struct text text)
{
    return text.size > 1 && text.data[text.size - 1] == '?';
}

/* ---- words ---- */

static bool refuse_word(const struct values *values, const struct yaml_node *node, struct text word)
{
    struct text candidates[SHAPE_LIST];
    for (uint32_t i = 0; i < SHAPE_LIST; i++)
        candidates[i] = text_of(shape_kind_name((enum shape_kind)i));
    const struct text *nearest = suggest_text(word, candidates, SHAPE_LIST);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && nearest == NULL; i++)
        if (text_equal(word, others[i].word))
            nearest = &candidates[others[i].kind];
    if (nearest != NULL)
        problems_add_error(values->problems, node->mark,
                           "\"%.*s\" is not a type: did you mean %.*s?", QUOTE_ARG(word),
                           QUOTE_ARG(*nearest));
    else
        problems_add_error(values->problems, node->mark,
                           "\"%.*s\" is not a type: it must be " TYPES, QUOTE_ARG(word));
    return false;
}

static bool compile_word(const struct values *values, const struct yaml_node *node,
                         struct shape *shape)
{
    struct text word = node->text;
    if (ends_with_mark(word)) {
        shape->optional = true;
        word.size--;
    }
    for (uint32_t i = 0; i < SHAPE_LIST; i++) {
        if (text_equal(word, text_of(shape_kind_name((enum shape_kind)i)))) {
            shape->kind = (enum shape_kind)i;
            return true;
        }
    }
    return refuse_word(values, node, word);
}

/* ---- lists and maps ---- */

static bool compile_type(const struct values *values, const struct yaml_node *node, uint32_t depth,
                         struct shape *ret_shape);

static bool compile_list(const struct values *values, const struct yaml_node *node, uint32_t depth,
                         struct shape *shape)
{
    struct shape *element = ARENA_NEW(values->arena, struct shape);
    shape->kind = SHAPE_LIST;
    shape->element = element;
    if (node->count != 1) {
        problems_add_error(values->problems, node->mark,
                           "a list has one type, of all its elements: [string]");
        return false;
    }
    if (!compile_type(values, node->first, depth + 1, element))
        return false;
    if (element->optional)
        problems_add_error(values->problems, node->first->mark,
                           "an element of a list cannot be missing: leave out the \"?\"");
    return !element->optional;
}

/* The name without its mark, and as canonical text has it. */
static bool read_name(const struct values *values, const struct yaml_node *key,
                      struct shape *member)
{
    struct json_writer writer;
    struct text quoted = {0};
    struct text name = key->text;
    if (ends_with_mark(name)) {
        member->optional = true;
        name.size--;
    }
    member->name = arena_text(values->arena, name);
    json_writer_init(&writer, UINT32_MAX, values->arena);
    json_write_text(&writer, name);
    if (!json_writer_done(&writer, &quoted)) {
        problems_add_error(values->problems, key->mark, "a name must be UTF-8 without NUL");
        return false;
    }
    member->escaped = (struct text){quoted.data + 1, quoted.size - 2};
    return true;
}

/* Puts the last member where it belongs. False: there is one of its name. */
static bool insert(struct shape *members, uint32_t last)
{
    struct shape member = members[last];
    uint32_t at = last;
    while (at > 0 && text_compare(members[at - 1].escaped, member.escaped) > 0) {
        members[at] = members[at - 1];
        at--;
    }
    members[at] = member;
    return at == 0 || !text_equal(members[at - 1].escaped, member.escaped);
}

static bool compile_map(const struct values *values, const struct yaml_node *node, uint32_t depth,
                        struct shape *shape)
{
    struct shape *members = ARENA_ARRAY(values->arena, struct shape, node->count + 1);
    bool good = true;
    *shape = (struct shape){.kind = SHAPE_MAP, .members = members};
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct shape *member = &members[shape->member_count];
        good = compile_type(values, child, depth + 1, member) && good;
        good = read_name(values, child->key, member) && good;
        shape->required_count += !member->optional;
        if (insert(members, shape->member_count++))
            continue;
        problems_add_error(values->problems, child->key->mark, "%.*s is given twice",
                           QUOTE_ARG(child->key->text));
        good = false;
    }
    return good;
}

static bool compile_type(const struct values *values, const struct yaml_node *node, uint32_t depth,
                         struct shape *ret_shape)
{
    if (node->kind == NODE_SCALAR && !yaml_node_is_null(node))
        return compile_word(values, node, ret_shape);
    if (node->kind == NODE_SCALAR) {
        problems_add_error(values->problems, node->mark, "a type must be " TYPES ", not %s",
                           yaml_node_phrase(node));
        return false;
    }
    if (depth == SHAPE_DEPTH_MAX) {
        problems_add_error(values->problems, node->mark,
                           "there are more than %d lists and maps within each other",
                           SHAPE_DEPTH_MAX);
        return false;
    }
    if (shape_is_json_schema(node)) {
        shape_refuse_json_schema(values, node);
        return false;
    }
    return node->kind == NODE_SEQUENCE ? compile_list(values, node, depth, ret_shape)
                                       : compile_map(values, node, depth, ret_shape);
}

const struct shape *compile_shape(const struct values *values, const struct yaml_node *node)
{
    struct shape *shape = ARENA_NEW(values->arena, struct shape);
    if (!compile_type(values, node, 0, shape))
        return NULL;
    if (!shape->optional)
        return shape;
    problems_add_error(values->problems, node->mark,
                       "the input as a whole cannot be missing: leave out the \"?\"");
    return NULL;
}
