/* SPDX-License-Identifier: Apache-2.0 */
/* What may be missing when it is read: outputs and errors of steps, optional members of the input,
 * and the result of a step that is undone. See expression_parse.h.
 *
 * A walk from the root carries what is known there: of `a && b`, b is reached only if a holds. What
 * a condition says is collected from has(), &&, ||, ! and ? : alone. A step that has an output was
 * started, so whatever its When says is known as well. One that has an error may have failed in its
 * When. */
#include "workflow/expression_parse.h"

#include "base/numbers.h"
#include "engine/expression/evaluate.h"

#include <assert.h>
#include <stdio.h>

/* A condition is looked at twice, and so is each one within it: what is deeper says nothing. */
enum { MEMBERS_MAX = 32, CONDITIONS_MAX = 6 };

/* What a constant may take to be known as one: a file has thousands of them. */
enum { CONSTANT_UNITS_MAX = 1000 };

/* has(input...): a path in an expression. */
struct member_fact {
    const struct expression *expression;
    uint16_t path; /* EXPR_PATH */
};

struct facts {
    bool impossible; /* nothing can be here, so everything is known */
    bool result;     /* it is not null */
    uint64_t outputs;
    uint64_t errors;
    struct member_fact members[MEMBERS_MAX];
    uint32_t member_count;
};

struct guard {
    const struct expression_draft *draft;
    const struct expression_guards *guards;
    struct expression expression; /* the draft's nodes */
};

static const struct expression_node *node_at(const struct expression *expression, uint16_t index)
{
    assert(index < expression->node_count);
    return &expression->nodes[index];
}

static bool is_result(const struct expression_node *node)
{
    return node->kind == EXPR_NAME && node->code == NAME_RESULT;
}

/* Its members may be known. */
static bool is_data(const struct expression_node *name)
{
    return name->code == NAME_INPUT || name->code == NAME_ITEM || name->code == NAME_RESULT;
}

/* ---- paths ---- */

/* Whether the path `other` is the beginning of `path`, and ends in the node `end` of it. */
static bool path_begins_with(const struct expression *expression, uint16_t path, uint16_t end,
                             struct member_fact other)
{
    uint16_t a = node_at(expression, path)->first;
    uint16_t b = node_at(other.expression, other.path)->first;
    for (;; a = node_at(expression, a)->next, b = node_at(other.expression, b)->next) {
        const struct expression_node *a_node = node_at(expression, a);
        const struct expression_node *b_node = node_at(other.expression, b);
        bool name = a_node->kind == EXPR_NAME && is_data(a_node) && a_node->code == b_node->code;
        bool member = a_node->kind == EXPR_MEMBER && text_equal(a_node->text, b_node->text);
        if (a_node->kind != b_node->kind || (!name && !member))
            return false;
        if (a == end || a_node->next == 0 || b_node->next == 0)
            return a == end && b_node->next == 0;
    }
}

static bool same_paths(struct member_fact a, struct member_fact b)
{
    uint16_t last = node_at(a.expression, a.path)->first;
    while (node_at(a.expression, last)->next != 0)
        last = node_at(a.expression, last)->next;
    return path_begins_with(a.expression, a.path, last, b);
}

/* ---- facts ---- */

static void add_member(struct facts *facts, struct member_fact fact)
{
    if (facts->member_count < MEMBERS_MAX)
        facts->members[facts->member_count++] = fact;
}

/* Both hold. */
static void facts_join(struct facts *facts, const struct facts *more)
{
    facts->impossible |= more->impossible;
    facts->result |= more->result;
    facts->outputs |= more->outputs;
    facts->errors |= more->errors;
    for (uint32_t i = 0; i < more->member_count; i++)
        add_member(facts, more->members[i]);
}

/* One of both holds. */
static void facts_meet(struct facts *facts, const struct facts *other)
{
    struct facts met = {0};
    if (other->impossible)
        return;
    if (facts->impossible) {
        *facts = *other;
        return;
    }
    met.result = facts->result && other->result;
    met.outputs = facts->outputs & other->outputs;
    met.errors = facts->errors & other->errors;
    for (uint32_t i = 0; i < facts->member_count; i++) {
        for (uint32_t j = 0; j < other->member_count; j++) {
            if (same_paths(facts->members[i], other->members[j])) {
                add_member(&met, facts->members[i]);
                break;
            }
        }
    }
    *facts = met;
}

