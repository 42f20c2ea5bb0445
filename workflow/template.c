/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of workflow files -> expressions and templates. See expression.h. */
#include "workflow/expression_parse.h"

#include "base/json.h"
#include "workflow/data.h"

#include <assert.h>
#include <stdio.h>

struct template_compiler {
    const struct values *values;
    const char *what; /* the field */
    const struct expression_names *names;
};

/* ---- problems ---- */

/* Whether it reads a member of the input. */
static bool reads_members(const struct expression *expression)
{
    for (uint16_t i = 0; i < expression->node_count; i++) {
        const struct expression_node *node = &expression->nodes[i];
        const struct expression_node *first = &expression->nodes[node->first];
        if (node->kind == EXPR_PATH && first->kind == EXPR_NAME && first->code == NAME_INPUT)
            return true;
    }
    return false;
}

/* Once, at the first place. */
static void note_members(const struct values *values, const struct yaml_node *node, uint32_t begin,
                         const struct expression *expression)
{
    if (values->notes == NULL || values->notes->members || !reads_members(expression))
        return;
    values->notes->members = true;
    problems_add_note(values->problems, yaml_node_mark_at(node, begin),
                      "without an InputShape, members of the input are not checked, neither here "
                      "nor when an order is submitted");
}

/* Those of an expression that begins at `begin` of the node's text. */
static void pass_on(const struct values *values, const struct yaml_node *node, uint32_t begin,
                    const struct expression_problems *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct expression_problem *problem = &found->items[i];
        /* Finding the place takes as long as the text: not for those that are only counted. */
        bool shown = values->problems->count < WORKFLOW_PROBLEMS_MAX;
        struct mark mark = shown ? yaml_node_mark_at(node, begin + problem->at) : node->mark;
        if (problem->severity == WORKFLOW_ERROR)
            problems_add_error(values->problems, mark, "%s", problem->text);
        else if (!values->deployed)
            problems_add_warning(values->problems, mark, "%s", problem->text);
    }
}

static const struct expression *compile_part(const struct values *values,
                                             const struct yaml_node *node, uint32_t begin,
                                             uint32_t size, const struct expression_names *names,
                                             uint8_t kinds)
{
    struct expression_problems found;
    struct text source = {text_from(node->text, begin).data, size};
    const struct expression *expression =
        expression_compile(source, names, kinds, values->arena, &found);
    pass_on(values, node, begin, &found);
    if (expression != NULL && names->input == NULL)
        note_members(values, node, begin, expression);
    return expression;
}

/* ---- plain fields ---- */

static bool is_negative(const struct expression *expression)
{
    const struct expression_node *root = &expression->nodes[0];
    return (root->kind == EXPR_INT && root->whole < 0) ||
           (root->kind == EXPR_REAL && root->real < 0);
}

static void warn_of_constant(const struct values *values, const struct yaml_node *node,
                             const char *what, const struct expression *expression,
                             const struct expression_names *names)
{
    enum expression_truth truth = expression_truth_of(expression, names, values->arena);
    struct text name = expression_asks_for_required(expression, names);
    if (truth == TRUTH_UNKNOWN)
        return;
    if (text_empty(name) && strcmp(what, "When") != 0)
        problems_add_warning(values->problems, node->mark,
                             "%s is always %s: correct it, or leave it out", what,
                             truth == TRUTH_TRUE ? "true" : "false");
    else if (text_empty(name))
        problems_add_warning(values->problems, node->mark, "%s is always %s", what,
                             truth == TRUTH_TRUE ? "true: leave it out"
                                                 : "false: the step never runs");
    else if (names->outer != NULL && names->outer->has_input)
        problems_add_warning(values->problems, node->mark,
                             "%s is always %s, because Input of %.*s always makes %.*s: %s", what,
                             truth == TRUTH_TRUE ? "true" : "false", QUOTE_ARG(names->outer->step),
                             QUOTE_ARG(name),
                             truth == TRUTH_TRUE ? "leave it out" : "remove the step");
    else
        problems_add_warning(
            values->problems, node->mark,
            "%s is always %s, because InputShape requires %.*s: %s, or write %.*s? "
            "there",
            what, truth == TRUTH_TRUE ? "true" : "false", QUOTE_ARG(name),
            truth == TRUTH_TRUE ? "leave it out" : "remove the step", QUOTE_ARG(name));
}

/* Whether a bracket is open at the end: in { } and [ ], a comma ends a text without quotes. */
static bool is_cut(struct text text)
{
    int depth = 0;
    for (uint32_t at = 0; at < text.size;) {
        char c = text.data[at];
        if (c == '\'' || c == '"') {
            at = lexer_skip_text(text, at);
            continue;
        }
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        at++;
    }
    return depth > 0;
}

