/* SPDX-License-Identifier: Apache-2.0 */
/* Text -> the tokens of expressions. See expression_lexer.h. What CEL has and expressions do not
 * is recognized here where a token shows it, so that the message can name it. */
#include "workflow/expression_lexer.h"

#include "base/numbers.h"
#include "base/real.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void expression_report(struct expression_problems *problems, enum workflow_severity severity,
                       uint32_t at, const char *format, ...)
{
    if (severity == WORKFLOW_ERROR)
        problems->errors++;
    if (problems->count == EXPRESSION_PROBLEMS_MAX)
        return;
    uint32_t place = problems->count++;
    for (; place > 0 && problems->items[place - 1].at > at; place--)
        problems->items[place] = problems->items[place - 1];
    struct expression_problem *problem = &problems->items[place];
    *problem = (struct expression_problem){.severity = severity, .at = at};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The character `ahead` bytes on, or NUL at the end: no text has one. */
static char look(const struct lexer *lexer, uint32_t ahead)
{
    return ahead < lexer->source.size - lexer->at ? lexer->source.data[lexer->at + ahead] : '\0';
}

static void refuse(struct lexer *lexer, struct token *token, uint32_t at, const char *what)
{
    expression_report(lexer->problems, WORKFLOW_ERROR, at, "%s", what);
    token->kind = TOKEN_ERROR;
}

/* ---- numbers ---- */

static uint32_t count_digits(const struct lexer *lexer, uint32_t ahead)
{
    uint32_t count = 0;
    while (number_is_digit(look(lexer, ahead + count)))
        count++;
    return count;
}

static void take_hex(struct lexer *lexer, struct token *token)
{
    struct text digits = text_from(lexer->source, lexer->at + 2);
    uint32_t before = digits.size;
    token->kind = TOKEN_INT;
    if (!number_take_hex(&digits, &token->whole))
        refuse(lexer, token, token->at, "a number must fit into 64 bits, with its sign");
    lexer->at += 2 + before - digits.size;
}

static void take_whole(struct lexer *lexer, struct token *token, uint32_t size)
{
    struct text digits = {lexer->source.data + lexer->at, size};
    token->kind = TOKEN_INT;
    if (!number_take(&digits, (uint64_t)INT64_MAX + 1, &token->whole))
        refuse(lexer, token, token->at,
               "a whole number must fit into 64 bits, with its sign: write .0 at its end");
    lexer->at += size;
}

static void take_real(struct lexer *lexer, struct token *token, uint32_t size)
{
    struct text digits = {lexer->source.data + lexer->at, size};
    bool finite;
    while (digits.size > 1 && digits.data[0] == '0' && number_is_digit(digits.data[1]))
        digits = text_from(digits, 1);
    token->kind = TOKEN_REAL;
    if (!real_parse(digits, &token->real, &finite))
        refuse(lexer, token, token->at, "a number must be below 1.8e308");
    lexer->at += size;
}

static void take_number(struct lexer *lexer, struct token *token)
{
    bool hex = look(lexer, 0) == '0' && (look(lexer, 1) | 0x20) == 'x';
    uint32_t whole = count_digits(lexer, 0), size = whole;
    if (look(lexer, size) == '.' && number_is_digit(look(lexer, size + 1)))
        size += 1 + count_digits(lexer, size + 1);
    if ((look(lexer, size) | 0x20) == 'e') {
        uint32_t sign = look(lexer, size + 1) == '+' || look(lexer, size + 1) == '-';
        uint32_t exponent = count_digits(lexer, size + 1 + sign);
        size += exponent > 0 ? 1 + sign + exponent : 0;
    }
    if (hex && number_hex_digit(look(lexer, 2)) >= 0)
        take_hex(lexer, token);
    else if (size == whole)
        take_whole(lexer, token, size);
    else
        take_real(lexer, token, size);
    if (token->kind == TOKEN_ERROR)
        return;
    if ((look(lexer, 0) | 0x20) == 'u')
        refuse(lexer, token, lexer->at, "there are no unsigned numbers: leave out the u");
    else if (begins_name(look(lexer, 0)) || number_is_digit(look(lexer, 0)))
        refuse(lexer, token, lexer->at, "a number ends before this letter: an operator is missing");
}

/* ---- texts ---- */

static uint32_t put_character(char *at, uint32_t code)
{
    if (code < 0x80) {
        at[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        at[0] = (char)(0xc0 | code >> 6);
        at[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        at[0] = (char)(0xe0 | code >> 12);
        at[1] = (char)(0x80 | (code >> 6 & 0x3f));
        at[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | code >> 18);
    at[1] = (char)(0x80 | (code >> 12 & 0x3f));
    at[2] = (char)(0x80 | (code >> 6 & 0x3f));
    at[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The four digits of \uXXXX, whose backslash is `ahead` bytes on; UINT32_MAX: it is none. */
static uint32_t hex_escape(const struct lexer *lexer, uint32_t ahead)
{
    uint32_t code = 0;
    if (look(lexer, ahead) != '\\' || look(lexer, ahead + 1) != 'u')
        return UINT32_MAX;
    for (uint32_t i = 2; i < 6; i++) {
        int digit = number_hex_digit(look(lexer, ahead + i));
        if (digit < 0)
            return UINT32_MAX;
        code = code << 4 | (uint32_t)digit;
    }
    return code;
}

/* Writes what the escape at the lexer stands for, and goes behind it; 0: a problem is reported. No
 * escape stands for more bytes than it has. */
static uint32_t take_escape(struct lexer *lexer, struct token *token, char *to)
{
    static const char escapes[] = "\\'\"nrt/";
    static const char meanings[] = "\\'\"\n\r\t/";
    char c = look(lexer, 1);
    const char *found = c != '\0' ? memchr(escapes, c, sizeof(escapes) - 1) : NULL;
    uint32_t code = hex_escape(lexer, 0);
    if (found != NULL) {
        lexer->at += 2;
        to[0] = meanings[found - escapes];
        return 1;
    }
    if (code == UINT32_MAX) {
        refuse(lexer, token, lexer->at, "escapes are \\\\ \\' \\\" \\n \\r \\t \\/ and \\uXXXX");
        return 0;
    }
    uint32_t size = 6;
    uint32_t low = code >= 0xd800 && code < 0xdc00 ? hex_escape(lexer, 6) : UINT32_MAX;
    if (low != UINT32_MAX && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        size = 12;
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
        refuse(lexer, token, lexer->at,
               code == 0 ? "a text cannot have a NUL"
                         : "half of a surrogate pair is not a character");
        return 0;
    }
    lexer->at += size;
    return put_character(to, code);
}

uint32_t lexer_skip_text(struct text source, uint32_t at)
{
    char quote = source.data[at++];
    while (at < source.size && source.data[at] != quote)
        at += source.data[at] == '\\' && at + 1 < source.size ? 2 : 1;
    return at < source.size ? at + 1 : source.size;
}

static void take_text(struct lexer *lexer, struct token *token)
{
    char quote = look(lexer, 0);
    if (look(lexer, 1) == quote && look(lexer, 2) == quote) {
        refuse(lexer, token, token->at, "there are no texts in three quotes: write one");
        return;
    }
    uint32_t end = lexer_skip_text(lexer->source, lexer->at);
    char *to = arena_bytes(lexer->arena, end - lexer->at);
    uint32_t size = 0;
    lexer->at++;
    while (look(lexer, 0) != quote) {
        char c = look(lexer, 0);
        if (c == '\\') {
            uint32_t more = take_escape(lexer, token, to + size);
            if (more == 0)
                return;
            size += more;
        } else if (c == '\0' || c == '\n' || c == '\r') {
            refuse(lexer, token, token->at,
                   c == '\0'
                       ? "the text that begins here does not end: close it; if it has a #, put "
                         "the whole expression in quotes"
                       : "a text stands in one line: write \\n for a new one");
            return;
        } else {
            to[size++] = c;
            lexer->at++;
        }
    }
    lexer->at++;
    token->kind = TOKEN_TEXT;
    token->text = (struct text){to, size};
}

/* ---- the rest ---- */

static void take_name(struct lexer *lexer, struct token *token)
{
    uint32_t size = 0;
    while (begins_name(look(lexer, size)) || number_is_digit(look(lexer, size)))
        size++;
    token->kind = TOKEN_NAME;
    token->text = (struct text){lexer->source.data + lexer->at, size};
    lexer->at += size;
    char quote = look(lexer, 0);
    if (size > 2 || (quote != '\'' && quote != '"'))
        return;
    char before = token->at > 0 ? lexer->source.data[token->at - 1] : ' ';
    refuse(lexer, token, token->at,
           before == quote
               ? "a text ends before this letter: write \\ before a quote within a text"
               : "there are no raw texts and no bytes: leave out the letter before the quote");
}

static const struct {
    const char *text;
    const char *cure; /* NULL: it is one of ours */
} marks[] = {
    /* The longer of two that begin alike comes first. */
    {"===", "write == to compare"},
    {"!==", "write != to compare"},
    {"&&", NULL},
    {"||", NULL},
    {"==", NULL},
    {"!=", NULL},
    {"<>", "write != to compare"},
    {"=>", "write >= to compare"},
    {"=<", "write <= to compare"},
    {"=~", "there are no regular expressions: see startsWith, endsWith and contains"},
    {"->", "there are no functions of your own: write l.all(x, x > 0) or another macro"},
    {"**", "there are no powers: write x * x"},
    {"++", "values do not change: write x + 1"},
    {"<<", "there are no operators on bits: write x * 2"},
    {">>", "there are no operators on bits: write int(x / 2)"},
    {"??", "there is no ??: write has(x.y) ? x.y : ..."},
    {"{{", "leave out {{ }}: a field is an expression, and text has it in ${ }"},
    {"{%", "leave out {% %}: a field is an expression, and text has it in ${ }"},
    {"$.", "there are no paths with $: write input.x or output.STEP.x"},
    {"<=", NULL},
    {">=", NULL},
    {"//", "there are no comments in expressions: write them behind a # in YAML"},
    {"${", "leave out ${ }: the whole field is an expression"},
    {"$", "names have no $: write input.x or output.STEP.x"},
    {".?", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"?.", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"[?", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"&", "write && for and"},
    {"|", "write || for or"},
    {"=", "write == to compare"},
    {"`", "write x['name'] for a name with other characters than letters, digits and _"},
    {"^", "there are no powers, and no operators on bits: write x * x"},
    {"~", "there are no operators on bits: write ! for not"},
    {";", "an expression has no ;: leave it out"},
    {"\u201c", "write ' around a text"},
    {"\u201d", "write ' around a text"},
    {"\u2018", "write ' around a text"},
    {"\u2019", "write ' around a text"},
};

static void take_mark(struct lexer *lexer, struct token *token)
{
    struct text rest = text_from(lexer->source, lexer->at);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct text mark = text_of(marks[i].text);
        if (rest.size < mark.size || memcmp(rest.data, mark.data, mark.size) != 0)
            continue;
        if (marks[i].cure != NULL) {
            bool leads = token->at == 0 && mark.data[0] == '=';
            refuse(lexer, token, token->at,
                   leads ? "an expression has no = at its beginning: leave it out" : marks[i].cure);
            return;
        }
        token->kind = TOKEN_MARK;
        token->text = (struct text){rest.data, mark.size};
        lexer->at += mark.size;
        return;
    }
    if (rest.data[0] == '\0' || strchr("()[]{}.,:?!-+*/%<>", rest.data[0]) == NULL) {
        uint32_t size = utf8_character_size((const uint8_t *)rest.data, rest.size);
        struct text shown = {rest.data, size};
        expression_report(lexer->problems, WORKFLOW_ERROR, token->at,
                          "an expression cannot have %.*s here", TEXT_ARG(shown));
        token->kind = TOKEN_ERROR;
        return;
    }
    token->kind = TOKEN_MARK;
    token->text = (struct text){rest.data, 1};
    lexer->at++;
}

void lexer_next(struct lexer *lexer, struct token *ret_token)
{
    while (look(lexer, 0) != '\0' && strchr(" \t\n\r\f", look(lexer, 0)) != NULL)
        lexer->at++;
    char c = look(lexer, 0);
    *ret_token = (struct token){.kind = TOKEN_END, .at = lexer->at};
    if (lexer->at == lexer->source.size) {
        ret_token->end = lexer->at;
        return;
    }
    if (number_is_digit(c))
        take_number(lexer, ret_token);
    else if (c == '\'' || c == '"')
        take_text(lexer, ret_token);
    else if (begins_name(c))
        take_name(lexer, ret_token);
    else
        take_mark(lexer, ret_token);
    ret_token->end = lexer->at;
}
