/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens -> nodes, by recursive descent. See engine/expression/expression.h for the nodes and
 * docs/use/expressions.md for the grammar.
 *
 * The first mistake of syntax ends the work; a name that is not known is reported, and the work
 * goes on. Recursion is bounded by EXPRESSION_DEPTH_MAX brackets, everything else by the size of
 * the text. */
#include "workflow/expression_parser.h"

#define TOO_DEEP "an expression is nested at most 32 deep: let a Set before it compute a part"

static bool enter(struct expression_parser *parser)
{
    /* The expression itself is not within anything. */
    if (parser->depth == EXPRESSION_DEPTH_MAX + 1)
        parser_fail(parser, parser->token.at, TOO_DEEP);
    parser->depth++;
    return !parser->failed;
}

/* ---- lists and maps ---- */

struct parser_row parse_expressions(struct expression_parser *parser, const char *close)
{
    struct parser_row row = {0};
    if (parser_take_mark(parser, close))
        return row;
    do {
        if (parser_is_mark(parser, close))
            parser_fail(parser, parser->token.at,
                        "a comma stands before the closing bracket: remove it");
        parser_add(parser, &row, parse_expression(parser));
    } while (parser_take_mark(parser, ","));
    parser_expect_mark(parser, close);
    return row;
}

static uint16_t parse_entry(struct expression_parser *parser)
{
    struct token key = parser->token;
    if (key.kind != TOKEN_TEXT) {
        parser_fail_expected(parser, parser_is_mark(parser, "}")
                                         ? "a name: remove the comma before it"
                                         : "a name in quotes");
        return 0;
    }
    parser_advance(parser);
    parser_expect_mark(parser, ":");
    uint16_t entry = parser_new_parent_of_one(parser, EXPR_ENTRY, key.at, parse_expression(parser));
    if (entry != 0)
        parser_node(parser, entry)->text = key.text;
    return entry;
}

/* Puts the entry at its place among those that are sorted by name. */
static void insert_entry(struct expression_parser *parser, struct parser_row *row, uint16_t entry)
{
    uint16_t before = 0;
    struct text name = parser_node(parser, entry)->text;
    for (uint16_t at = row->first; at != 0; at = parser_node(parser, at)->next) {
        int order = text_compare(parser_node(parser, at)->text, name);
        if (order == 0)
            parser_fail(parser, parser_node(parser, entry)->at,
                        "this name is already in the map: remove one of the two");
        if (order >= 0)
            break;
        before = at;
    }
    uint16_t *link = before != 0 ? &parser_node(parser, before)->next : &row->first;
    parser_node(parser, entry)->next = *link;
    *link = entry;
    row->count++;
}

/* After "{". */
static uint16_t parse_map(struct expression_parser *parser, uint32_t at)
{
    struct parser_row row = {0};
    if (!parser_take_mark(parser, "}")) {
        do {
            uint16_t entry = parse_entry(parser);
            if (entry != 0)
                insert_entry(parser, &row, entry);
        } while (parser_take_mark(parser, ","));
        parser_expect_mark(parser, "}");
    }
    return parser_new_parent(parser, EXPR_MAP, at, &row);
}

/* ---- from the inside out ---- */

static uint16_t parse_literal(struct expression_parser *parser)
{
    struct token token = parser->token;
    uint16_t index = 0;
    if (token.kind == TOKEN_INT && token.whole > INT64_MAX)
        parser_fail(parser, token.at,
                    "a whole number must fit into 64 bits, with its sign: write .0 at its end");
    if (token.kind == TOKEN_INT && (index = parser_new_node(parser, EXPR_INT, token.at)) != 0)
        parser_node(parser, index)->whole = (int64_t)token.whole;
    if (token.kind == TOKEN_REAL && (index = parser_new_node(parser, EXPR_REAL, token.at)) != 0)
        parser_node(parser, index)->real = token.real;
    if (token.kind == TOKEN_TEXT && (index = parser_new_node(parser, EXPR_TEXT, token.at)) != 0)
        parser_node(parser, index)->text = token.text;
    parser_advance(parser);
    return index;
}

