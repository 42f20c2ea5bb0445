/* SPDX-License-Identifier: Apache-2.0 */
/* Names, functions, methods and macros: the part of the grammar that knows what they mean. See
 * expression_parser.h. */
#include "workflow/expression_parser.h"

/* ---- names ---- */

/* .NAME or ['NAME'] behind a name that does not stand alone: its token. */
static struct token parse_member_name(struct expression_parser *parser, enum expression_name name,
                                      uint32_t at)
{
    struct token member = {0};
    if (parser_take_mark(parser, ".")) {
        member = parser->token;
        if (member.kind != TOKEN_NAME)
            parser_fail_expected(parser, "a name");
        parser_advance(parser);
    } else if (parser_take_mark(parser, "[")) {
        member = parser->token;
        if (member.kind != TOKEN_TEXT)
            parser_fail_expected(parser, name == NAME_ORDER ? "a name in quotes, as in order['id']"
                                                            : "the name of a step in quotes, as in "
                                                              "output['STEP']");
        parser_advance(parser);
        parser_expect_mark(parser, "]");
    } else {
        parser_fail(parser, at,
                    name == NAME_OUTPUT ? "output does not stand alone: write output.STEP"
                    : name == NAME_ERROR
                        ? "error does not stand alone: write error.STEP"
                        : "order does not stand alone: write order.id or another member");
    }
    return member;
}

/* output.STEP, error.STEP or order.MEMBER, after the name. */
static uint16_t parse_compound(struct expression_parser *parser, enum expression_name name,
                               uint32_t at)
{
    struct token member = parse_member_name(parser, name, at);
    uint16_t index = parser_new_node(parser, EXPR_NAME, name == NAME_ORDER ? at : member.at);
    if (index == 0)
        return 0;
    struct expression_node *node = parser_node(parser, index);
    node->code = (uint8_t)name;
    node->text = arena_text(parser->draft->arena, member.text);
    if (name == NAME_ORDER)
        expression_find_order_member(parser->draft, member.at, member.text, &node->index);
    else
        expression_find_step(parser->draft, member.at, name, member.text, &node->index);
    return index;
}

/* Names that a body has from the step around it. */
static bool report_name_of_body(const struct expression_draft *draft, enum expression_name name,
                                uint32_t at)
{
    const struct expression_outer *outer = draft->names->outer;
    struct text text = expression_name_text(name);
    if (name == NAME_ITEM && outer->input_is_item)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "item is not known in the body of %.*s: write input, which is the item",
                          QUOTE_ARG(outer->step));
    else if (name == NAME_ITEM || name == NAME_INDEX)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "%.*s is not known in the body of %.*s: pass it by Input of %.*s",
                          TEXT_ARG(text), QUOTE_ARG(outer->step), QUOTE_ARG(outer->step));
    else if (name == NAME_RESULT && draft->names->whole)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "the Output of %.*s is made of its own steps: write output.STEP instead "
                          "of result",
                          QUOTE_ARG(outer->step));
    else
        return false;
    return true;
}

static void check_allowed(struct expression_parser *parser, enum expression_name name, uint32_t at)
{
    static const char *const places[] = {
#define EXPRESSION_NAME(constant, text, places) places,
#include "engine/expression/names.def"
    };
    struct text text = expression_name_text(name);
    if ((parser->draft->names->allowed & UINT32_C(1) << name) != 0)
        return;
    if (parser->draft->names->outer != NULL && report_name_of_body(parser->draft, name, at))
        return;
    if (places[name][0] != '\0')
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at,
                          "%.*s is not known here: it stands in %s", TEXT_ARG(text), places[name]);
    else
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at, "%.*s is not known here",
                          TEXT_ARG(text));
}

uint16_t parse_name(struct expression_parser *parser, const struct token *token)
{
    enum expression_name name;
    for (uint32_t slot = parser->variable_count; slot-- > 0;) {
        if (!text_equal(parser->variables[slot], token->text))
            continue;
        uint16_t index = parser_new_node(parser, EXPR_VARIABLE, token->at);
        parser_node(parser, index)->index = (uint16_t)slot;
        parser_node(parser, index)->text = parser->variables[slot];
        return index;
    }
    if (!expression_find_name(token->text, &name)) {
        expression_report_name(parser->draft, token->at, token->text, parser->variables,
                               parser->variable_count);
        name = NAME_INPUT;
    } else {
        check_allowed(parser, name, token->at);
    }
    if (name == NAME_OUTPUT || name == NAME_ERROR || name == NAME_ORDER)
        return parse_compound(parser, name, token->at);
    uint16_t index = parser_new_node(parser, EXPR_NAME, token->at);
    parser_node(parser, index)->code = (uint8_t)name;
    return index;
}

/* ---- calls ---- */

static const struct {
    enum expression_form form;
    uint32_t arguments; /* without a method's target */
} signatures[] = {
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) {FORM_##form, arguments},
#include "engine/expression/functions.def"
};

