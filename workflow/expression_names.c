/* SPDX-License-Identifier: Apache-2.0 */
/* Names, functions and steps that expressions refer to, and what to say about those that are not
 * known. See expression_parse.h. */
#include "workflow/expression_parse.h"

#include "base/suggest.h"

#include <assert.h>

enum { CANDIDATES_MAX = EXPRESSION_NAME_COUNT + EXPRESSION_DEPTH_MAX };

bool expression_find_name(struct text text, enum expression_name *ret_name)
{
    for (uint32_t i = 0; i < EXPRESSION_NAME_COUNT; i++) {
        if (text_equal(text, expression_name_text((enum expression_name)i))) {
            *ret_name = (enum expression_name)i;
            return true;
        }
    }
    return false;
}

bool expression_find_function(struct text text, enum expression_function *ret_function)
{
    for (uint32_t i = 0; i < EXPRESSION_FUNCTION_COUNT; i++) {
        if (text_equal(text, expression_function_text((enum expression_function)i))) {
            *ret_function = (enum expression_function)i;
            return true;
        }
    }
    return false;
}

/* "there is no WHAT NAME: did you mean NEAR?" */
static void report_unknown(const struct expression_draft *draft, uint32_t at, const char *what,
                           struct text name, const struct text *candidates, uint32_t count)
{
    const struct text *near = suggest_text(name, candidates, count);
    if (near != NULL)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "there is no %s %.*s: did you mean %.*s?", what, QUOTE_ARG(name),
                          TEXT_ARG(*near));
    else
        expression_report(draft->problems, WORKFLOW_ERROR, at, "there is no %s %.*s", what,
                          QUOTE_ARG(name));
}

static const struct {
    const char *name;
    const char *cure;
} other_names[] = {
    {"True", "write true"},
    {"False", "write false"},
    {"None", "write null"},
    {"nil", "write null"},
    {"undefined", "write null, or has(x.y) to ask whether there is a member"},
    {"and", "write && for and"},
    {"or", "write || for or"},
    {"not", "write ! for not"},
    {"inputs", "write input"},
    {"outputs", "write output.STEP"},
    {"steps", "write output.STEP"},
    {"optional", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"int", "int is a function, not a type: write int(x)"},
    {"double", "double is a function, not a type: write double(x)"},
    {"string", "string is a function, not a type: write string(x)"},
    {"google", "there are no protobuf types"},
};

void expression_report_name(const struct expression_draft *draft, uint32_t at, struct text name,
                            const struct text *variables, uint32_t variable_count)
{
    struct text candidates[CANDIDATES_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        if (text_equal(name, text_of(other_names[i].name))) {
            expression_report(draft->problems, WORKFLOW_ERROR, at, "there is no name %.*s: %s",
                              TEXT_ARG(name), other_names[i].cure);
            return;
        }
    }
    for (uint32_t i = 0; i < draft->names->step_count; i++) {
        if (text_equal(name, draft->names->steps[i].name)) {
            expression_report(
                draft->problems, WORKFLOW_ERROR, at,
                "there is no name %.*s: write output.%.*s for the output of that step",
                TEXT_ARG(name), TEXT_ARG(name));
            return;
        }
    }
    for (uint32_t i = 0; i < EXPRESSION_NAME_COUNT; i++) {
        if ((draft->names->allowed & UINT32_C(1) << i) != 0)
            candidates[count++] = expression_name_text((enum expression_name)i);
    }
    for (uint32_t i = 0; i < variable_count; i++)
        candidates[count++] = variables[i];
    report_unknown(draft, at, "name", name, candidates, count);
}

/* ---- functions ---- */

/* CEL's, which expressions do not have, and some of other languages. */
static const struct {
    const char *name;
    const char *cure;
} other_functions[] = {
    {"type", "the kinds of values cannot be asked for"},
    {"dyn", "leave it out: nothing is converted by itself, and nothing needs it"},
    {"bool", "write x == 'true'"},
    {"uint", "there are no unsigned numbers"},
    {"bytes", "there are no bytes"},
    {"timestamp", "there are no times: an expression has no clock"},
    {"duration", "there are no durations: write seconds as a number"},
    {"matches", "there are no regular expressions: see startsWith, endsWith and contains"},
    {"len", "write size(x)"},
    {"length", "write size(x)"},
    {"count", "write size(x)"},
    {"float", "write double(x)"},
    {"number", "write double(x)"},
    {"str", "write string(x)"},
    {"some", "write l.exists(x, ...)"},
    {"any", "write l.exists(x, ...)"},
    {"includes", "write u in l, or t.contains(u)"},
    {"existsOne", "write l.exists_one(x, ...)"},
    {"transformList", "there are no macros with two variables: see map"},
    {"transformMap", "there are no macros with two variables: see map"},
    {"orValue", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"optMap", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"getFullYear", "there are no times"},
    {"lowerAscii", "texts cannot be changed: compare with each spelling"},
    {"upperAscii", "texts cannot be changed: compare with each spelling"},
    {"split", "texts cannot be taken apart"},
    {"join", "write \"${...}\" several times, or a + b"},
    {"reduce", "write l.map(x, ...).sum()"},
    {"avg", "write l.sum() / size(l)"},
};