static uint16_t parse_word(struct expression_parser *parser)
{
    struct token token = parser->token;
    bool yes = parser_is_word(parser, "true");
    if (yes || parser_is_word(parser, "false")) {
        parser_advance(parser);
        uint16_t index = parser_new_node(parser, EXPR_BOOL, token.at);
        parser_node(parser, index)->whole = yes;
        return index;
    }
    if (parser_is_word(parser, "null")) {
        parser_advance(parser);
        return parser_new_node(parser, EXPR_NULL, token.at);
    }
    if (parser_is_word(parser, "in")) {
        parser_fail_expected(parser, "a value");
        return 0;
    }
    parser_advance(parser);
    return parser_take_mark(parser, "(") ? parse_function(parser, &token)
                                         : parse_name(parser, &token);
}

static uint16_t parse_primary(struct expression_parser *parser)
{
    uint32_t at = parser->token.at;
    if (parser->failed)
        return 0;
    if (parser->token.kind == TOKEN_NAME)
        return parse_word(parser);
    if (parser->token.kind != TOKEN_MARK && parser->token.kind != TOKEN_END)
        return parse_literal(parser);
    if (parser_take_mark(parser, "(")) {
        uint16_t index = parse_expression(parser);
        parser_expect_mark(parser, ")");
        return index;
    }
    if (parser_take_mark(parser, "[")) {
        struct parser_row row = parse_expressions(parser, "]");
        return parser_new_parent(parser, EXPR_LIST, at, &row);
    }
    if (parser_take_mark(parser, "{"))
        return parse_map(parser, at);
    if (parser_is_mark(parser, "."))
        parser_fail(parser, at,
                    "write a 0 before the point of a number, a name before that of a member");
    parser_fail_expected(parser, "a value");
    return 0;
}

/* [Expr] behind a value, after the first bracket: a member if it is a text. */
static uint16_t parse_element(struct expression_parser *parser, uint32_t at)
{
    uint16_t child = parse_expression(parser);
    if (parser_is_mark(parser, ":"))
        parser_fail(parser, parser->token.at,
                    "lists have no slices: take one element, or filter them");
    parser_expect_mark(parser, "]");
    if (parser->failed)
        return 0;
    if (parser_node(parser, child)->kind == EXPR_TEXT) {
        parser_node(parser, child)->kind = EXPR_MEMBER;
        return child;
    }
    return parser_new_parent_of_one(parser, EXPR_ELEMENT, at, child);
}

/* .NAME, after the dot, or a call; *row is the path so far. */
static void parse_member(struct expression_parser *parser, struct parser_row *row)
{
    struct token name = parser->token;
    if (name.kind != TOKEN_NAME) {
        parser_fail_expected(parser, name.kind == TOKEN_INT
                                         ? "a name: write l[0] for an element, x['0'] for a member"
                                         : "a name: write x['a b'] for one with other characters");
        return;
    }
    parser_advance(parser);
    if (parser_take_mark(parser, "(")) {
        uint16_t target =
            row->count > 1
                ? parser_new_parent(parser, EXPR_PATH, parser_node(parser, row->first)->at, row)
                : row->first;
        struct parser_row called = {0};
        parser_add(parser, &called, parse_method(parser, target, &name));
        *row = called;
        return;
    }
    uint16_t member = parser_new_node(parser, EXPR_MEMBER, name.at);
    if (member != 0)
        parser_node(parser, member)->text = arena_text(parser->draft->arena, name.text);
    parser_add(parser, row, member);
}