/* has(x.y), after its first bracket. */
static uint16_t parse_has(struct expression_parser *parser, uint32_t at)
{
    static const char expected[] =
        "has() takes a member, as in has(input.gift); for an element, ask size(l) > 0";
    uint16_t child = parse_expression(parser);
    parser_expect_mark(parser, ")");
    if (parser->failed)
        return 0;
    struct expression_node *node = parser_node(parser, child);
    bool step = node->kind == EXPR_NAME && (node->code == NAME_OUTPUT || node->code == NAME_ERROR);
    if (step) {
        node->kind = EXPR_HAS_STEP;
        return child;
    }
    if (node->kind == EXPR_NAME && node->code == NAME_ORDER)
        parser_fail(parser, at,
                    "each order has all members of order: compare with '', as in order.id != ''");
    uint16_t last = node->kind == EXPR_PATH ? node->first : 0;
    while (last != 0 && parser_node(parser, last)->next != 0)
        last = parser_node(parser, last)->next;
    bool member = last != 0 && parser_node(parser, last)->kind == EXPR_MEMBER;
    if (!member && parser->draft->problems->errors > 0)
        parser->failed = true; /* of a name in it that was not understood */
    if (!member)
        parser_fail(parser, at, expected);
    return parser_new_parent_of_one(parser, EXPR_HAS, at, child);
}

static void check_arguments(struct expression_parser *parser, const struct token *name,
                            uint32_t expected, uint32_t found)
{
    if (expected != found)
        expression_report(parser->draft->problems, WORKFLOW_ERROR, name->at,
                          "%.*s() takes %u argument%s here, not %u", TEXT_ARG(name->text), expected,
                          expected == 1 ? "" : "s", found);
}

uint16_t parse_function(struct expression_parser *parser, const struct token *name)
{
    enum expression_function function = FUNCTION_SIZE;
    if (text_equal(name->text, TEXT("has")))
        return parse_has(parser, name->at);
    struct parser_row row = parse_expressions(parser, ")");
    if (parser->failed)
        return 0;
    if (!expression_find_function(name->text, &function) ||
        signatures[function].form == FORM_METHOD || signatures[function].form == FORM_MACRO)
        expression_report_function(parser->draft, name->at, name->text, false);
    else
        check_arguments(parser, name, 1, row.count);
    uint16_t index = parser_new_parent(parser, EXPR_CALL, name->at, &row);
    if (index != 0)
        parser_node(parser, index)->code = (uint8_t)function;
    return index;
}

/* Reads "x, e" of l.all(x, e) after the first bracket, up to the last one. */
static void parse_macro(struct expression_parser *parser, struct parser_row *row,
                        uint16_t *ret_slot)
{
    struct token variable = parser->token;
    enum expression_name name;
    *ret_slot = (uint16_t)parser->variable_count;
    parser_advance(parser);
    if (variable.kind != TOKEN_NAME || !parser_is_mark(parser, ",")) {
        parser_fail(parser, variable.at,
                    "a macro begins with the name that an element gets: l.all(x, x > 0)");
        return;
    }
    if (expression_find_name(variable.text, &name) || text_equal(variable.text, TEXT("in")))
        parser_fail(parser, variable.at, "this name has a meaning already: take another one");
    if (parser->variable_count == EXPRESSION_DEPTH_MAX)
        parser_fail(parser, variable.at,
                    "macros are nested at most 32 deep: let a Set before it compute a part");
    if (parser->failed)
        return;
    parser_advance(parser);
    parser->variables[parser->variable_count++] = arena_text(parser->draft->arena, variable.text);
    if (parser->draft->slot_count < parser->variable_count)
        parser->draft->slot_count = (uint16_t)parser->variable_count;
    parser_add(parser, row, parse_expression(parser));
    parser->variable_count--;
    if (parser_is_mark(parser, ","))
        parser_fail(parser, parser->token.at,
                    "a macro takes one name and one expression: there is no third argument");
    parser_expect_mark(parser, ")");
}

uint16_t parse_method(struct expression_parser *parser, uint16_t target, const struct token *name)
{
    enum expression_function function = FUNCTION_SIZE;
    struct parser_row row = {0};
    uint16_t slot = 0;
    parser_add(parser, &row, target);
    bool known = expression_find_function(name->text, &function) &&
                 signatures[function].form != FORM_FUNCTION;
    bool macro = known && signatures[function].form == FORM_MACRO;
    if (macro) {
        parse_macro(parser, &row, &slot);
    } else {
        struct parser_row arguments = parse_expressions(parser, ")");
        if (!known)
            expression_report_function(parser->draft, name->at, name->text, true);
        else
            check_arguments(parser, name, signatures[function].arguments, arguments.count);
        if (target != 0 && arguments.first != 0)
            parser_node(parser, target)->next = arguments.first;
        row.count = (uint16_t)(row.count + arguments.count);
    }
    uint16_t index = parser_new_parent(parser, macro ? EXPR_MACRO : EXPR_CALL, name->at, &row);
    if (index != 0) {
        parser_node(parser, index)->code = (uint8_t)function;
        parser_node(parser, index)->index = slot;
    }
    return index;
}
