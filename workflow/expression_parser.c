/* SPDX-License-Identifier: Apache-2.0 */
/* The token under way, and nodes. See expression_parser.h. */
#include "workflow/expression_parser.h"

#include <stdio.h>

void parser_advance(struct expression_parser *parser)
{
    lexer_next(&parser->lexer, &parser->token);
    if (parser->token.kind == TOKEN_ERROR)
        parser->failed = true;
}

void parser_fail(struct expression_parser *parser, uint32_t at, const char *what)
{
    if (!parser->failed)
        expression_report(parser->draft->problems, WORKFLOW_ERROR, at, "%s", what);
    parser->failed = true;
}

bool parser_is_mark(const struct expression_parser *parser, const char *mark)
{
    return !parser->failed && parser->token.kind == TOKEN_MARK &&
           text_equal(parser->token.text, text_of(mark));
}

bool parser_is_word(const struct expression_parser *parser, const char *word)
{
    return !parser->failed && parser->token.kind == TOKEN_NAME &&
           text_equal(parser->token.text, text_of(word));
}

bool parser_take_mark(struct expression_parser *parser, const char *mark)
{
    if (!parser_is_mark(parser, mark))
        return false;
    parser_advance(parser);
    return true;
}

/* What the token is, to be read after "before" or "not". */
void parser_fail_expected(struct expression_parser *parser, const char *expected)
{
    char what[EXPRESSION_PROBLEM_SIZE];
    const struct token *token = &parser->token;
    struct text found = {parser->draft->source.data + token->at, token->end - token->at};
    if (token->kind == TOKEN_END)
        snprintf(what, sizeof(what), "the expression ends where it needs %s", expected);
    else
        snprintf(what, sizeof(what), "%.*s stands where it needs %s", QUOTE_ARG(found), expected);
    parser_fail(parser, token->at, what);
}

void parser_expect_mark(struct expression_parser *parser, const char *mark)
{
    if (!parser_take_mark(parser, mark))
        parser_fail_expected(parser, mark);
}

uint16_t parser_new_node(struct expression_parser *parser, enum expression_node_kind kind,
                         uint32_t at)
{
    struct expression_draft *draft = parser->draft;
    if (draft->node_count == EXPRESSION_NODES_MAX)
        parser_fail(parser, at,
                    "an expression has at most 512 values and operators: let a Set before it "
                    "compute a part");
    if (parser->failed)
        return 0;
    uint16_t index = draft->node_count++;
    draft->nodes[index] = (struct expression_node){.kind = (uint8_t)kind, .at = (uint16_t)at};
    return index;
}

void parser_add(struct expression_parser *parser, struct parser_row *row, uint16_t index)
{
    if (parser->failed)
        return;
    assert(index != 0);
    if (row->last != 0)
        parser_node(parser, row->last)->next = index;
    else
        row->first = index;
    row->last = index;
    row->count++;
}

uint16_t parser_new_parent(struct expression_parser *parser, enum expression_node_kind kind,
                           uint32_t at, const struct parser_row *children)
{
    uint16_t index = parser_new_node(parser, kind, at);
    if (index != 0) {
        parser_node(parser, index)->first = children->first;
        parser_node(parser, index)->count = children->count;
    }
    return index;
}

uint16_t parser_new_parent_of_one(struct expression_parser *parser, enum expression_node_kind kind,
                                  uint32_t at, uint16_t child)
{
    struct parser_row row = {0};
    parser_add(parser, &row, child);
    return parser_new_parent(parser, kind, at, &row);
}
