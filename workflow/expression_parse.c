/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens -> nodes, by recursive descent. See engine/expression/expression.h for the nodes and
 * docs/use/expressions.md for the grammar.
 *
 * The first mistake of syntax ends the work; a name that is not known is reported, and the work
 * goes on. Recursion is bounded by EXPRESSION_DEPTH_MAX brackets, everything else by the size of
 * the text. */
#include "workflow/expression_parse.h"

#include <assert.h>
#include <stdio.h>

struct parser {
    struct expression_draft *draft;
    struct lexer lexer;
    struct token token; /* the one that is looked at */
    bool failed;
    uint32_t depth; /* brackets and signs around it */
    struct text variables[EXPRESSION_DEPTH_MAX];
    uint32_t variable_count;
};

/* Nodes in a row below one. */
struct row {
    uint16_t first;
    uint16_t last;
    uint16_t count;
};

static uint16_t parse_expression(struct parser *parser);

/* ---- tokens and nodes ---- */

static void advance(struct parser *parser)
{
    lexer_next(&parser->lexer, &parser->token);
    if (parser->token.kind == TOKEN_ERROR)
        parser->failed = true;
}

/* The first mistake only: what follows it would be about another text. */
static void fail(struct parser *parser, uint32_t at, const char *what)
{
    if (!parser->failed)
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at, "%s", what);
    parser->failed = true;
}

static bool is_mark(const struct parser *parser, const char *mark)
{
    return !parser->failed && parser->token.kind == TOKEN_MARK &&
           text_equal(parser->token.text, text_of(mark));
}

static bool is_word(const struct parser *parser, const char *word)
{
    return !parser->failed && parser->token.kind == TOKEN_NAME &&
           text_equal(parser->token.text, text_of(word));
}

static bool take_mark(struct parser *parser, const char *mark)
{
    if (!is_mark(parser, mark))
        return false;
    advance(parser);
    return true;
}

/* What the token is, to be read after "before" or "not". */
static void fail_expected(struct parser *parser, const char *expected)
{
    char what[160];
    const struct token *token = &parser->token;
    struct text found = {parser->draft->source.data + token->at, token->end - token->at};
    if (token->kind == TOKEN_END)
        snprintf(what, sizeof(what), "the expression ends where it needs %s", expected);
    else
        snprintf(what, sizeof(what), "%.*s stands where it needs %s", QUOTE_ARG(found), expected);
    fail(parser, token->at, what);
}

static void expect_mark(struct parser *parser, const char *mark)
{
    if (!take_mark(parser, mark))
        fail_expected(parser, mark);
}

static struct expression_node *node_of(struct parser *parser, uint16_t index)
{
    assert(index < EXPRESSION_NODES_MAX);
    return &parser->draft->nodes[index];
}

/* 0 once anything has failed. */
static uint16_t new_node(struct parser *parser, enum expression_node_kind kind, uint32_t at)
{
    struct expression_draft *draft = parser->draft;
    if (draft->node_count == EXPRESSION_NODES_MAX)
        fail(parser, at, "an expression has at most 512 values and operators");
    if (parser->failed)
        return 0;
    uint16_t index = draft->node_count++;
    draft->nodes[index] = (struct expression_node){.kind = (uint8_t)kind, .at = (uint16_t)at};
    return index;
}

static void row_add(struct parser *parser, struct row *row, uint16_t index)
{
    if (parser->failed)
        return;
    assert(index != 0);
    if (row->last != 0)
        node_of(parser, row->last)->next = index;
    else
        row->first = index;
    row->last = index;
    row->count++;
}

static uint16_t new_parent(struct parser *parser, enum expression_node_kind kind, uint32_t at,
                           const struct row *children)
{
    uint16_t index = new_node(parser, kind, at);
    if (index != 0) {
        node_of(parser, index)->first = children->first;
        node_of(parser, index)->count = children->count;
    }
    return index;
}