const struct expression *compile_expression(const struct values *values,
                                            const struct yaml_node *node, const char *what,
                                            const struct expression_names *names, uint8_t kinds)
{
    if (node->flow && node->plain && is_cut(node->text)) {
        problems_add_error(values->problems, node->mark,
                           "%s ends at a comma, within a bracket: put the expression in quotes",
                           what);
        return NULL;
    }
    if (node->kind != NODE_SCALAR || yaml_node_is_null(node)) {
        problems_add_error(values->problems, node->mark, "%s must be an expression, not %s%s", what,
                           yaml_node_phrase(node),
                           node->kind != NODE_SCALAR ? ": put it in quotes" : "");
        return NULL;
    }
    const struct expression *expression =
        compile_part(values, node, 0, node->text.size, names, kinds);
    if (expression != NULL && kinds == KINDS_NUMBER && is_negative(expression))
        problems_add_error(values->problems, node->mark, "%s is negative", what);
    if (expression != NULL && kinds == KIND_SET(BOOL) && !values->deployed)
        warn_of_constant(values, node, what, expression, names);
    return expression;
}

/* ---- data ---- */

static struct expression_template *new_template(const struct template_compiler *compiler,
                                                enum template_kind kind)
{
    struct expression_template *template =
        ARENA_NEW(compiler->values->arena, struct expression_template);
    template->kind = kind;
    return template;
}

static struct expression_template *new_data(const struct template_compiler *compiler,
                                            struct text json)
{
    struct expression_template *template = new_template(compiler, TEMPLATE_DATA);
    template->data = json;
    return template;
}

/* ---- texts with ${ } in them ---- */

struct parts {
    struct expression_template *first;
    struct expression_template *last;
    uint32_t count;
};

static void add_part(struct parts *parts, struct expression_template *part)
{
    if (parts->last != NULL)
        parts->last->next = part;
    else
        parts->first = part;
    parts->last = part;
    parts->count++;
}

static bool begins_with(struct text text, uint32_t at, struct text with)
{
    return text.size - at >= with.size && memcmp(text.data + at, with.data, with.size) == 0;
}

/* Where the next "${" is, or the end. */
static uint32_t find_expression(struct text text, uint32_t at)
{
    while (at < text.size && !begins_with(text, at, TEXT("${")))
        at += begins_with(text, at, TEXT("$${")) ? 3 : 1;
    return at;
}

/* The text up to the next "${", with "$${" as "${"; goes behind it. */
static void take_text(const struct template_compiler *compiler, const struct yaml_node *node,
                      uint32_t *at, struct parts *parts)
{
    struct text text = node->text;
    uint32_t end = find_expression(text, *at);
    uint32_t size = 0;
    if (*at == end)
        return;
    char *to = arena_bytes(compiler->values->arena, end - *at);
    while (*at < end) {
        *at += begins_with(text, *at, TEXT("$${"));
        to[size++] = text.data[(*at)++];
    }
    add_part(parts, new_data(compiler, (struct text){to, size}));
}

/* "${expr}" at `at`; goes behind it. False after a problem. */
static bool take_expression(const struct template_compiler *compiler, const struct yaml_node *node,
                            bool alone, uint32_t *at, struct parts *parts)
{
    struct text rest = text_from(node->text, *at + 2);
    uint32_t size = expression_find_brace(rest);
    if (size == rest.size) {
        problems_add_error(
            compiler->values->problems, yaml_node_mark_at(node, *at),
            "${ has no } behind it: close the expression with one%s, or write $${ for "
            "the characters themselves",
            node->plain ? ", put the text in quotes if it has a #" : "");
        *at = node->text.size;
        return false;
    }
    uint8_t kinds = alone ? KINDS_ANY : KINDS_IN_TEXT;
    struct expression_template *part = new_template(compiler, TEMPLATE_EXPRESSION);
    part->expression = compile_part(compiler->values, node, *at + 2, size, compiler->names, kinds);
    *at += 2 + size + 1;
    add_part(parts, part);
    return part->expression != NULL;
}

static bool is_alone(const struct yaml_node *node)
{
    struct text text = node->text;
    if (text.size < 3 || memcmp(text.data, "${", 2) != 0)
        return false;
    return expression_find_brace(text_from(text, 2)) == text.size - 3;
}

/* `as_text`: the result is a text, not JSON. */
static struct expression_template *compile_text(const struct template_compiler *compiler,
                                                const struct yaml_node *node, bool as_text)
{
    struct parts parts = {0};
    bool good = true;
    for (uint32_t at = 0; at < node->text.size;) {
        take_text(compiler, node, &at, &parts);
        bool alone = !as_text && is_alone(node);
        if (at < node->text.size && !take_expression(compiler, node, alone, &at, &parts))
            good = false;
    }
    if (!good)
        return NULL;
    bool data = parts.count == 0 || (parts.count == 1 && parts.first->kind == TEMPLATE_DATA);
    if (data) {
        struct text text = parts.count == 0 ? TEXT("") : parts.first->data;
        return new_data(compiler, as_text ? text : data_of_text(text, compiler->values->arena));
    }
    if (parts.count == 1 && (as_text || is_alone(node)))
        return parts.first;
    struct expression_template *template = new_template(compiler, TEMPLATE_TEXT);
    template->first = parts.first;
    return template;
}

