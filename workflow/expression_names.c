/* SPDX-License-Identifier: Apache-2.0 */
/* Names, functions and steps that expressions refer to, and what to say about those that are not
 * known. See expression_parse.h. */
#include "workflow/expression_parse.h"

#include "base/numbers.h"
#include "base/suggest.h"

#include <assert.h>
#include <stdio.h>

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

/* "a, b and c", or "a, b and others" where they do not fit. */
static void list_names(const struct text *names, uint32_t count, char *list, size_t size)
{
    static const char others[] = " and others";
    size_t used = 0;
    list[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        if (used + strlen(before) + names[i].size + sizeof(others) > size) {
            snprintf(list + used, size - used, "%s", i == 0 ? "" : others);
            return;
        }
        used += (size_t)snprintf(list + used, size - used, "%s%.*s", before, TEXT_ARG(names[i]));
    }
}

void expression_report_unknown(const struct expression_draft *draft, uint32_t at, const char *what,
                               struct text name, const struct text *candidates, uint32_t count)
{
    const struct text *near = suggest_text(name, candidates, count);
    char list[140];
    list_names(candidates, count, list, sizeof(list));
    if (near != NULL)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "there is no %s %.*s: did you mean %.*s?", what, QUOTE_ARG(name),
                          TEXT_ARG(*near));
    else if (list[0] != '\0')
        expression_report(draft->problems, WORKFLOW_ERROR, at, "there is no %s %.*s: there %s %s",
                          what, QUOTE_ARG(name), count == 1 ? "is" : "are", list);
    else
        expression_report(draft->problems, WORKFLOW_ERROR, at, "there is no %s %.*s", what,
                          QUOTE_ARG(name));
}

void expression_report_option(const struct expression_draft *draft, uint32_t at, struct text word,
                              struct text_list options)
{
    const struct text *near = suggest_text(word, options.items, options.count);
    char list[80];
    list_names(options.items, options.count, list, sizeof(list));
    if (near != NULL)
        expression_report(draft->problems, WORKFLOW_WARNING, at,
                          "%.*s is not one of the Options: did you mean %.*s?", QUOTE_ARG(word),
                          TEXT_ARG(*near));
    else
        expression_report(draft->problems, WORKFLOW_WARNING, at,
                          "%.*s is not one of the Options: %s %s", QUOTE_ARG(word),
                          options.count == 1 ? "there is" : "there are", list);
}

/* ---- names ---- */

static const struct {
    const char *word;
    const char *cure;
} operator_words[] = {
    {"and", "write && for and"},
    {"AND", "write && for AND"},
    {"or", "write || for or"},
    {"OR", "write || for OR"},
    {"xor", "write a != b for xor"},
    {"not", "write ! for not, as in !(x in l)"},
    {"is", "write == for is"},
    {"eq", "write == for eq"},
    {"ne", "write != for ne"},
    {"lt", "write < for lt"},
    {"le", "write <= for le"},
    {"gt", "write > for gt"},
    {"ge", "write >= for ge"},
    {"mod", "write % for mod"},
    {"div", "write int(a / b) for div"},
    {"then", "write a ? b : c"},
    {"between", "write x >= a && x <= b"},
    {"contains", "write t.contains(u)"},
    {"like", "write t.startsWith(u), t.endsWith(u) or t.contains(u)"},
    {"matches", "there are no regular expressions: see startsWith, endsWith and contains"},
    {"as", "nothing is converted by itself: write int(x), double(x) or string(x)"},
};

const char *expression_operator_word_cure(struct text word)
{
    for (size_t i = 0; i < sizeof(operator_words) / sizeof(operator_words[0]); i++) {
        if (text_equal(word, text_of(operator_words[i].word)))
            return operator_words[i].cure;
    }
    return NULL;
}

static const struct {
    const char *name;
    const char *cure;
} other_names[] = {
    {"True", "write true"},
    {"False", "write false"},
    {"None", "write null"},
    {"nil", "write null"},
    {"NULL", "write null"},
    {"Null", "write null"},
    {"TRUE", "write true"},
    {"FALSE", "write false"},
    {"yes", "write true"},
    {"no", "write false"},
    {"undefined", "write null, or has(x.y) to ask whether there is a member"},
    {"and", "write && for and"},
    {"or", "write || for or"},
    {"not", "write ! for not"},
    {"NOT", "write ! for not"},
    {"if", "write a ? b : c"},
    {"this", "write input, order or output.STEP"},
    {"env", "an expression sees nothing but its order"},
    {"now", "an expression has no clock"},
    {"inputs", "write input"},
    {"outputs", "write output.STEP"},
    {"steps", "write output.STEP"},
    {"optional", "there are no optionals: write has(x.y) ? x.y : ..."},
    {"int", "int is a function, not a type: write int(x)"},
    {"double", "double is a function, not a type: write double(x)"},
    {"string", "string is a function, not a type: write string(x)"},
    {"google", "there are no protobuf types"},
};