static uint16_t new_parent_of_one(struct parser *parser, enum expression_node_kind kind,
                                  uint32_t at, uint16_t child)
{
    struct row row = {0};
    row_add(parser, &row, child);
    return new_parent(parser, kind, at, &row);
}

static bool enter(struct parser *parser)
{
    /* The expression itself is not within anything. */
    if (parser->depth == EXPRESSION_DEPTH_MAX + 1)
        fail(parser, parser->token.at, "an expression is nested at most 32 deep");
    parser->depth++;
    return !parser->failed;
}

/* ---- lists and maps ---- */

/* After its first bracket, to its last: expressions with commas between them. */
static struct row parse_expressions(struct parser *parser, const char *close)
{
    struct row row = {0};
    if (take_mark(parser, close))
        return row;
    do {
        if (is_mark(parser, close))
            fail(parser, parser->token.at, "a comma stands before the closing bracket: remove it");
        row_add(parser, &row, parse_expression(parser));
    } while (take_mark(parser, ","));
    expect_mark(parser, close);
    return row;
}

static uint16_t parse_entry(struct parser *parser)
{
    struct token key = parser->token;
    if (key.kind != TOKEN_TEXT) {
        fail_expected(parser, is_mark(parser, "}") ? "a name: remove the comma before it"
                                                   : "a name in quotes");
        return 0;
    }
    advance(parser);
    expect_mark(parser, ":");
    uint16_t entry = new_parent_of_one(parser, EXPR_ENTRY, key.at, parse_expression(parser));
    if (entry != 0)
        node_of(parser, entry)->text = key.text;
    return entry;
}

/* Puts the entry at its place among those that are sorted by name. */
static void insert_entry(struct parser *parser, struct row *row, uint16_t entry)
{
    uint16_t before = 0;
    struct text name = node_of(parser, entry)->text;
    for (uint16_t at = row->first; at != 0; at = node_of(parser, at)->next) {
        int order = text_compare(node_of(parser, at)->text, name);
        if (order == 0)
            fail(parser, node_of(parser, entry)->at, "this name is already in the map");
        if (order >= 0)
            break;
        before = at;
    }
    uint16_t *link = before != 0 ? &node_of(parser, before)->next : &row->first;
    node_of(parser, entry)->next = *link;
    *link = entry;
    row->count++;
}

/* After "{". */
static uint16_t parse_map(struct parser *parser, uint32_t at)
{
    struct row row = {0};
    if (!take_mark(parser, "}")) {
        do {
            uint16_t entry = parse_entry(parser);
            if (entry != 0)
                insert_entry(parser, &row, entry);
        } while (take_mark(parser, ","));
        expect_mark(parser, "}");
    }
    return new_parent(parser, EXPR_MAP, at, &row);
}

/* ---- names ---- */

/* .NAME or ['NAME'] behind a name that does not stand alone: its token. */
static struct token parse_member_name(struct parser *parser, enum expression_name name, uint32_t at)
{
    struct token member = {0};
    if (take_mark(parser, ".")) {
        member = parser->token;
        if (member.kind != TOKEN_NAME)
            fail_expected(parser, "a name");
        advance(parser);
    } else if (take_mark(parser, "[")) {
        member = parser->token;
        if (member.kind != TOKEN_TEXT)
            fail_expected(parser, "a name in quotes");
        advance(parser);
        expect_mark(parser, "]");
    } else {
        fail(parser, at,
             name == NAME_OUTPUT  ? "output does not stand alone: write output.STEP"
             : name == NAME_ERROR ? "error does not stand alone: write error.STEP"
                                  : "order does not stand alone: write order.id or its like");
    }
    return member;
}