static struct facts facts_of(const struct expression *expression, uint16_t index, bool yes,
                             uint32_t conditions);

/* && holds if all do; || does not hold if none does. Else one of them decided. */
static struct facts facts_of_logic(const struct expression *expression,
                                   const struct expression_node *node, bool yes,
                                   uint32_t conditions)
{
    bool all = (node->kind == EXPR_AND) == yes;
    struct facts facts = {.impossible = !all};
    for (uint16_t at = node->first; at != 0; at = node_at(expression, at)->next) {
        struct facts child = facts_of(expression, at, yes, conditions);
        if (all)
            facts_join(&facts, &child);
        else
            facts_meet(&facts, &child);
    }
    return facts;
}

static struct facts facts_of_condition(const struct expression *expression,
                                       const struct expression_node *node, bool yes,
                                       uint32_t conditions)
{
    struct facts facts = {.impossible = true}, before = {0};
    uint16_t at = node->first;
    while (node_at(expression, at)->next != 0) {
        uint16_t then = node_at(expression, at)->next;
        struct facts branch = facts_of(expression, at, true, conditions + 1);
        struct facts value = facts_of(expression, then, yes, conditions + 1);
        struct facts other = facts_of(expression, at, false, conditions + 1);
        facts_join(&branch, &before);
        facts_join(&branch, &value);
        facts_meet(&facts, &branch);
        facts_join(&before, &other);
        at = node_at(expression, then)->next;
    }
    struct facts last = facts_of(expression, at, yes, conditions + 1);
    facts_join(&last, &before);
    facts_meet(&facts, &last);
    return facts;
}

/* `result == null` or `null == result`, or the same with !=. */
static bool compares_result_with_null(const struct expression *expression,
                                      const struct expression_node *node,
                                      enum expression_operator op)
{
    const struct expression_node *left = node_at(expression, node->first);
    const struct expression_node *right = node_at(expression, left->next);
    return node->kind == EXPR_CHAIN && node->count == 2 && right->op == op &&
           ((is_result(left) && right->kind == EXPR_NULL) ||
            (left->kind == EXPR_NULL && is_result(right)));
}

static bool says_there_is_a_result(const struct expression *expression,
                                   const struct expression_node *node, bool yes)
{
    if (node->kind == EXPR_HAS)
        return yes && is_result(node_at(expression, node_at(expression, node->first)->first));
    return compares_result_with_null(expression, node, yes ? OPERATOR_NOT_EQUAL : OPERATOR_EQUAL);
}

/* What is known if the value is true (`yes`) or false. Recursion: see EXPRESSION_DEPTH_MAX. */
static struct facts facts_of(const struct expression *expression, uint16_t index, bool yes,
                             uint32_t conditions)
{
    const struct expression_node *node = node_at(expression, index);
    struct facts facts = {.result = says_there_is_a_result(expression, node, yes)};
    if (node->kind == EXPR_BOOL)
        facts.impossible = (node->whole != 0) != yes;
    else if (node->kind == EXPR_HAS_STEP && yes && node->code == NAME_OUTPUT)
        facts.outputs = UINT64_C(1) << node->index;
    else if (node->kind == EXPR_HAS_STEP && yes)
        facts.errors = UINT64_C(1) << node->index;
    else if (node->kind == EXPR_HAS && yes)
        add_member(&facts, (struct member_fact){expression, node->first});
    else if (node->kind == EXPR_NOT)
        return facts_of(expression, node->first, !yes, conditions);
    else if (node->kind == EXPR_AND || node->kind == EXPR_OR)
        return facts_of_logic(expression, node, yes, conditions);
    else if (node->kind == EXPR_CONDITION && conditions < CONDITIONS_MAX)
        return facts_of_condition(expression, node, yes, conditions);
    return facts;
}

void expression_guards_add(struct expression_guards *guards, uint32_t step,
                           const struct expression *when)
{
    struct facts facts = facts_of(when, 0, true, 0);
    assert(step < WORKFLOW_STEPS_MAX);
    guards->started[step].outputs = facts.outputs;
    guards->started[step].errors = facts.errors;
}