static bool name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/* input.a-b: the second one of both. */
static bool report_name_behind_minus(const struct expression_draft *draft, uint32_t at,
                                     struct text name)
{
    const char *source = draft->source.data;
    uint32_t begin = at;
    if (at < 2 || source[at - 1] != '-')
        return false;
    while (begin > 0 && (name_character(source[begin - 1]) || source[begin - 1] == '-'))
        begin--;
    if (source[begin] == '-' || begin == 0 || source[begin - 1] != '.')
        return false;
    for (uint32_t i = 0; i < draft->problems->count; i++) {
        if (draft->problems->items[i].at == begin)
            return true; /* of a step: reported as a whole */
    }
    expression_report(draft->problems, WORKFLOW_ERROR, at,
                      "there is no name %.*s: write x['%.*s%.*s'] for one member, or blanks "
                      "around the -",
                      QUOTE_ARG(name), (int)(at - begin < NAME_BYTES_MAX ? at - begin : 0),
                      source + begin, QUOTE_ARG(name));
    return true;
}

bool expression_report_blank(const struct expression_draft *draft, uint32_t at, uint32_t end)
{
    const char *source = draft->source.data;
    uint32_t begin = at;
    while (begin > 0 && source[begin - 1] == ' ')
        begin--;
    while (begin > 0 && name_character(source[begin - 1]))
        begin--;
    struct text name = {source + begin, end - begin};
    if (!name_character(source[at]) || number_is_digit(source[at]) || begin == at || begin == 0 ||
        source[begin - 1] != '.')
        return false;
    expression_report(draft->problems, WORKFLOW_ERROR, at,
                      "%.*s stands where it needs an operator, or its end: write x['%.*s'] for one "
                      "member",
                      QUOTE_ARG(text_from(name, at - begin)), QUOTE_ARG(name));
    return true;
}

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
    if (report_name_behind_minus(draft, at, name))
        return;
    for (uint32_t i = 0; i < EXPRESSION_NAME_COUNT; i++) {
        if ((draft->names->allowed & UINT32_C(1) << i) != 0)
            candidates[count++] = expression_name_text((enum expression_name)i);
    }
    for (uint32_t i = 0; i < variable_count; i++)
        candidates[count++] = variables[i];
    expression_report_unknown(draft, at, "name", name, candidates, count);
}

/* ---- functions ---- */

#define NO_CHANGES "texts cannot be changed: compare with each spelling"
#define NO_PARTS "texts cannot be taken apart: have the sender or an agent do it"
#define HAS "write has(x.y)"
#define HAS_ELSE "write has(x.y) ? x.y : ..."