/* output.STEP, error.STEP or order.MEMBER, after the name. */
static uint16_t parse_compound(struct parser *parser, enum expression_name name, uint32_t at)
{
    struct token member = parse_member_name(parser, name, at);
    uint16_t index = new_node(parser, EXPR_NAME, name == NAME_ORDER ? at : member.at);
    if (index == 0)
        return 0;
    struct expression_node *node = node_of(parser, index);
    node->code = (uint8_t)name;
    node->text = arena_text(parser->draft->arena, member.text);
    if (name == NAME_ORDER)
        expression_find_order_member(parser->draft, member.at, member.text, &node->index);
    else
        expression_find_step(parser->draft, member.at, name, member.text, &node->index);
    return index;
}

static void check_allowed(struct parser *parser, enum expression_name name, uint32_t at)
{
    static const char *const places[] = {
#define EXPRESSION_NAME(constant, text, places) places,
#include "engine/expression/names.def"
    };
    struct text text = expression_name_text(name);
    if ((parser->draft->names->allowed & UINT32_C(1) << name) != 0)
        return;
    if (places[name][0] != '\0')
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at,
                          "%.*s is not known here: it stands in %s", TEXT_ARG(text), places[name]);
    else
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at, "%.*s is not known here",
                          TEXT_ARG(text));
}

