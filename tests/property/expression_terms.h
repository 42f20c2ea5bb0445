/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions as trees: printed, and evaluated by a second implementation of the rules,
 * which shares nothing with engine/expression. */
#ifndef TESTS_PROPERTY_EXPRESSION_TERMS_H
#define TESTS_PROPERTY_EXPRESSION_TERMS_H

#include "base/text.h"

enum {
    TEXT_SIZE = 8192,
    TERMS_MAX = 256,
    LIST_MAX = 3,
    LETTERS_SIZE = 160,
    ITEMS_MAX = 16, /* of a list, and lists may have lists */
};

enum kind { ERROR_FOUND, BOOLEAN, WHOLE, REAL, LETTERS, LIST };

struct items;

struct result {
    enum kind kind;
    int64_t whole; /* also of BOOLEAN */
    double real;
    char letters[LETTERS_SIZE];
    const struct items *items;
};

struct items {
    uint32_t count;
    const struct result *of[ITEMS_MAX];
};

enum term_kind {
    TERM_LEAF,
    TERM_VARIABLE,
    TERM_NOT,
    TERM_NEGATE,
    TERM_AND,
    TERM_OR,
    TERM_CHOOSE,
    TERM_BINARY,
    TERM_ALL,
    TERM_EXISTS,
    TERM_EXISTS_ONE,
    TERM_FILTER,
    TERM_MAP,
    TERM_IN,
    TERM_IN_LIST,
    TERM_LIST,
    TERM_ELEMENT,
    TERM_CALL,  /* text: size, int, double */
    TERM_METHOD /* text: contains, sum ... */
};

struct term {
    enum term_kind kind;
    const char *text; /* of a leaf or an operator */
    struct result leaf;
    int level; /* of a binary operator: 0 binds tightest */
    struct term *of[LIST_MAX];
    uint32_t count;
};

struct making {
    uint64_t random; /* not 0 */
    struct term terms[TERMS_MAX];
    uint32_t count;
    bool variable; /* there is one here */
};

uint32_t terms_roll(struct making *making, uint32_t choices);
/* Lives as long as `making`. */
const struct term *terms_draw(struct making *making);

struct printed {
    char text[TEXT_SIZE];
    size_t size;
};

void terms_print(const struct term *term, struct printed *ret_printed);

/* What expressions see as `input`. */
extern const char terms_input[];
/* Borrowed until the next call. False: it takes more than there is room for here. */
bool terms_evaluate(const struct term *term, struct result *ret_result);

#endif