/* Adds what the Whens say of the steps that have outputs, until nothing is new. */
static void add_whens(const struct expression_guards *guards, struct facts *facts)
{
    uint64_t done = 0;
    for (uint64_t next; (next = facts->outputs & ~done) != 0; done |= next) {
        for (uint32_t step = 0; step < WORKFLOW_STEPS_MAX; step++) {
            if ((next >> step & 1) == 0)
                continue;
            facts->outputs |= guards->started[step].outputs;
            facts->errors |= guards->started[step].errors;
        }
    }
}

/* ---- the walk ---- */

/* Stands behind a dot as it is. */
static bool is_word(struct text name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        if (name.data[i] == '-' || name.data[i] == '.' || (i == 0 && number_is_digit(name.data[0])))
            return false;
    }
    return true;
}

static void check_step(const struct guard *guard, const struct expression_node *node,
                       const struct facts *facts)
{
    bool output = node->code == NAME_OUTPUT;
    uint64_t known = output ? facts->outputs : facts->errors;
    struct text name = guard->draft->names->steps[node->index].name;
    if (facts->impossible || (known >> node->index & 1) != 0)
        return;
    char asked[NAME_BYTES_MAX + sizeof("output['']")];
    const char *root = output ? "output" : "error";
    snprintf(asked, sizeof(asked), is_word(name) ? "%s.%.*s" : "%s['%.*s']", root, QUOTE_ARG(name));
    expression_report(guard->draft->problems, WORKFLOW_ERROR, node->at,
                      "step %.*s may have no %s: write has(%s) && ... or has(%s) ? ... : ...",
                      QUOTE_ARG(name), root, asked, asked);
}

static bool knows_member(const struct guard *guard, uint16_t path, uint16_t end,
                         const struct facts *facts)
{
    for (uint32_t i = 0; i < facts->member_count; i++) {
        if (path_begins_with(&guard->expression, path, end, facts->members[i]))
            return true;
    }
    return facts->impossible;
}

static const struct expression_shape *member_of(const struct expression_shape *shape,
                                                struct text name)
{
    for (uint32_t i = 0; shape != NULL && i < shape->member_count; i++) {
        if (text_equal(shape->members[i].name, name))
            return &shape->members[i];
    }
    return NULL;
}

/* Of what a path begins with; NULL: any. */
static const struct expression_shape *shape_of_name(const struct expression_names *names,
                                                    const struct expression_node *first)
{
    if (first->kind != EXPR_NAME || !is_data(first))
        return NULL;
    return first->code == NAME_INPUT  ? names->input
           : first->code == NAME_ITEM ? names->item
                                      : names->result;
}

/* As it is written, from its name to a member. */
static struct text path_to(const struct guard *guard, const struct expression_node *first,
                           const struct expression_node *member)
{
    struct text source = guard->draft->source;
    bool quoted = source.data[member->at] == '\'' || source.data[member->at] == '"';
    uint32_t end = quoted ? lexer_skip_text(source, member->at) : member->at + member->text.size;
    if (quoted) {
        while (end < source.size && source.data[end] != ']')
            end++;
        end += end < source.size;
    }
    return (struct text){source.data + first->at, end - first->at};
}

/* Members of data that may be missing; `last` is not checked: has() asks for it. */
static void check_members(const struct guard *guard, uint16_t path, bool asked,
                          const struct facts *facts)
{
    const struct expression *expression = &guard->expression;
    const struct expression_node *first = node_at(expression, node_at(expression, path)->first);
    const struct expression_shape *shape = shape_of_name(guard->draft->names, first);
    for (uint16_t at = first->next; at != 0 && shape != NULL; at = node_at(expression, at)->next) {
        const struct expression_node *node = node_at(expression, at);
        bool last = node->next == 0;
        if (node->kind != EXPR_MEMBER) {
            shape = shape->kinds == KIND_SET(LIST) ? shape->element : NULL;
            continue;
        }
        shape = member_of(shape, node->text);
        if (shape == NULL || !shape->optional || (last && asked) ||
            knows_member(guard, path, at, facts))
            continue;
        struct text path_text = path_to(guard, first, node);
        expression_report(guard->draft->problems, WORKFLOW_ERROR, node->at,
                          "%.*s may be missing by InputShape: write has(%.*s) && ... or "
                          "has(%.*s) ? ... : ...",
                          QUOTE_ARG(node->text), QUOTE_ARG(path_text), QUOTE_ARG(path_text));
    }
}

