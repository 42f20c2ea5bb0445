/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the tests of expressions: an expression, or a template, and what comes of it. */
#ifndef TESTS_UNIT_EXPRESSION_KIT_H
#define TESTS_UNIT_EXPRESSION_KIT_H

#include "engine/expression/evaluate.h"
#include "workflow/expression.h"

/* An arena that lives as long as the test's process. */
struct arena *kit_arena(void);
/* Canonical; asserts that it is JSON. */
struct text kit_json(const char *json);

/* What kit_evaluate() gives an expression: the steps Check, reserve-stock (both Processed), Skipped
 * and Large (whose output was too large) before it, Caught with an error, and Later after it. */
extern const struct expression_names kit_names;
/* The same, with `input` (NULL: none) and an order of two lines. */
struct expression_scope kit_scope(const char *input);

/* JSON, "error: ..." of the evaluation, or "COLUMN: ..." for each problem of the compiler. */
const char *kit_evaluate(const char *expression, const char *input);
const char *kit_evaluate_within(const char *expression, const char *input, uint32_t units);
/* Asserts that there are no errors. */
const struct expression *kit_compile(const char *expression);

struct expression_case {
    const char *expression;
    const char *input; /* NULL: null */
    const char *result;
};

#define EVALUATES(...)                                                                          \
    do {                                                                                        \
        static const struct expression_case cases_[] = {__VA_ARGS__};                           \
        for (size_t i_ = 0; i_ < sizeof(cases_) / sizeof(cases_[0]); i_++)                      \
            cr_expect_str_eq(kit_evaluate(cases_[i_].expression, cases_[i_].input),             \
                             cases_[i_].result, "%s\n    is %s\nnot %s", cases_[i_].expression, \
                             kit_evaluate(cases_[i_].expression, cases_[i_].input),             \
                             cases_[i_].result);                                                \
    } while (0)

/* `yaml` is a mapping with one field: what its template makes of `input`, or problems as
 * "LINE:COLUMN: ...\n". */
const char *kit_template(const char *yaml, const char *input);
/* The same of a text, as in Question. */
const char *kit_template_text(const char *yaml, const char *input);
/* The same of a field that is an expression, When. */
const char *kit_field(const char *yaml, const char *input);
/* Of Seconds: the milliseconds. */
const char *kit_seconds(const char *yaml, const char *input);

#endif