static const enum expression_form forms[] = {
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) FORM_##form,
#include "engine/expression/functions.def"
};

void expression_report_function(const struct expression_draft *draft, uint32_t at, struct text name,
                                bool method)
{
    struct text candidates[EXPRESSION_FUNCTION_COUNT];
    enum expression_function function;
    for (size_t i = 0; i < sizeof(other_functions) / sizeof(other_functions[0]); i++) {
        if (text_equal(name, text_of(other_functions[i].name))) {
            expression_report(draft->problems, WORKFLOW_ERROR, at, "there is no %.*s(): %s",
                              TEXT_ARG(name), other_functions[i].cure);
            return;
        }
    }
    if (expression_find_function(name, &function)) {
        if (method)
            expression_report(draft->problems, WORKFLOW_ERROR, at,
                              "%.*s() takes its value in brackets: write %.*s(x)", TEXT_ARG(name),
                              TEXT_ARG(name));
        else
            expression_report(draft->problems, WORKFLOW_ERROR, at,
                              "%.*s() stands behind its value: write x.%.*s(%s)", TEXT_ARG(name),
                              TEXT_ARG(name), forms[function] == FORM_MACRO ? "e, ..." : "...");
        return;
    }
    for (uint32_t i = 0; i < EXPRESSION_FUNCTION_COUNT; i++)
        candidates[i] = expression_function_text((enum expression_function)i);
    report_unknown(draft, at, "function", name, candidates, EXPRESSION_FUNCTION_COUNT);
}

/* ---- steps ---- */

/* A step whose name has a '-' or a '.' reads like an operator, or like a member of another step. */
static bool report_name_with_marks(const struct expression_draft *draft, uint32_t at,
                                   const char *root, struct text name)
{
    struct text rest = text_from(draft->source, at);
    for (uint32_t i = 0; i < draft->names->step_count; i++) {
        struct text step = draft->names->steps[i].name;
        if (step.size <= name.size || step.size > rest.size ||
            memcmp(step.data, rest.data, step.size) != 0 || rest.data[-1] == '\'' ||
            rest.data[-1] == '"')
            continue;
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "%.*s has to stand in brackets and quotes: write %s['%.*s']",
                          TEXT_ARG(step), root, TEXT_ARG(step));
        return true;
    }
    return false;
}

static void report_step(const struct expression_draft *draft, uint32_t at, const char *root,
                        struct text name)
{
    struct text candidates[64];
    uint32_t count = 0;
    if (at > 0 && report_name_with_marks(draft, at, root, name))
        return;
    for (uint32_t i = 0; i < draft->names->step_count && count < 64; i++) {
        if (draft->names->steps[i].before)
            candidates[count++] = draft->names->steps[i].name;
    }
    report_unknown(draft, at, "step", name, candidates, count);
}

bool expression_find_step(const struct expression_draft *draft, uint32_t at,
                          enum expression_name kind, struct text name, uint16_t *ret_step)
{
    const char *root = kind == NAME_OUTPUT ? "output" : "error";
    assert(kind == NAME_OUTPUT || kind == NAME_ERROR);
    for (uint32_t i = 0; i < draft->names->step_count; i++) {
        const struct expression_known_step *step = &draft->names->steps[i];
        if (!text_equal(step->name, name))
            continue;
        if (!step->before)
            expression_report(draft->problems, WORKFLOW_ERROR, at,
                              "%s.%.*s is not known here: step %.*s does not come before this one",
                              root, QUOTE_ARG(name), QUOTE_ARG(name));
        else if (kind == NAME_ERROR && !step->fails)
            expression_report(draft->problems, WORKFLOW_ERROR, at,
                              "error.%.*s never is: step %.*s has no Catch with Next: $continue",
                              QUOTE_ARG(name), QUOTE_ARG(name));
        *ret_step = (uint16_t)i;
        return step->before;
    }
    report_step(draft, at, root, name);
    return false;
}

bool expression_find_order_member(const struct expression_draft *draft, uint32_t at,
                                  struct text name, uint16_t *ret_member)
{
    struct text candidates[EXPRESSION_ORDER_MEMBER_COUNT];
    for (uint16_t i = 0; i < EXPRESSION_ORDER_MEMBER_COUNT; i++) {
        candidates[i] = expression_order_member_text((enum expression_order_member)i);
        if (text_equal(candidates[i], name)) {
            *ret_member = i;
            return true;
        }
    }
    report_unknown(draft, at, "member", name, candidates, EXPRESSION_ORDER_MEMBER_COUNT);
    return false;
}