static uint16_t parse_postfix(struct expression_parser *parser)
{
    struct parser_row row = {0};
    uint32_t at = parser->token.at;
    parser_add(parser, &row, parse_primary(parser));
    for (;;) {
        uint32_t bracket = parser->token.at;
        if (parser_take_mark(parser, "."))
            parse_member(parser, &row);
        else if (parser_take_mark(parser, "["))
            parser_add(parser, &row, parse_element(parser, bracket));
        else
            break;
    }
    if (parser_is_mark(parser, "{"))
        parser_fail(parser, parser->token.at,
                    "there are no messages: write a map, {'name': value}");
    return row.count > 1 ? parser_new_parent(parser, EXPR_PATH, at, &row) : row.first;
}

/* -5 is a number, so that the least one can be written. */
static uint16_t parse_negative(struct expression_parser *parser, uint32_t at)
{
    struct token token = parser->token;
    if (token.kind == TOKEN_INT)
        parser->token.whole = token.whole > INT64_MAX ? 0 : token.whole;
    uint16_t index = parse_postfix(parser);
    if (parser->failed || (token.kind != TOKEN_INT && token.kind != TOKEN_REAL) ||
        parser_node(parser, index)->kind > EXPR_REAL)
        return parser->failed ? 0 : parser_new_parent_of_one(parser, EXPR_NEGATE, at, index);
    struct expression_node *node = parser_node(parser, index);
    node->at = (uint16_t)at;
    if (token.kind == TOKEN_REAL)
        node->real = -node->real;
    else
        node->whole = token.whole > INT64_MAX ? INT64_MIN : -node->whole;
    return index;
}

static uint16_t parse_unary(struct expression_parser *parser)
{
    uint32_t at = parser->token.at;
    if (!parser_is_mark(parser, "!") && !parser_is_mark(parser, "-"))
        return parse_postfix(parser);
    if (!enter(parser))
        return 0;
    uint16_t index;
    if (parser_take_mark(parser, "!")) {
        index = parser_new_parent_of_one(parser, EXPR_NOT, at, parse_unary(parser));
    } else {
        parser_advance(parser);
        index = parser_is_mark(parser, "-") || parser_is_mark(parser, "!")
                    ? parser_new_parent_of_one(parser, EXPR_NEGATE, at, parse_unary(parser))
                    : parse_negative(parser, at);
    }
    parser->depth--;
    return index;
}

/* ---- operators ---- */

static const struct {
    const char *text;
    uint8_t level; /* 0 binds tightest */
    uint8_t op;
} operators[] = {
    {"*", 0, OPERATOR_MULTIPLY},       {"/", 0, OPERATOR_DIVIDE},
    {"%", 0, OPERATOR_REMAINDER},      {"+", 1, OPERATOR_ADD},
    {"-", 1, OPERATOR_SUBTRACT},       {"==", 2, OPERATOR_EQUAL},
    {"!=", 2, OPERATOR_NOT_EQUAL},     {"<", 2, OPERATOR_LESS},
    {"<=", 2, OPERATOR_LESS_EQUAL},    {">", 2, OPERATOR_GREATER},
    {">=", 2, OPERATOR_GREATER_EQUAL},
};

static uint8_t operator_here(const struct expression_parser *parser, uint8_t level)
{
    if (level == 2 && parser_is_word(parser, "in"))
        return OPERATOR_IN;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (operators[i].level == level && parser_is_mark(parser, operators[i].text))
            return operators[i].op;
    }
    return OPERATOR_NONE;
}

static uint16_t parse_chain(struct expression_parser *parser, uint8_t level)
{
    struct parser_row row = {0};
    uint32_t at = parser->token.at;
    uint8_t op = OPERATOR_NONE;
    uint32_t op_at = at;
    do {
        uint16_t operand =
            level > 0 ? parse_chain(parser, (uint8_t)(level - 1)) : parse_unary(parser);
        if (operand != 0) {
            parser_node(parser, operand)->op = op;
            parser_node(parser, operand)->op_at = (uint16_t)op_at;
        }
        parser_add(parser, &row, operand);
        op = operator_here(parser, level);
        op_at = parser->token.at;
        if (op != OPERATOR_NONE)
            parser_advance(parser);
    } while (op != OPERATOR_NONE);
    return row.count > 1 ? parser_new_parent(parser, EXPR_CHAIN, at, &row) : row.first;
}

