/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating expressions and templates. For decide, `reeve workflow eval` and `reeve test` only:
 * a fold, an emitter or a page never evaluates, since each result is in an event.
 *
 * Pure: no clock, no malloc, no floating-point environment. Equal expression, scope and budget give
 * equal results on every machine. Everything that is read from an order is hostile: an expression
 * ends with a value or an error after at most `budget` units of work, whatever it reads. */
#ifndef ENGINE_EXPRESSION_EVALUATE_H
#define ENGINE_EXPRESSION_EVALUATE_H

#include "base/json.h"
#include "engine/expression/expression.h"

struct order_details;

/* ---- what names stand for ---- */

/* A step that comes before, at the index that it has in the workflow. */
struct expression_step {
    bool has_output;        /* it is Processed */
    bool has_error;         /* it is Caught */
    struct text output;     /* canonical JSON; empty: null */
    struct text error_name; /* of a caught step */
    struct text error_message;
};

/* Members of `order` that were read, as they were made. */
struct expression_order_members {
    struct text json[EXPRESSION_ORDER_MEMBER_COUNT];
    uint32_t units[EXPRESSION_ORDER_MEMBER_COUNT];
};

/* All texts are borrowed, all JSON is canonical. What a place does not have is empty: the check in
 * workflow/ lets no expression refer to it. */
struct expression_scope {
    struct text input; /* empty: null */
    /* Gives a member of `details` as canonical JSON, new in `arena`, and what that costs in units;
     * NULL: `order` has no members. It is asked once for each of `made`; what they cost is paid for
     * by each that reads them. */
    struct text (*order_member)(const struct order_details *details,
                                enum expression_order_member member, struct arena *arena,
                                uint32_t *ret_units);
    const struct order_details *details;
    struct expression_order_members *made; /* of these details; in the arena of every run */
    const struct expression_step *steps;   /* indexed as the workflow's */
    uint32_t step_count;                   /* an index beyond it is a step without output */
    struct text item;
    int64_t index;
    struct text result; /* empty: null */
    struct text tick;   /* a text, not JSON */
};

/* ---- a run: what the expressions of one step share ---- */

enum {
    EXPRESSION_BUDGET = 100000,          /* units, of one step in one Decision */
    EXPRESSION_DECISION_BUDGET = 300000, /* a Decision that used as much begins no further step */
    EXPRESSION_MESSAGE_BYTES_MAX = 1024,
    EXPRESSION_UNIT = 64, /* a unit, in what `budget` counts: bytes walked */
};

struct expression_run {
    struct arena *arena; /* takes at most 64 bytes for each unit, and four times a result's limit */
    const struct expression_scope *scope;
    /* In bytes: a node or an element costs 64, a byte walked 1, a byte made 4. Spent, it stays so,
     * and every evaluation fails. */
    struct json_walk budget;
    bool disabled; /* every evaluation fails: the command has crashed its owners before */
};

void expression_run_init(struct expression_run *run, const struct expression_scope *scope,
                         uint32_t units, struct arena *arena);
/* Units that it has used. */
uint32_t expression_run_used(const struct expression_run *run, uint32_t units);

/* ---- errors ---- */

enum expression_error_code {
    EXPRESSION_OK,
    EXPRESSION_NO_MEMBER,
    EXPRESSION_NO_OUTPUT,  /* reads the output of a step that has none */
    EXPRESSION_NOT_CAUGHT, /* reads the error of a step that has none */
    EXPRESSION_WRONG_TYPE,
    EXPRESSION_OVERFLOW,     /* beyond an int64 */
    EXPRESSION_NOT_FINITE,   /* beyond a double */
    EXPRESSION_DIVIDED_BY_0, /* by / or % */
    EXPRESSION_OUT_OF_RANGE, /* an index */
    EXPRESSION_NOT_AN_INDEX, /* a number that is not whole */
    EXPRESSION_NOT_A_NUMBER, /* int() or double() of such a text */
    EXPRESSION_EMPTY_LIST,   /* min() or max() of it */
    EXPRESSION_NEGATIVE,     /* seconds */
    EXPRESSION_TOO_LONG,     /* seconds, for a step to wait */
    EXPRESSION_NOT_A_TIME,   /* a text that is not one of RFC 3339 */
    EXPRESSION_NOT_JSON,     /* data is not canonical: it was damaged */
    EXPRESSION_NOT_WRITABLE, /* a number with more than 40 digits */
    EXPRESSION_TOO_DEEP,     /* data deeper than JSON's limit */
    EXPRESSION_TRUNCATED,    /* reads an output, or a result, that was too large to be kept */
    EXPRESSION_TOO_LARGE,    /* the result, for its place */
    EXPRESSION_BUDGET_SPENT,
    EXPRESSION_DISABLED,
    EXPRESSION_ERROR_CODE_COUNT
};

struct expression_error {
    enum expression_error_code code;
    uint32_t at;        /* byte in `source`, from 0 */
    struct text source; /* of the expression; borrowed from the workflow */
    struct text name;   /* a member, a step, an operator, a function; borrowed as values are */
    uint8_t kinds[2];   /* of EXPRESSION_WRONG_TYPE: enum value_kind of what was found */
    uint8_t wants;      /* set of kinds that would do; 0: `name` cannot take kinds[] together */
    int64_t number;     /* of EXPRESSION_OUT_OF_RANGE, the index; of EXPRESSION_TOO_LARGE and
                           EXPRESSION_TOO_LONG, the limit */
};

/* What is wrong and where, in one line of at most EXPRESSION_MESSAGE_BYTES_MAX bytes:
 * `there is no member a: column 7 of input.a.b`. New in `arena`. Columns are characters, from 1. */
struct text expression_error_message(const struct expression_error *error, struct arena *arena);
/* States.DataLimitExceeded for EXPRESSION_TRUNCATED and EXPRESSION_TOO_LARGE, else
 * States.QueryEvaluationError. */
struct text expression_error_name(const struct expression_error *error);

/* ---- evaluating: false fills *ret_error, and nothing else ---- */

/* A bool: When, Until, StopWhen. */
bool expression_test(struct expression_run *run, const struct expression *expression, bool *ret_yes,
                     struct expression_error *ret_error);
/* The same, of a When: false, without an error, if all that is wrong is EXPRESSION_NO_OUTPUT. */
bool expression_test_when(struct expression_run *run, const struct expression *expression,
                          bool *ret_yes, struct expression_error *ret_error);
/* Any value, as canonical JSON of at most `bytes_max` bytes; may borrow from the scope. Items. */
bool expression_json(struct expression_run *run, const struct expression *expression,
                     uint32_t bytes_max, struct text *ret_json, struct expression_error *ret_error);
/* A number of seconds, as milliseconds, rounded up; not negative, at most `ms_max`. Seconds. */
bool expression_duration(struct expression_run *run, const struct expression *expression,
                         int64_t ms_max, int64_t *ret_ms, struct expression_error *ret_error);
/* A text that is a time of RFC 3339, as milliseconds since the epoch. Timestamp. */
bool expression_moment(struct expression_run *run, const struct expression *expression,
                       int64_t *ret_ms, struct expression_error *ret_error);

/* Canonical JSON of at most `bytes_max` bytes: Input, Output, Set. */
bool template_json(struct expression_run *run, const struct expression_template *template,
                   uint32_t bytes_max, struct text *ret_json, struct expression_error *ret_error);
/* A text: Question, Message. Unescaped. */
bool template_text(struct expression_run *run, const struct expression_template *template,
                   uint32_t bytes_max, struct text *ret_text, struct expression_error *ret_error);

#endif