/* CEL's, which expressions do not have, and some of other languages. */
static const struct {
    const char *name;
    const char *cure;
} other_functions[] = {
    {"type", "the kinds of values cannot be asked for"},
    {"dyn", "leave it out: nothing is converted by itself, and nothing needs it"},
    {"bool", "write x == 'true'"},
    {"uint", "there are no unsigned numbers: write int(x)"},
    {"bytes", "there are no bytes: a text is compared as it is"},
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
    {"getFullYear", "there are no times: an expression has no clock"},
    {"now", "an expression has no clock: have the sender put the time into the input"},
    {"today", "an expression has no clock: have the sender put the day into the input"},
    {"random", "the same order always gives the same value: have the sender choose one"},
    {"uuid", "the same order always gives the same value: take order.id"},
    {"lowerAscii", NO_CHANGES},
    {"upperAscii", NO_CHANGES},
    {"lower", NO_CHANGES},
    {"upper", NO_CHANGES},
    {"toLowerCase", NO_CHANGES},
    {"toUpperCase", NO_CHANGES},
    {"trim", NO_CHANGES},
    {"replace", NO_PARTS},
    {"split", NO_PARTS},
    {"substring", NO_PARTS},
    {"substr", NO_PARTS},
    {"indexOf", "write t.contains(u), or x in l"},
    {"join", "write \"${...}\" several times, or a + b"},
    {"concat", "write a + b"},
    {"format", "write \"${...}\" in a text, or a + b"},
    {"reduce", "write l.map(x, ...).sum()"},
    {"avg", "write l.sum() / size(l)"},
    {"abs", "write x < 0 ? -x : x"},
    {"round", "write int(x + 0.5), or int(x) to cut off the fraction"},
    {"floor", "write int(x) to cut off the fraction"},
    {"ceil", "write int(x) to cut off the fraction"},
    {"first", "write l[0]"},
    {"last", "write l[size(l) - 1]"},
    {"isEmpty", "write size(x) == 0"},
    {"empty", "write size(x) == 0"},
    {"every", "write l.all(x, ...)"},
    {"sort", "lists keep their order: have an agent sort it"},
    {"keys", "the names of a map cannot be listed: ask for one, as in 'a' in x"},
    {"values", "the values of a map cannot be listed: name a member"},
    {"isPresent", HAS},
    {"isDefined", HAS},
    {"defined", HAS},
    {"hasOwnProperty", HAS},
    {"coalesce", HAS_ELSE},
    {"default", HAS_ELSE},
    {"getOrDefault", HAS_ELSE},
    {"get", "write x.y, or has(x.y) ? x.y : ..."},
    {"parseInt", "write int(x)"},
    {"toInt", "write int(x)"},
    {"parseFloat", "write double(x)"},
    {"toString", "write string(x)"},
    {"not", "write !x"},
    {"if", "write a ? b : c"},
    {"and", "write a && b"},
    {"or", "write a || b"},
    {"equals", "write a == b"},
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
    expression_report_unknown(draft, at, "function", name, candidates, EXPRESSION_FUNCTION_COUNT);
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

/* A name with a '-' or a '.' is one here, even if it stands without quotes. */
static bool is_named(const struct expression_draft *draft, uint32_t at, struct text name,
                     struct text step)
{
    struct text rest = text_from(draft->source, at);
    return text_equal(step, name) || (step.size > name.size && step.size <= rest.size &&
                                      memcmp(step.data, rest.data, step.size) == 0);
}

/* A body sees nothing of the workflow around it. */
static bool report_outer_step(const struct expression_draft *draft, uint32_t at, const char *root,
                              struct text name)
{
    const struct expression_outer *body = draft->names->outer;
    for (const struct expression_outer *outer = body; outer != NULL; outer = outer->outer) {
        for (uint32_t i = 0; i < outer->step_count; i++) {
            struct text step = outer->steps[i].name;
            if (!is_named(draft, at, name, step))
                continue;
            expression_report(draft->problems, WORKFLOW_ERROR, at,
                              "%s.%.*s is not known in the body of %.*s: pass it by Input of %.*s",
                              root, QUOTE_ARG(step), QUOTE_ARG(body->step), QUOTE_ARG(body->step));
            return true;
        }
    }
    return false;
}

static void report_step(const struct expression_draft *draft, uint32_t at, const char *root,
                        struct text name)
{
    struct text candidates[64];
    uint32_t count = 0;
    if ((at > 0 && report_name_with_marks(draft, at, root, name)) ||
        report_outer_step(draft, at, root, name))
        return;
    for (uint32_t i = 0; i < draft->names->step_count && count < 64; i++) {
        if (draft->names->steps[i].before)
            candidates[count++] = draft->names->steps[i].name;
    }
    if (count == 0)
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "there is no step %.*s: no step comes before this one", QUOTE_ARG(name));
    else
        expression_report_unknown(draft, at, "step", name, candidates, count);
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
                              "%s.%.*s is not known here: step %.*s does not come before this "
                              "one%s",
                              root, QUOTE_ARG(name), QUOTE_ARG(name),
                              (draft->names->allowed & UINT32_C(1) << NAME_RESULT) != 0
                                  ? ", whose own output is result"
                                  : ": name it in After");
        else if (kind == NAME_ERROR && !step->fails)
            expression_report(
                draft->problems, WORKFLOW_ERROR, at,
                "error.%.*s is never there: step %.*s has no Catch with Next: $continue",
                QUOTE_ARG(name), QUOTE_ARG(name));
        *ret_step = (uint16_t)i;
        return step->before;
    }
    report_step(draft, at, root, name);
    return false;
}

/* What a sub-order does not get of its parent's details. */
static void check_member_of_suborder(const struct expression_draft *draft, uint32_t at,
                                     enum expression_order_member member)
{
    const struct expression_outer *outer = draft->names->outer;
    bool empty = member == MEMBER_LINES || member == MEMBER_ATTRIBUTES || member == MEMBER_CURRENCY;
    if (outer == NULL || !empty || draft->names->deployed)
        return;
    struct text name = expression_order_member_text(member);
    expression_report(draft->problems, WORKFLOW_ERROR, at,
                      "order.%.*s is empty in the body of %.*s: pass it by Input of %.*s",
                      TEXT_ARG(name), QUOTE_ARG(outer->step), QUOTE_ARG(outer->step));
}

bool expression_find_order_member(const struct expression_draft *draft, uint32_t at,
                                  struct text name, uint16_t *ret_member)
{
    struct text candidates[EXPRESSION_ORDER_MEMBER_COUNT];
    for (uint16_t i = 0; i < EXPRESSION_ORDER_MEMBER_COUNT; i++) {
        candidates[i] = expression_order_member_text((enum expression_order_member)i);
        if (text_equal(candidates[i], name)) {
            check_member_of_suborder(draft, at, (enum expression_order_member)i);
            *ret_member = i;
            return true;
        }
    }
    if (text_equal(name, TEXT("input")) || text_equal(name, TEXT("output"))) {
        expression_report(draft->problems, WORKFLOW_ERROR, at,
                          "order has no member %.*s: write %.*s without order", TEXT_ARG(name),
                          TEXT_ARG(name));
        return false;
    }
    expression_report_unknown(draft, at, "member", name, candidates, EXPRESSION_ORDER_MEMBER_COUNT);
    return false;
}
