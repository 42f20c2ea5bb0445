/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of templates that read like expressions. Without ${ } they are data, which is rarely meant
 * if all of a text is an expression over the order. See expression_parse.h. */
#include "workflow/expression_parse.h"

#include "base/heap_arena.h"
#include "base/suggest.h"

enum { SHOWN_BYTES_MAX = 100 };

static bool begins_with(struct text text, struct text with)
{
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

static bool ends_with(struct text text, struct text with)
{
    return text.size >= with.size &&
           memcmp(text.data + text.size - with.size, with.data, with.size) == 0;
}

/* ---- what is meant ---- */

/* $input.x, $(input.x), =input.x, #{input.x} and {input.x} without what is around input.x. */
static struct text without_marks(struct text text)
{
    static const struct {
        struct text before, behind;
    } marks[] = {{TEXT_CONST("$"), TEXT_CONST("")},
                 {TEXT_CONST("="), TEXT_CONST("")},
                 {TEXT_CONST("#{"), TEXT_CONST("}")},
                 {TEXT_CONST("{"), TEXT_CONST("}")}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct text before = marks[i].before, behind = marks[i].behind;
        if (text.size > before.size + behind.size && begins_with(text, before) &&
            ends_with(text, behind))
            return (struct text){text.data + before.size, text.size - before.size - behind.size};
    }
    return text;
}

/* Most texts are not looked at any further. */
static bool may_read(struct text text)
{
    return text.size > 0 &&
           (memchr(text.data, '.', text.size) != NULL || memchr(text.data, '[', text.size) != NULL);
}

/* Names as they would have to be for the text to be an expression, if not one that may stand here:
 * all steps of the workflow and around it. */
static struct expression_names names_of_all(const struct expression_names *names,
                                            struct arena *arena)
{
    struct expression_names all = *names;
    uint32_t count = names->step_count;
    for (const struct expression_outer *outer = names->outer; outer != NULL; outer = outer->outer)
        count += outer->step_count;
    struct expression_known_step *steps =
        ARENA_ARRAY(arena, struct expression_known_step, count + 1);
    count = 0;
    for (uint32_t i = 0; i < names->step_count; i++)
        steps[count++].name = names->steps[i].name;
    for (const struct expression_outer *outer = names->outer; outer != NULL; outer = outer->outer) {
        for (uint32_t i = 0; i < outer->step_count; i++)
            steps[count++].name = outer->steps[i].name;
    }
    for (uint32_t i = 0; i < count; i++)
        steps[i].before = steps[i].fails = true;
    all.allowed |= EXPRESSION_NAMES_ALWAYS;
    all.steps = steps;
    all.step_count = count;
    all.outer = NULL;
    all.guards = NULL;
    all.deployed = true; /* only its form counts */
    return all;
}

/* ---- what it reads ---- */

/* input.csv is the name of a file. */
static bool is_extension(struct text name)
{
    static const char *const extensions[] = {
        "avro",    "csv", "docx", "gz",  "html", "jpeg", "jpg", "json", "log", "md",
        "parquet", "pdf", "png",  "tar", "txt",  "xlsx", "xml", "yaml", "yml", "zip"};
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        if (text_equal(name, text_of(extensions[i])))
            return true;
    }
    return false;
}

/* NULL: nothing is known of its members. */
static const struct expression_shape *shape_of(const struct expression_names *names, uint8_t name)
{
    const struct expression_shape *shape = name == NAME_INPUT    ? names->input
                                           : name == NAME_ITEM   ? names->item
                                           : name == NAME_RESULT ? names->result
                                                                 : NULL;
    return shape != NULL && shape->members != NULL ? shape : NULL;
}

/* Of input.NAME alone. */
static bool is_member(const struct expression_names *names, uint8_t root, struct text name)
{
    const struct expression_shape *shape = shape_of(names, root);
    for (uint32_t i = 0; shape != NULL && i < shape->member_count; i++) {
        if (suggest_text(name, &shape->members[i].name, 1) != NULL)
            return true;
    }
    return shape == NULL && !is_extension(name);
}

static bool reads_data(const struct expression *expression, const struct expression_names *names)
{
    for (uint16_t i = 0; i < expression->node_count; i++) {
        const struct expression_node *node = &expression->nodes[i];
        const struct expression_node *first = &expression->nodes[node->first];
        const struct expression_node *member = &expression->nodes[first->next];
        if (node->kind == EXPR_HAS_STEP ||
            (node->kind == EXPR_NAME &&
             (node->code == NAME_OUTPUT || node->code == NAME_ERROR || node->code == NAME_ORDER)))
            return true;
        if (node->kind != EXPR_PATH || first->kind != EXPR_NAME)
            continue;
        bool whole = expression->nodes[0].kind == EXPR_PATH && node->count == 2;
        if (!whole || member->kind != EXPR_MEMBER || is_member(names, first->code, member->text))
            return true;
    }
    return false;
}

/* output.reserve-stock.id: such a name has to stand in quotes. */
static bool reads_quoted_step(struct text text, const struct expression_names *names)
{
    struct text output = TEXT("output."), error = TEXT("error.");
    struct text rest = begins_with(text, output)  ? text_from(text, output.size)
                       : begins_with(text, error) ? text_from(text, error.size)
                                                  : (struct text){0};
    for (uint32_t i = 0; i < names->step_count; i++) {
        struct text step = names->steps[i].name;
        if (!text_empty(step) && begins_with(rest, step) &&
            (rest.size == step.size || strchr(".[", rest.data[step.size]) != NULL))
            return true;
    }
    return false;
}

/* ---- the warning ---- */

/* `expression`: to write into ${ }; empty: one that is not shown. */
static void warn(const struct values *values, const struct yaml_node *node, struct text expression)
{
    bool has_double = false, has_single = false;
    for (uint32_t i = 0; i < expression.size; i++) {
        has_double = has_double || expression.data[i] == '"' || expression.data[i] == '\\';
        has_single = has_single || expression.data[i] == '\'';
    }
    const char *quote = has_double ? "'" : "\"";
    if (text_empty(expression) || expression.size > SHOWN_BYTES_MAX || (has_double && has_single))
        problems_add_warning(
            values->problems, node->mark,
            "this is sent as it stands: write \"${...}\" for the value of an expression");
    else
        problems_add_warning(values->problems, node->mark,
                             "this is sent as it stands: write %s${%.*s}%s for its value", quote,
                             TEXT_ARG(expression), quote);
}

static bool is_foreign(struct text text)
{
    static const struct text marks[] = {TEXT_CONST("$."), TEXT_CONST("{{"), TEXT_CONST("{%")};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (begins_with(text, marks[i]))
            return true;
    }
    return false;
}

void expression_check_text(const struct values *values, const struct yaml_node *node,
                           const struct expression_names *names)
{
    static const struct text not_shown = {0};
    struct expression_problems unseen;
    struct heap_arena scratch;
    struct text text = without_marks(node->text);
    if (is_foreign(node->text))
        warn(values, node, not_shown);
    if (is_foreign(node->text) || !may_read(text))
        return;
    heap_arena_init(&scratch, 4096);
    struct expression_names all = names_of_all(names, &scratch.arena);
    const struct expression *expression =
        expression_compile(text, &all, KINDS_ANY, &scratch.arena, &unseen);
    if (expression != NULL && reads_data(expression, names))
        warn(values, node, text);
    else if (expression == NULL && reads_quoted_step(text, &all))
        warn(values, node, not_shown);
    heap_arena_deinit(&scratch);
}
