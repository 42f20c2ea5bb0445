/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled form of an expression: what workflow/ makes of a text and engine/expression/
 * evaluates. docs/use/expressions.md is the users' reference.
 *
 * An expression is an array of nodes that refer to each other by index, wholly in its workflow's
 * arena; it never changes. Node 0 is the root. Operators of one level, and accessors, stand in a
 * row below one node ("a + b - c" has three children), so a path from the root to a leaf is no
 * longer than the brackets of the text are deep: at most EXPRESSION_DEPTH_MAX nodes lie below the
 * root. A walk may therefore recurse. */
#ifndef ENGINE_EXPRESSION_EXPRESSION_H
#define ENGINE_EXPRESSION_EXPRESSION_H

#include "base/text.h"

enum {
    EXPRESSION_BYTES_MAX = 2048,
    EXPRESSION_NODES_MAX = 512,
    EXPRESSION_DEPTH_MAX = 32,
};

/* The kinds of values; also a set of them, (1 << VALUE_INT) | ..., in static checks. An int and a
 * real are one kind to users: a number. */
enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_MAP,
    VALUE_KIND_COUNT
};

/* What an expression may refer to; where each may stand is in engine/expression/names.def. */
enum expression_name {
#define EXPRESSION_NAME(constant, text, places) NAME_##constant,
#include "engine/expression/names.def"
    EXPRESSION_NAME_COUNT
};

/* What order.NAME gives, all of the order's details. */
enum expression_order_member {
    MEMBER_ID,
    MEMBER_CUSTOMER,
    MEMBER_CURRENCY,
    MEMBER_LINES,      /* a list of {description, quantity, sku, unit_price} */
    MEMBER_ATTRIBUTES, /* a map of texts */
    MEMBER_PRIORITY,
    MEMBER_SUBMITTED_BY,
    EXPRESSION_ORDER_MEMBER_COUNT
};

/* Functions, methods and macros; engine/expression/functions.def has their signatures. */
enum expression_function {
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) FUNCTION_##constant,
#include "engine/expression/functions.def"
    EXPRESSION_FUNCTION_COUNT
};

enum expression_operator {
    OPERATOR_NONE,
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_LESS,
    OPERATOR_LESS_EQUAL,
    OPERATOR_GREATER,
    OPERATOR_GREATER_EQUAL,
    OPERATOR_IN,
    OPERATOR_ADD,
    OPERATOR_SUBTRACT,
    OPERATOR_MULTIPLY,
    OPERATOR_DIVIDE,
    OPERATOR_REMAINDER,
    EXPRESSION_OPERATOR_COUNT
};

/* With the members of struct expression_node that a kind uses besides `at`. */
enum expression_node_kind {
    EXPR_NULL,
    EXPR_BOOL,  /* whole: 0 or 1 */
    EXPR_INT,   /* whole */
    EXPR_REAL,  /* real */
    EXPR_TEXT,  /* text, unescaped */
    EXPR_LIST,  /* children: its elements */
    EXPR_MAP,   /* children: EXPR_ENTRY, sorted by name */
    EXPR_ENTRY, /* text: its name; one child */
    EXPR_NAME,  /* code: enum expression_name; index: of NAME_OUTPUT and NAME_ERROR the step, whose
                      name is the text; of NAME_ORDER enum expression_order_member */
    EXPR_VARIABLE,  /* of a macro. index: its slot; text: its name */
    EXPR_PATH,      /* children: what it begins with, then EXPR_MEMBER and EXPR_ELEMENT */
    EXPR_MEMBER,    /* text: its name. In a path only */
    EXPR_ELEMENT,   /* one child: an index, or a text, in brackets. In a path only */
    EXPR_HAS,       /* one child: a path that ends in EXPR_MEMBER */
    EXPR_HAS_STEP,  /* code: NAME_OUTPUT or NAME_ERROR; index: the step */
    EXPR_CALL,      /* code: enum expression_function; one child: its target or argument, two
                      children: target and argument */
    EXPR_MACRO,     /* code: enum expression_function; index: its variable's slot; children: the
                      list, what is evaluated for each element */
    EXPR_NOT,       /* one child */
    EXPR_NEGATE,    /* one child */
    EXPR_CHAIN,     /* children: operands; before each but the first stands its `op` */
    EXPR_AND,       /* children: 2 or more */
    EXPR_OR,        /* children: 2 or more */
    EXPR_CONDITION, /* children: what is asked, then, else */
    EXPRESSION_NODE_KIND_COUNT
};

struct expression_node {
    uint8_t kind;   /* enum expression_node_kind */
    uint8_t code;   /* see there */
    uint8_t op;     /* enum expression_operator; of an operand in a chain */
    uint16_t at;    /* its byte in the source, from 0 */
    uint16_t op_at; /* that of `op` */
    uint16_t index; /* see there */
    uint16_t first; /* child; 0: none */
    uint16_t next;  /* sibling; 0: none */
    uint16_t count; /* children */
    union {
        int64_t whole;
        double real;
        struct text text; /* in the workflow's arena */
    };
};

struct expression {
    struct text source; /* as in the file, without blanks at its ends: for reasons and messages */
    const struct expression_node *nodes;
    uint16_t node_count;
    uint16_t slot_count; /* variables that are visible at once, at most */
};

/* ---- errors that steps have: not those of agents, and no retry changes them ---- */

#define ERROR_QUERY_EVALUATION "States.QueryEvaluationError"
#define ERROR_DATA_LIMIT "States.DataLimitExceeded" /* the result, or what is read, is too large */

/* ---- templates: data with expressions in it ---- */

enum template_kind {
    TEMPLATE_DATA,       /* json */
    TEMPLATE_EXPRESSION, /* expression: its value, of any kind */
    TEMPLATE_TEXT,       /* children: TEMPLATE_DATA (a text) and TEMPLATE_EXPRESSION, in a row */
    TEMPLATE_LIST,       /* children */
    TEMPLATE_MAP,        /* children with names, sorted by name */
};

/* What has no expression in it is TEMPLATE_DATA, whole lists and maps included. */
struct expression_template {
    enum template_kind kind;
    struct text name; /* of an entry of a map, unescaped */
    struct text data; /* canonical JSON; of a part of a text: the text itself */
    const struct expression *expression;
    struct expression_template *first; /* child */
    struct expression_template *next;  /* sibling */
};

/* Whether they say the same, in other places perhaps. NULL: there is none. */
bool expression_equal(const struct expression *a, const struct expression *b);
bool template_equal(const struct expression_template *a, const struct expression_template *b);

const char *value_kind_phrase(enum value_kind kind); /* "a number", "null" ... for messages */
const char *expression_operator_text(enum expression_operator operator);
struct text expression_name_text(enum expression_name name);
struct text expression_order_member_text(enum expression_order_member member);
struct text expression_function_text(enum expression_function function);

#endif