/* Whether the parent takes anything but null from this child. */
static bool needs_data(const struct guard *guard, const struct expression_node *parent,
                       uint16_t child)
{
    if (parent->kind == EXPR_CHAIN) {
        uint16_t second = node_at(&guard->expression, parent->first)->next;
        uint8_t op = node_at(&guard->expression, second)->op;
        return op != OPERATOR_EQUAL && op != OPERATOR_NOT_EQUAL && op != OPERATOR_IN;
    }
    return parent->kind == EXPR_CALL || parent->kind == EXPR_NOT || parent->kind == EXPR_NEGATE ||
           (child == parent->first && (parent->kind == EXPR_PATH || parent->kind == EXPR_MACRO));
}

static void check_result(const struct guard *guard, const struct expression_node *parent,
                         uint16_t child, const struct facts *facts)
{
    const struct expression_node *node = node_at(&guard->expression, child);
    if (!guard->guards->result_may_be_null || facts->result || facts->impossible ||
        !is_result(node) || !needs_data(guard, parent, child))
        return;
    const struct expression_node *member = node_at(&guard->expression, node->next);
    char asked[NAME_BYTES_MAX + sizeof("has(result.)")] = "result != null";
    if (parent->kind == EXPR_PATH && member->kind == EXPR_MEMBER && is_word(member->text) &&
        member->text.size <= NAME_BYTES_MAX)
        snprintf(asked, sizeof(asked), "has(result.%.*s)", QUOTE_ARG(member->text));
    expression_report(guard->draft->problems, WORKFLOW_WARNING, node->at,
                      "result is null after an attempt that timed out, and the undo then ends in "
                      "Error: write %s ? ... : ...",
                      asked);
}

static void check_node(const struct guard *guard, uint16_t index, const struct facts *facts);

static void check_children(const struct guard *guard, const struct expression_node *node,
                           const struct facts *facts)
{
    for (uint16_t at = node->first; at != 0; at = node_at(&guard->expression, at)->next) {
        check_result(guard, node, at, facts);
        check_node(guard, at, facts);
    }
}

static void learn(const struct guard *guard, uint16_t index, bool yes, struct facts *facts)
{
    struct facts more = facts_of(&guard->expression, index, yes, 0);
    add_whens(guard->guards, &more);
    facts_join(facts, &more);
}

/* Each operand is reached if those before it did not decide. */
static void check_logic(const struct guard *guard, const struct expression_node *node,
                        const struct facts *facts)
{
    struct facts known = *facts;
    for (uint16_t at = node->first; at != 0; at = node_at(&guard->expression, at)->next) {
        check_node(guard, at, &known);
        learn(guard, at, node->kind == EXPR_AND, &known);
    }
}

static void check_condition(const struct guard *guard, const struct expression_node *node,
                            const struct facts *facts)
{
    struct facts known = *facts;
    uint16_t at = node->first;
    for (;;) {
        uint16_t then = node_at(&guard->expression, at)->next;
        check_node(guard, at, &known);
        if (then == 0)
            return;
        struct facts branch = known;
        learn(guard, at, true, &branch);
        check_node(guard, then, &branch);
        learn(guard, at, false, &known);
        at = node_at(&guard->expression, then)->next;
    }
}

static void check_node(const struct guard *guard, uint16_t index, const struct facts *facts)
{
    const struct expression_node *node = node_at(&guard->expression, index);
    if (node->kind == EXPR_AND || node->kind == EXPR_OR) {
        check_logic(guard, node, facts);
        return;
    }
    if (node->kind == EXPR_CONDITION) {
        check_condition(guard, node, facts);
        return;
    }
    if (node->kind == EXPR_NAME && (node->code == NAME_OUTPUT || node->code == NAME_ERROR))
        check_step(guard, node, facts);
    if (node->kind == EXPR_PATH)
        check_members(guard, index, false, facts);
    if (node->kind == EXPR_HAS) {
        const struct expression_node *path = node_at(&guard->expression, node->first);
        check_members(guard, node->first, true, facts);
        if (path->count > 2 || !is_result(node_at(&guard->expression, path->first)))
            check_children(guard, path, facts); /* has(result.x) asks for both */
        return;
    }
    check_children(guard, node, facts);
}