/* ---- lists and maps ---- */

static struct expression_template *compile_node(const struct template_compiler *compiler,
                                                const struct yaml_node *node);

/* Puts an entry at its place by name; names are there once (the tree refuses others). */
static void insert_entry(struct parts *parts, struct expression_template *entry)
{
    struct expression_template *before = NULL;
    for (struct expression_template *at = parts->first;
         at != NULL && text_compare(at->name, entry->name) < 0; at = at->next)
        before = at;
    entry->next = before != NULL ? before->next : parts->first;
    if (before != NULL)
        before->next = entry;
    else
        parts->first = entry;
    parts->count++;
}

/* Data from end to end is written once, here. */
static struct expression_template *as_data(const struct template_compiler *compiler,
                                           const struct expression_template *container)
{
    struct json_writer writer;
    struct text json = {0};
    bool map = container->kind == TEMPLATE_MAP;
    json_writer_init(&writer, UINT32_MAX, compiler->values->arena);
    if (map)
        json_write_map(&writer);
    else
        json_write_list(&writer);
    for (const struct expression_template *at = container->first; at != NULL; at = at->next) {
        if (map)
            json_write_name(&writer, at->name);
        json_write_canonical(&writer, at->data);
    }
    json_write_close(&writer);
    bool done = json_writer_done(&writer, &json);
    assert(done); /* a file is less deep than JSON may be */
    (void)done;
    return new_data(compiler, json);
}

static struct expression_template *compile_container(const struct template_compiler *compiler,
                                                     const struct yaml_node *node)
{
    struct parts parts = {0};
    bool data = true, good = true;
    bool map = node->kind == NODE_MAPPING;
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct expression_template *part = compile_node(compiler, child);
        good = good && part != NULL;
        if (part == NULL)
            continue;
        data = data && part->kind == TEMPLATE_DATA;
        if (map) {
            part->name = arena_text(compiler->values->arena, child->key->text);
            insert_entry(&parts, part);
        } else {
            add_part(&parts, part);
        }
    }
    if (!good)
        return NULL;
    struct expression_template *template =
        new_template(compiler, map ? TEMPLATE_MAP : TEMPLATE_LIST);
    template->first = parts.first;
    return data ? as_data(compiler, template) : template;
}

/* What a text without ${ } says is data. */
static bool has_expression(struct text text)
{
    for (uint32_t at = 0; at < text.size; at++) {
        if (begins_with(text, at, TEXT("${")))
            return true;
    }
    return false;
}

static struct expression_template *compile_node(const struct template_compiler *compiler,
                                                const struct yaml_node *node)
{
    if (node->kind != NODE_SCALAR)
        return compile_container(compiler, node);
    bool expression = has_expression(node->text);
    struct text json;
    if (!expression && !compiler->values->deployed)
        expression_check_text(compiler->values, node, compiler->names);
    if (node->plain && !expression)
        return data_of_plain(compiler->values, node, &json) ? new_data(compiler, json) : NULL;
    return compile_text(compiler, node, false);
}

/* ---- what is always too large ---- */

/* What it makes at least, whatever its expressions give. As deep as a file may be. */
static uint64_t least_bytes(const struct expression_template *template)
{
    uint64_t bytes = template->kind == TEMPLATE_DATA ? template->data.size : 1;
    if (template->kind == TEMPLATE_DATA || template->kind == TEMPLATE_EXPRESSION)
        return bytes;
    for (const struct expression_template *at = template->first; at != NULL; at = at->next)
        bytes += at->name.size + least_bytes(at);
    return bytes;
}

static void check_size(const struct values *values, const struct yaml_node *node, const char *what,
                       const struct expression_template *template, uint32_t most)
{
    uint64_t least = least_bytes(template);
    if (least > most)
        problems_add_error(
            values->problems, node->mark,
            "%s makes at least %llu bytes; the limit is %u: refer to large data by a "
            "name or an address",
            what, (unsigned long long)least, most);
}

const struct expression_template *compile_template(const struct values *values,
                                                   const struct yaml_node *node, const char *what,
                                                   const struct expression_names *names,
                                                   uint32_t most)
{
    struct template_compiler compiler = {values, what, names};
    if (most > 0) {
        const struct expression_template *template = compile_node(&compiler, node);
        if (template != NULL && !values->deployed)
            check_size(values, node, what, template, most);
        return template;
    }
    if (node->kind != NODE_SCALAR || yaml_node_is_null(node)) {
        problems_add_error(values->problems, node->mark, "%s must be a text, not %s", what,
                           yaml_node_phrase(node));
        return NULL;
    }
    if (!has_expression(node->text) && !values->deployed)
        expression_check_text(values, node, names);
    return compile_text(&compiler, node, true);
}
