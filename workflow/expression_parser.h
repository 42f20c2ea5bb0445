/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the parser of expressions share: the token under way, and nodes. Inside
 * workflow/expression_parse*.c and expression_parser.c only.
 *
 * Once anything has failed, no node is made and no token fits, so callers need not ask. */
#ifndef WORKFLOW_EXPRESSION_PARSER_H
#define WORKFLOW_EXPRESSION_PARSER_H

#include "workflow/expression_parse.h"

#include <assert.h>

struct expression_parser {
    struct expression_draft *draft;
    struct lexer lexer;
    struct token token; /* the one that is looked at */
    bool failed;
    uint32_t depth; /* brackets and signs around it */
    struct text variables[EXPRESSION_DEPTH_MAX];
    uint32_t variable_count;
};

/* Nodes in a row below one. */
struct parser_row {
    uint16_t first;
    uint16_t last;
    uint16_t count;
};

/* ---- tokens ---- */

void parser_advance(struct expression_parser *parser);
/* The first mistake only: what follows it would be about another text. */
void parser_fail(struct expression_parser *parser, uint32_t at, const char *what);
/* The token is something else than what is `expected`. */
void parser_fail_expected(struct expression_parser *parser, const char *expected);
bool parser_is_mark(const struct expression_parser *parser, const char *mark);
bool parser_is_word(const struct expression_parser *parser, const char *word);
bool parser_take_mark(struct expression_parser *parser, const char *mark);
void parser_expect_mark(struct expression_parser *parser, const char *mark);

/* ---- nodes ---- */

static inline struct expression_node *parser_node(struct expression_parser *parser, uint16_t index)
{
    assert(index < EXPRESSION_NODES_MAX);
    return &parser->draft->nodes[index];
}

/* 0 once anything has failed; so are those of all functions that give a node. */
uint16_t parser_new_node(struct expression_parser *parser, enum expression_node_kind kind,
                         uint32_t at);
void parser_add(struct expression_parser *parser, struct parser_row *row, uint16_t index);
uint16_t parser_new_parent(struct expression_parser *parser, enum expression_node_kind kind,
                           uint32_t at, const struct parser_row *children);
uint16_t parser_new_parent_of_one(struct expression_parser *parser, enum expression_node_kind kind,
                                  uint32_t at, uint16_t child);

/* ---- the grammar: expression_parse.c ---- */

uint16_t parse_expression(struct expression_parser *parser);
/* After its first bracket, to its last: expressions with commas between them. */
struct parser_row parse_expressions(struct expression_parser *parser, const char *close);

/* ---- names and calls: expression_parse_names.c ---- */

/* The token is a name, and was taken. */
uint16_t parse_name(struct expression_parser *parser, const struct token *token);
/* NAME(...), after the first bracket. */
uint16_t parse_function(struct expression_parser *parser, const struct token *name);
/* target.NAME(...), after the first bracket. */
uint16_t parse_method(struct expression_parser *parser, uint16_t target, const struct token *name);

#endif