void expression_check_guards(const struct expression_draft *draft)
{
    struct guard guard = {
        .draft = draft,
        .guards = draft->names->guards,
        .expression = {.source = draft->source,
                       .nodes = draft->nodes,
                       .node_count = draft->node_count},
    };
    struct facts facts = {.outputs = guard.guards->always};
    if (guard.guards->own_when != NULL) {
        struct facts own = facts_of(guard.guards->own_when, 0, true, 0);
        facts_join(&facts, &own);
    }
    add_whens(guard.guards, &facts);
    for (uint32_t i = 0; i < guard.guards->outer_when_count; i++) {
        /* What it says of steps is of those around the body. */
        struct facts outer = facts_of(guard.guards->outer_whens[i], 0, true, 0);
        for (uint32_t j = 0; j < outer.member_count; j++)
            add_member(&facts, outer.members[j]);
    }
    check_node(&guard, 0, &facts);
}

/* ---- always true or false ---- */

/* Whether every order brings what the path leads to; then *ret_name is the last member of it. */
static bool is_required(const struct expression *expression, uint16_t path,
                        const struct expression_shape *shape, struct text *ret_name)
{
    const struct expression_node *first = node_at(expression, node_at(expression, path)->first);
    struct text name = {0};
    if (first->kind != EXPR_NAME || first->code != NAME_INPUT)
        return false;
    for (uint16_t at = first->next; at != 0; at = node_at(expression, at)->next) {
        const struct expression_node *node = node_at(expression, at);
        shape = node->kind == EXPR_MEMBER ? member_of(shape, node->text) : NULL;
        if (shape == NULL || shape->optional)
            return false;
        name = node->text;
    }
    *ret_name = name;
    return !text_empty(name);
}

static enum expression_truth truth_at(const struct expression *expression, uint16_t index,
                                      const struct expression_names *names)
{
    const struct expression_node *node = node_at(expression, index);
    struct text name;
    if (node->kind == EXPR_BOOL)
        return node->whole != 0 ? TRUTH_TRUE : TRUTH_FALSE;
    if (node->kind == EXPR_HAS_STEP && node->code == NAME_OUTPUT && names->guards != NULL)
        return (names->guards->always >> node->index & 1) != 0 ? TRUTH_TRUE : TRUTH_UNKNOWN;
    if (node->kind == EXPR_HAS)
        return is_required(expression, node->first, names->input, &name) ? TRUTH_TRUE
                                                                         : TRUTH_UNKNOWN;
    if (node->kind == EXPR_NOT) {
        enum expression_truth truth = truth_at(expression, node->first, names);
        return truth == TRUTH_TRUE ? TRUTH_FALSE : truth == TRUTH_FALSE ? TRUTH_TRUE : truth;
    }
    if (node->kind != EXPR_AND && node->kind != EXPR_OR)
        return TRUTH_UNKNOWN;
    enum expression_truth decides = node->kind == EXPR_OR ? TRUTH_TRUE : TRUTH_FALSE;
    bool all = true;
    for (uint16_t at = node->first; at != 0; at = node_at(expression, at)->next) {
        enum expression_truth truth = truth_at(expression, at, names);
        if (truth == decides)
            return decides;
        all = all && truth != TRUTH_UNKNOWN;
    }
    return !all ? TRUTH_UNKNOWN : decides == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE;
}

static bool refers_to_nothing(const struct expression *expression)
{
    for (uint16_t i = 0; i < expression->node_count; i++) {
        if (expression->nodes[i].kind == EXPR_NAME || expression->nodes[i].kind == EXPR_HAS_STEP)
            return false;
    }
    return true;
}

struct text expression_asks_for_required(const struct expression *expression,
                                         const struct expression_names *names)
{
    const struct expression_node *node = node_at(expression, 0);
    struct text name = {0};
    while (node->kind == EXPR_NOT)
        node = node_at(expression, node->first);
    if (node->kind == EXPR_HAS)
        is_required(expression, node->first, names->input, &name);
    return name;
}

enum expression_truth expression_truth_of(const struct expression *expression,
                                          const struct expression_names *names, struct arena *arena)
{
    struct expression_scope scope = {0};
    struct expression_run run;
    struct expression_error error;
    bool yes = false;
    if (!refers_to_nothing(expression))
        return truth_at(expression, 0, names);
    expression_run_init(&run, &scope, CONSTANT_UNITS_MAX, arena);
    if (!expression_test(&run, expression, &yes, &error))
        return TRUTH_UNKNOWN;
    return yes ? TRUTH_TRUE : TRUTH_FALSE;
}