static uint16_t parse_and(struct expression_parser *parser)
{
    struct parser_row row = {0};
    uint32_t at = parser->token.at;
    do
        parser_add(parser, &row, parse_chain(parser, 2));
    while (parser_take_mark(parser, "&&"));
    return row.count > 1 ? parser_new_parent(parser, EXPR_AND, at, &row) : row.first;
}

static uint16_t parse_or(struct expression_parser *parser)
{
    struct parser_row row = {0};
    uint32_t at = parser->token.at;
    do
        parser_add(parser, &row, parse_and(parser));
    while (parser_take_mark(parser, "||"));
    return row.count > 1 ? parser_new_parent(parser, EXPR_OR, at, &row) : row.first;
}

/* a ? b : c ? d : e is one node of five children. */
uint16_t parse_expression(struct expression_parser *parser)
{
    struct parser_row row = {0};
    uint32_t at = parser->token.at;
    if (!enter(parser))
        return 0;
    parser_add(parser, &row, parse_or(parser));
    while (parser_take_mark(parser, "?")) {
        parser_add(parser, &row, parse_expression(parser));
        parser_expect_mark(parser, ":");
        parser_add(parser, &row, parse_or(parser));
    }
    parser->depth--;
    return row.count > 1 ? parser_new_parent(parser, EXPR_CONDITION, at, &row) : row.first;
}

/* ---- the whole ---- */

/* What stands behind a whole expression. */
static void check_end(struct expression_parser *parser)
{
    const struct token *token = &parser->token;
    const char *cure =
        token->kind == TOKEN_NAME ? expression_operator_word_cure(token->text) : NULL;
    if (parser->failed || token->kind == TOKEN_END)
        return;
    if (cure != NULL)
        parser_fail(parser, token->at, cure);
    else if (parser_is_mark(parser, ","))
        parser_fail(parser, token->at,
                    "a comma stands between arguments and elements only: write 1000 for 1,000");
    else if (parser_is_mark(parser, ":"))
        parser_fail(parser, token->at, "there is no ? before this colon: write a ? b : c");
    else if (parser_is_mark(parser, ")") || parser_is_mark(parser, "]") ||
             parser_is_mark(parser, "}"))
        parser_fail(parser, token->at, "this bracket was not opened: remove it");
    else if (parser->draft->problems->errors == 0 &&
             !expression_report_blank(parser->draft, token->at, token->end))
        parser_fail_expected(parser, "an operator, or its end");
    parser->failed = true; /* behind an unknown name, it is not a mistake of its own */
}

/* Nodes below this one on the longest path; the parser's own depth bounds the recursion. */
static uint32_t depth_of(const struct expression_draft *draft, uint16_t index)
{
    uint32_t depth = 0;
    for (uint16_t at = draft->nodes[index].first; at != 0; at = draft->nodes[at].next) {
        uint32_t below = depth_of(draft, at) + 1;
        depth = below > depth ? below : depth;
    }
    return depth;
}

bool expression_parse(struct expression_draft *draft)
{
    struct expression_parser parser = {
        .draft = draft,
        .lexer = {.source = draft->source, .arena = draft->arena, .problems = draft->problems},
    };
    draft->node_count = 1;
    draft->slot_count = 0;
    parser_advance(&parser);
    if (parser.token.kind == TOKEN_END)
        parser_fail(&parser, 0, "there is no expression: write one, as in input.amount > 100");
    uint16_t root = parse_expression(&parser);
    check_end(&parser);
    if (parser.failed)
        return false;
    draft->nodes[0] = draft->nodes[root];
    if (depth_of(draft, 0) > EXPRESSION_DEPTH_MAX)
        parser_fail(&parser, 0, TOO_DEEP);
    return draft->problems->errors == 0;
}
