/* SPDX-License-Identifier: Apache-2.0 */
/* Text -> the tokens of expressions. Inside workflow/ only. */
#ifndef WORKFLOW_EXPRESSION_LEXER_H
#define WORKFLOW_EXPRESSION_LEXER_H

#include "workflow/expression.h"

enum token_kind {
    TOKEN_END,
    TOKEN_INT,  /* whole: without a sign, so -2^63 comes as 2^63 */
    TOKEN_REAL, /* real */
    TOKEN_TEXT, /* text, unescaped */
    TOKEN_NAME, /* text; true, false, null and in are names here */
    TOKEN_MARK, /* text: an operator or a bracket, one or two characters */
    TOKEN_ERROR /* a problem was reported */
};

struct token {
    enum token_kind kind;
    uint32_t at; /* byte in the source */
    uint32_t end;
    uint64_t whole;
    double real;
    struct text text;
};

struct lexer {
    struct text source;
    uint32_t at;
    struct arena *arena; /* for texts with escapes, and copies of texts */
    struct expression_problems *problems;
};

void lexer_next(struct lexer *lexer, struct token *ret_token);
/* Behind the text that begins at `at` with a quote; its end if it is not closed. */
uint32_t lexer_skip_text(struct text source, uint32_t at);

void expression_report(struct expression_problems *problems, enum workflow_severity severity,
                       uint32_t at, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