static uint16_t parse_name(struct parser *parser, const struct token *token)
{
    enum expression_name name;
    for (uint32_t slot = parser->variable_count; slot-- > 0;) {
        if (!text_equal(parser->variables[slot], token->text))
            continue;
        uint16_t index = new_node(parser, EXPR_VARIABLE, token->at);
        node_of(parser, index)->index = (uint16_t)slot;
        node_of(parser, index)->text = parser->variables[slot];
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
    uint16_t index = new_node(parser, EXPR_NAME, token->at);
    node_of(parser, index)->code = (uint8_t)name;
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
static uint16_t parse_has(struct parser *parser, uint32_t at)
{
    static const char expected[] = "has() takes a member, as in has(input.gift)";
    uint16_t child = parse_expression(parser);
    expect_mark(parser, ")");
    if (parser->failed)
        return 0;
    struct expression_node *node = node_of(parser, child);
    bool step = node->kind == EXPR_NAME && (node->code == NAME_OUTPUT || node->code == NAME_ERROR);
    if (step) {
        node->kind = EXPR_HAS_STEP;
        return child;
    }
    if (node->kind == EXPR_NAME && node->code == NAME_ORDER)
        fail(parser, at, "each order has all members of order: compare with ''");
    uint16_t last = node->kind == EXPR_PATH ? node->first : 0;
    while (last != 0 && node_of(parser, last)->next != 0)
        last = node_of(parser, last)->next;
    if (last == 0 || node_of(parser, last)->kind != EXPR_MEMBER)
        fail(parser, at, expected);
    return new_parent_of_one(parser, EXPR_HAS, at, child);
}

static void check_arguments(struct parser *parser, const struct token *name, uint32_t expected,
                            uint32_t found)
{
    if (expected != found)
        expression_report(parser->draft->problems, WORKFLOW_ERROR, name->at,
                          "%.*s() takes %u argument%s here, not %u", TEXT_ARG(name->text), expected,
                          expected == 1 ? "" : "s", found);
}

/* NAME(...), after the first bracket. */
static uint16_t parse_function(struct parser *parser, const struct token *name)
{
    enum expression_function function = FUNCTION_SIZE;
    if (text_equal(name->text, TEXT("has")))
        return parse_has(parser, name->at);
    struct row row = parse_expressions(parser, ")");
    if (parser->failed)
        return 0;
    if (!expression_find_function(name->text, &function) ||
        signatures[function].form == FORM_METHOD || signatures[function].form == FORM_MACRO)
        expression_report_function(parser->draft, name->at, name->text, false);
    else
        check_arguments(parser, name, 1, row.count);
    uint16_t index = new_parent(parser, EXPR_CALL, name->at, &row);
    if (index != 0)
        node_of(parser, index)->code = (uint8_t)function;
    return index;
}

/* Reads "x, e" of l.all(x, e) after the first bracket, up to the last one. */
static void parse_macro(struct parser *parser, struct row *row, uint16_t *ret_slot)
{
    struct token variable = parser->token;
    enum expression_name name;
    *ret_slot = (uint16_t)parser->variable_count;
    advance(parser);
    if (variable.kind != TOKEN_NAME || !is_mark(parser, ",")) {
        fail(parser, variable.at,
             "a macro begins with the name that an element gets: l.all(x, x > 0)");
        return;
    }
    if (expression_find_name(variable.text, &name) || text_equal(variable.text, TEXT("in")))
        fail(parser, variable.at, "this name has a meaning already: take another one");
    if (parser->variable_count == EXPRESSION_DEPTH_MAX)
        fail(parser, variable.at, "macros are nested at most 32 deep");
    if (parser->failed)
        return;
    advance(parser);
    parser->variables[parser->variable_count++] = arena_text(parser->draft->arena, variable.text);
    if (parser->draft->slot_count < parser->variable_count)
        parser->draft->slot_count = (uint16_t)parser->variable_count;
    row_add(parser, row, parse_expression(parser));
    parser->variable_count--;
    if (is_mark(parser, ","))
        fail(parser, parser->token.at,
             "a macro takes one name and one expression: there is no third argument");
    expect_mark(parser, ")");
}

/* target.NAME(...), after the first bracket. */
static uint16_t parse_method(struct parser *parser, uint16_t target, const struct token *name)
{
    enum expression_function function = FUNCTION_SIZE;
    struct row row = {0};
    uint16_t slot = 0;
    row_add(parser, &row, target);
    bool known = expression_find_function(name->text, &function) &&
                 signatures[function].form != FORM_FUNCTION;
    bool macro = known && signatures[function].form == FORM_MACRO;
    if (macro) {
        parse_macro(parser, &row, &slot);
    } else {
        struct row arguments = parse_expressions(parser, ")");
        if (!known)
            expression_report_function(parser->draft, name->at, name->text, true);
        else
            check_arguments(parser, name, signatures[function].arguments, arguments.count);
        if (target != 0 && arguments.first != 0)
            node_of(parser, target)->next = arguments.first;
        row.count = (uint16_t)(row.count + arguments.count);
    }
    uint16_t index = new_parent(parser, macro ? EXPR_MACRO : EXPR_CALL, name->at, &row);
    if (index != 0) {
        node_of(parser, index)->code = (uint8_t)function;
        node_of(parser, index)->index = slot;
    }
    return index;
}

/* ---- from the inside out ---- */

static uint16_t parse_literal(struct parser *parser)
{
    struct token token = parser->token;
    uint16_t index = 0;
    if (token.kind == TOKEN_INT && token.whole > INT64_MAX)
        fail(parser, token.at,
             "a whole number must fit into 64 bits, with its sign: write .0 at its end");
    if (token.kind == TOKEN_INT && (index = new_node(parser, EXPR_INT, token.at)) != 0)
        node_of(parser, index)->whole = (int64_t)token.whole;
    if (token.kind == TOKEN_REAL && (index = new_node(parser, EXPR_REAL, token.at)) != 0)
        node_of(parser, index)->real = token.real;
    if (token.kind == TOKEN_TEXT && (index = new_node(parser, EXPR_TEXT, token.at)) != 0)
        node_of(parser, index)->text = token.text;
    advance(parser);
    return index;
}

static uint16_t parse_word(struct parser *parser)
{
    struct token token = parser->token;
    bool yes = is_word(parser, "true");
    if (yes || is_word(parser, "false")) {
        advance(parser);
        uint16_t index = new_node(parser, EXPR_BOOL, token.at);
        node_of(parser, index)->whole = yes;
        return index;
    }
    if (is_word(parser, "null")) {
        advance(parser);
        return new_node(parser, EXPR_NULL, token.at);
    }
    if (is_word(parser, "in")) {
        fail_expected(parser, "a value");
        return 0;
    }
    advance(parser);
    return take_mark(parser, "(") ? parse_function(parser, &token) : parse_name(parser, &token);
}

static uint16_t parse_primary(struct parser *parser)
{
    uint32_t at = parser->token.at;
    if (parser->failed)
        return 0;
    if (parser->token.kind == TOKEN_NAME)
        return parse_word(parser);
    if (parser->token.kind != TOKEN_MARK && parser->token.kind != TOKEN_END)
        return parse_literal(parser);
    if (take_mark(parser, "(")) {
        uint16_t index = parse_expression(parser);
        expect_mark(parser, ")");
        return index;
    }
    if (take_mark(parser, "[")) {
        struct row row = parse_expressions(parser, "]");
        return new_parent(parser, EXPR_LIST, at, &row);
    }
    if (take_mark(parser, "{"))
        return parse_map(parser, at);
    if (is_mark(parser, "."))
        fail(parser, at, "write a 0 before the point of a number, a name before that of a member");
    fail_expected(parser, "a value");
    return 0;
}

/* [Expr] behind a value, after the first bracket: a member if it is a text. */
static uint16_t parse_element(struct parser *parser, uint32_t at)
{
    uint16_t child = parse_expression(parser);
    expect_mark(parser, "]");
    if (parser->failed)
        return 0;
    if (node_of(parser, child)->kind == EXPR_TEXT) {
        node_of(parser, child)->kind = EXPR_MEMBER;
        return child;
    }
    return new_parent_of_one(parser, EXPR_ELEMENT, at, child);
}

/* .NAME, after the dot, or a call; *row is the path so far. */
static void parse_member(struct parser *parser, struct row *row)
{
    struct token name = parser->token;
    if (name.kind != TOKEN_NAME) {
        fail_expected(parser, "a name: write x['a b'] for one with other characters");
        return;
    }
    advance(parser);
    if (take_mark(parser, "(")) {
        uint16_t target = row->count > 1
                              ? new_parent(parser, EXPR_PATH, node_of(parser, row->first)->at, row)
                              : row->first;
        struct row called = {0};
        row_add(parser, &called, parse_method(parser, target, &name));
        *row = called;
        return;
    }
    uint16_t member = new_node(parser, EXPR_MEMBER, name.at);
    if (member != 0)
        node_of(parser, member)->text = arena_text(parser->draft->arena, name.text);
    row_add(parser, row, member);
}

static uint16_t parse_postfix(struct parser *parser)
{
    struct row row = {0};
    uint32_t at = parser->token.at;
    row_add(parser, &row, parse_primary(parser));
    for (;;) {
        uint32_t bracket = parser->token.at;
        if (take_mark(parser, "."))
            parse_member(parser, &row);
        else if (take_mark(parser, "["))
            row_add(parser, &row, parse_element(parser, bracket));
        else
            break;
    }
    if (is_mark(parser, "{"))
        fail(parser, parser->token.at, "there are no messages: write a map, {'name': value}");
    return row.count > 1 ? new_parent(parser, EXPR_PATH, at, &row) : row.first;
}

/* -5 is a number, so that the least one can be written. */
static uint16_t parse_negative(struct parser *parser, uint32_t at)
{
    struct token token = parser->token;
    if (token.kind == TOKEN_INT)
        parser->token.whole = token.whole > INT64_MAX ? 0 : token.whole;
    uint16_t index = parse_postfix(parser);
    if (parser->failed || (token.kind != TOKEN_INT && token.kind != TOKEN_REAL) ||
        node_of(parser, index)->kind > EXPR_REAL)
        return parser->failed ? 0 : new_parent_of_one(parser, EXPR_NEGATE, at, index);
    struct expression_node *node = node_of(parser, index);
    node->at = (uint16_t)at;
    if (token.kind == TOKEN_REAL)
        node->real = -node->real;
    else
        node->whole = token.whole > INT64_MAX ? INT64_MIN : -node->whole;
    return index;
}

static uint16_t parse_unary(struct parser *parser)
{
    uint32_t at = parser->token.at;
    if (!is_mark(parser, "!") && !is_mark(parser, "-"))
        return parse_postfix(parser);
    if (!enter(parser))
        return 0;
    uint16_t index;
    if (take_mark(parser, "!")) {
        index = new_parent_of_one(parser, EXPR_NOT, at, parse_unary(parser));
    } else {
        advance(parser);
        index = is_mark(parser, "-") || is_mark(parser, "!")
                    ? new_parent_of_one(parser, EXPR_NEGATE, at, parse_unary(parser))
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

static uint8_t operator_here(const struct parser *parser, uint8_t level)
{
    if (level == 2 && is_word(parser, "in"))
        return OPERATOR_IN;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (operators[i].level == level && is_mark(parser, operators[i].text))
            return operators[i].op;
    }
    return OPERATOR_NONE;
}

static uint16_t parse_chain(struct parser *parser, uint8_t level)
{
    struct row row = {0};
    uint32_t at = parser->token.at;
    uint8_t op = OPERATOR_NONE;
    uint32_t op_at = at;
    do {
        uint16_t operand =
            level > 0 ? parse_chain(parser, (uint8_t)(level - 1)) : parse_unary(parser);
        if (operand != 0) {
            node_of(parser, operand)->op = op;
            node_of(parser, operand)->op_at = (uint16_t)op_at;
        }
        row_add(parser, &row, operand);
        op = operator_here(parser, level);
        op_at = parser->token.at;
        if (op != OPERATOR_NONE)
            advance(parser);
    } while (op != OPERATOR_NONE);
    return row.count > 1 ? new_parent(parser, EXPR_CHAIN, at, &row) : row.first;
}

static uint16_t parse_and(struct parser *parser)
{
    struct row row = {0};
    uint32_t at = parser->token.at;
    do
        row_add(parser, &row, parse_chain(parser, 2));
    while (take_mark(parser, "&&"));
    return row.count > 1 ? new_parent(parser, EXPR_AND, at, &row) : row.first;
}

static uint16_t parse_or(struct parser *parser)
{
    struct row row = {0};
    uint32_t at = parser->token.at;
    do
        row_add(parser, &row, parse_and(parser));
    while (take_mark(parser, "||"));
    return row.count > 1 ? new_parent(parser, EXPR_OR, at, &row) : row.first;
}

/* a ? b : c ? d : e is one node of five children. */
static uint16_t parse_expression(struct parser *parser)
{
    struct row row = {0};
    uint32_t at = parser->token.at;
    if (!enter(parser))
        return 0;
    row_add(parser, &row, parse_or(parser));
    while (take_mark(parser, "?")) {
        row_add(parser, &row, parse_expression(parser));
        expect_mark(parser, ":");
        row_add(parser, &row, parse_or(parser));
    }
    parser->depth--;
    return row.count > 1 ? new_parent(parser, EXPR_CONDITION, at, &row) : row.first;
}

/* ---- the whole ---- */

static void check_end(struct parser *parser)
{
    static const struct {
        const char *word;
        const char *cure;
    } words[] = {
        {"and", "write && for and"}, {"or", "write || for or"}, {"not", "write ! for not"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (is_word(parser, words[i].word))
            fail(parser, parser->token.at, words[i].cure);
    }
    if (parser->token.kind != TOKEN_END)
        fail_expected(parser, "an operator, or its end");
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
    struct parser parser = {
        .draft = draft,
        .lexer = {.source = draft->source, .arena = draft->arena, .problems = draft->problems},
    };
    draft->node_count = 1;
    draft->slot_count = 0;
    advance(&parser);
    if (parser.token.kind == TOKEN_END)
        fail(&parser, 0, "there is no expression");
    uint16_t root = parse_expression(&parser);
    check_end(&parser);
    if (parser.failed)
        return false;
    draft->nodes[0] = draft->nodes[root];
    if (depth_of(draft, 0) > EXPRESSION_DEPTH_MAX)
        fail(&parser, 0, "an expression is nested at most 32 deep");
    return draft->problems->errors == 0;
}
