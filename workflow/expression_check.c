/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of values rule out. See expression_parse.h. Every node has the set of kinds that
 * its value may be of; an operator whose operands can never fit is a mistake. */
#include "workflow/expression_parse.h"

#include "base/suggest.h"

#include <assert.h>
#include <stdio.h>

/* What is known of a value. */
struct known {
    uint8_t kinds;
    const struct expression_shape *shape; /* of a list or a map; NULL: anything may be in it */
};

struct checker {
    struct expression_draft *draft;
    struct known variables[EXPRESSION_DEPTH_MAX];
};

#define K(kind) KIND_SET(kind)
#define KINDS_SIZED (K(TEXT) | K(LIST) | K(MAP))

static const struct known anything = {KINDS_ANY, NULL};
static const struct known yes_or_no = {K(BOOL), NULL};

/* ---- the members that are always known ---- */

#define MEMBER(text, kinds_)                        \
    {                                               \
        .kinds = (kinds_), .name = TEXT_CONST(text) \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct expression_shape line_members[] = {
    MEMBER("description", K(TEXT)),
    MEMBER("quantity", KINDS_NUMBER),
    MEMBER("sku", K(TEXT)),
    MEMBER("unit_price", KINDS_NUMBER),
};
static const struct expression_shape line_shape = {
    .kinds = K(MAP), .members = line_members, .member_count = COUNT(line_members)};
/* By enum expression_order_member. */
static const struct expression_shape order_members[] = {
    MEMBER("id", K(TEXT)),
    MEMBER("customer", K(TEXT)),
    MEMBER("currency", K(TEXT)),
    {.kinds = K(LIST), .name = TEXT_CONST("lines"), .element = &line_shape},
    MEMBER("attributes", K(MAP)),
    MEMBER("priority", K(TEXT)),
    MEMBER("submitted_by", K(TEXT)),
};
_Static_assert(COUNT(order_members) == EXPRESSION_ORDER_MEMBER_COUNT, "a shape for each");
static const struct expression_shape error_members[] = {
    MEMBER("message", K(TEXT)),
    MEMBER("name", K(TEXT)),
};
static const struct expression_shape error_shape = {
    .kinds = K(MAP), .members = error_members, .member_count = COUNT(error_members)};

/* ---- reporting ---- */

static const struct expression_node *node_at(const struct checker *checker, uint16_t index)
{
    assert(index < checker->draft->node_count);
    return &checker->draft->nodes[index];
}

/* "a boolean, a number or a text". */
static const char *phrase_of(uint8_t kinds, char *phrase, size_t size)
{
    size_t used = 0;
    phrase[0] = '\0';
    if (kinds == KINDS_ANY)
        return "anything";
    uint8_t rest = (kinds & K(INT)) != 0 ? (uint8_t)(kinds & ~K(REAL)) : kinds;
    for (uint32_t kind = 0; rest != 0 && used < size; kind++) {
        if ((rest & 1U << kind) == 0)
            continue;
        rest &= (uint8_t)(rest - 1);
        used += (size_t)snprintf(phrase + used, size - used, "%s%s",
                                 used == 0   ? ""
                                 : rest == 0 ? " or "
                                             : ", ",
                                 value_kind_phrase((enum value_kind)kind));
    }
    return phrase;
}

/* "WHAT takes a text, not a number". */
static void require(const struct checker *checker, uint32_t at, const char *what, uint8_t kinds,
                    struct known found)
{
    char wanted[96], is[96];
    if ((found.kinds & kinds) == 0)
        expression_report(checker->draft->problems, WORKFLOW_ERROR, at, "%s takes %s, not %s", what,
                          phrase_of(kinds, wanted, sizeof(wanted)),
                          phrase_of(found.kinds, is, sizeof(is)));
}

/* ---- nodes ---- */

static struct known check_node(struct checker *checker, uint16_t index);

static struct known of_shape(const struct expression_shape *shape)
{
    return shape != NULL ? (struct known){shape->kinds, shape} : anything;
}

static struct known either(struct known a, struct known b)
{
    return (struct known){a.kinds | b.kinds, a.shape == b.shape ? a.shape : NULL};
}

static struct known check_name(const struct checker *checker, const struct expression_node *node)
{
    switch ((enum expression_name)node->code) {
    case NAME_INPUT:
        return of_shape(checker->draft->names->input);
    case NAME_ORDER:
        return of_shape(&order_members[node->index]);
    case NAME_ERROR:
        return of_shape(&error_shape);
    case NAME_INDEX:
        return (struct known){K(INT), NULL};
    case NAME_TICK:
        return (struct known){K(TEXT), NULL};
    case NAME_OUTPUT:
        return of_shape(checker->draft->names->steps[node->index].output);
    case NAME_ITEM:
        return of_shape(checker->draft->names->item);
    case NAME_RESULT:
        return of_shape(checker->draft->names->result);
    case EXPRESSION_NAME_COUNT:
        break;
    }
    return anything;
}

static const struct expression_shape *find_member(const struct expression_shape *shape,
                                                  struct text name)
{
    for (uint32_t i = 0; i < shape->member_count; i++) {
        if (text_equal(shape->members[i].name, name))
            return &shape->members[i];
    }
    return NULL;
}

static void report_member(const struct checker *checker, const struct expression_node *node,
                          const struct expression_shape *shape)
{
    struct text names[64];
    uint32_t count = shape->member_count < 64 ? shape->member_count : 64;
    for (uint32_t i = 0; i < count; i++)
        names[i] = shape->members[i].name;
    expression_report_unknown(checker->draft, node->at, "member", node->text, names, count);
}

/* Known before any order is. */
static void check_index(const struct checker *checker, const struct expression_node *index)
{
    if (index->kind == EXPR_INT && index->whole < 0)
        expression_report(checker->draft->problems, WORKFLOW_ERROR, index->at,
                          "elements count from 0: write l[size(l) - 1] for the last one");
}

static struct known check_step_of_path(struct checker *checker, uint16_t index, struct known base)
{
    const struct expression_node *node = node_at(checker, index);
    if (node->kind == EXPR_ELEMENT) {
        struct known key = check_node(checker, node->first);
        require(checker, node->at, "an index in brackets", K(LIST) | K(MAP), base);
        require(checker, node_at(checker, node->first)->at, "an index in brackets",
                KINDS_NUMBER | K(TEXT), key);
        check_index(checker, node_at(checker, node->first));
        bool list = base.shape != NULL && base.shape->kinds == K(LIST);
        return list ? of_shape(base.shape->element) : anything;
    }
    assert(node->kind == EXPR_MEMBER);
    char what[16 + NAME_BYTES_MAX];
    snprintf(what, sizeof(what), ".%.*s", QUOTE_ARG(node->text));
    require(checker, node->at, what, K(MAP), base);
    if (base.shape == NULL || base.shape->members == NULL || (base.kinds & K(MAP)) == 0)
        return anything;
    const struct expression_shape *member = find_member(base.shape, node->text);
    if (member == NULL)
        report_member(checker, node, base.shape);
    return of_shape(member);
}

static struct known check_path(struct checker *checker, const struct expression_node *node)
{
    const struct expression_node *first = node_at(checker, node->first);
    struct known known = check_node(checker, node->first);
    if (first->kind == EXPR_NAME && first->code == NAME_OUTPUT && known.kinds == KIND_SET(NULL)) {
        expression_report(checker->draft->problems, WORKFLOW_ERROR, first->at,
                          "step %.*s has Steps without an Output, so its output is null: give it "
                          "one",
                          QUOTE_ARG(first->text));
        return anything;
    }
    for (uint16_t at = first->next; at != 0; at = node_at(checker, at)->next)
        known = check_step_of_path(checker, at, known);
    return known;
}

/* ---- operators ---- */

static struct known check_sum(const struct checker *checker, const struct expression_node *right,
                              struct known a, struct known b)
{
    uint8_t both = a.kinds & b.kinds & (K(TEXT) | K(LIST));
    if ((a.kinds & KINDS_NUMBER) != 0 && (b.kinds & KINDS_NUMBER) != 0)
        both |= KINDS_NUMBER;
    char left_phrase[96], right_phrase[96];
    if (both == 0)
        expression_report(
            checker->draft->problems, WORKFLOW_ERROR, right->op_at, "+ cannot add %s and %s%s",
            phrase_of(a.kinds, left_phrase, sizeof(left_phrase)),
            phrase_of(b.kinds, right_phrase, sizeof(right_phrase)),
            ((a.kinds | b.kinds) & K(TEXT)) != 0   ? ": write string(...) for a text"
            : ((a.kinds | b.kinds) & K(LIST)) != 0 ? ": write [x] for a list of one element"
                                                   : "");
    return both != 0 ? (struct known){both, NULL} : anything;
}

static struct known check_order(const struct checker *checker, const struct expression_node *right,
                                struct known a, struct known b)
{
    char left_phrase[96], right_phrase[96];
    bool numbers = (a.kinds & KINDS_NUMBER) != 0 && (b.kinds & KINDS_NUMBER) != 0;
    if (!numbers && (a.kinds & b.kinds & K(TEXT)) == 0)
        expression_report(checker->draft->problems, WORKFLOW_ERROR, right->op_at,
                          "%s compares two numbers or two texts, not %s and %s",
                          expression_operator_text(right->op),
                          phrase_of(a.kinds, left_phrase, sizeof(left_phrase)),
                          phrase_of(b.kinds, right_phrase, sizeof(right_phrase)));
    return yes_or_no;
}

static struct known check_equal(const struct checker *checker, const struct expression_node *right,
                                struct known a, struct known b)
{
    char left_phrase[96], right_phrase[96];
    bool numbers = (a.kinds & KINDS_NUMBER) != 0 && (b.kinds & KINDS_NUMBER) != 0;
    if (!numbers && (a.kinds & b.kinds) == 0)
        expression_report(checker->draft->problems, WORKFLOW_WARNING, right->op_at,
                          "%s and %s are never equal: convert one, or correct the comparison",
                          phrase_of(a.kinds, left_phrase, sizeof(left_phrase)),
                          phrase_of(b.kinds, right_phrase, sizeof(right_phrase)));
    return yes_or_no;
}

static struct known check_arithmetic(const struct checker *checker,
                                     const struct expression_node *right, struct known a,
                                     struct known b)
{
    uint8_t wanted = right->op == OPERATOR_REMAINDER ? K(INT) : KINDS_NUMBER;
    const char *text = expression_operator_text(right->op);
    if (right->op == OPERATOR_REMAINDER &&
        ((a.kinds & KINDS_NUMBER) == K(REAL) || (b.kinds & KINDS_NUMBER) == K(REAL))) {
        expression_report(checker->draft->problems, WORKFLOW_ERROR, right->op_at,
                          "%% takes whole numbers: write int(x) %% int(y)");
        return (struct known){K(INT), NULL};
    }
    require(checker, right->op_at, text, wanted, a);
    require(checker, right->op_at, text, wanted, b);
    if (right->op == OPERATOR_DIVIDE)
        return (struct known){K(REAL), NULL};
    bool whole = (a.kinds & KINDS_NUMBER) == K(INT) && (b.kinds & KINDS_NUMBER) == K(INT);
    bool real = (a.kinds & K(INT)) == 0 || (b.kinds & K(INT)) == 0;
    return (struct known){whole ? K(INT) : real ? K(REAL) : KINDS_NUMBER, NULL};
}

static struct known check_operator(const struct checker *checker,
                                   const struct expression_node *right, struct known a,
                                   struct known b)
{
    switch ((enum expression_operator)right->op) {
    case OPERATOR_EQUAL:
    case OPERATOR_NOT_EQUAL:
        return check_equal(checker, right, a, b);
    case OPERATOR_LESS:
    case OPERATOR_LESS_EQUAL:
    case OPERATOR_GREATER:
    case OPERATOR_GREATER_EQUAL:
        return check_order(checker, right, a, b);
    case OPERATOR_IN:
        require(checker, right->at, "in", K(LIST) | K(MAP), b);
        return yes_or_no;
    case OPERATOR_ADD:
        return check_sum(checker, right, a, b);
    case OPERATOR_SUBTRACT:
    case OPERATOR_MULTIPLY:
    case OPERATOR_DIVIDE:
    case OPERATOR_REMAINDER:
        return check_arithmetic(checker, right, a, b);
    case OPERATOR_NONE:
    case EXPRESSION_OPERATOR_COUNT:
        break;
    }
    return anything;
}

/* A choice of an Await, held against a text that is not among its Options. */
static void check_option(const struct checker *checker, struct known choice, uint16_t with)
{
    const struct expression_node *node = node_at(checker, with);
    struct text_list words = choice.shape != NULL ? choice.shape->words : (struct text_list){0};
    if (words.count == 0)
        return;
    if (node->kind == EXPR_TEXT && !text_list_has(words, node->text))
        expression_report_option(checker->draft, node->at, node->text, words);
    for (uint16_t at = node->kind == EXPR_LIST ? node->first : 0; at != 0;
         at = node_at(checker, at)->next)
        check_option(checker, choice, at);
}

static void check_options(const struct checker *checker, uint16_t left, uint16_t right,
                          struct known a, struct known b)
{
    uint8_t op = node_at(checker, right)->op;
    if (op == OPERATOR_EQUAL || op == OPERATOR_NOT_EQUAL || op == OPERATOR_IN)
        check_option(checker, a, right);
    if (op == OPERATOR_EQUAL || op == OPERATOR_NOT_EQUAL)
        check_option(checker, b, left);
}

static struct known check_chain(struct checker *checker, const struct expression_node *node)
{
    struct known known = check_node(checker, node->first);
    uint16_t left = node->first;
    for (uint16_t at = node_at(checker, node->first)->next; at != 0;
         left = at, at = node_at(checker, at)->next) {
        struct known right = check_node(checker, at);
        check_options(checker, left, at, known, right);
        known = check_operator(checker, node_at(checker, at), known, right);
    }
    return known;
}

static struct known check_logic(struct checker *checker, const struct expression_node *node)
{
    const char *text = node->kind == EXPR_AND ? "&&" : node->kind == EXPR_OR ? "||" : "!";
    for (uint16_t at = node->first; at != 0; at = node_at(checker, at)->next)
        require(checker, node_at(checker, at)->at, text, K(BOOL), check_node(checker, at));
    return yes_or_no;
}

static struct known check_condition(struct checker *checker, const struct expression_node *node)
{
    struct known known = {0, NULL};
    uint16_t at = node->first;
    bool first = true;
    while (node_at(checker, at)->next != 0) {
        require(checker, node_at(checker, at)->at, "?", K(BOOL), check_node(checker, at));
        at = node_at(checker, at)->next;
        struct known then = check_node(checker, at);
        known = first ? then : either(known, then);
        first = false;
        at = node_at(checker, at)->next;
    }
    return either(known, check_node(checker, at));
}

/* ---- calls ---- */

static struct known result_of(enum expression_function function)
{
    switch (function) {
    case FUNCTION_SIZE:
    case FUNCTION_INT:
        return (struct known){K(INT), NULL};
    case FUNCTION_DOUBLE:
        return (struct known){K(REAL), NULL};
    case FUNCTION_STRING:
        return (struct known){K(TEXT), NULL};
    case FUNCTION_SUM:
    case FUNCTION_MIN:
    case FUNCTION_MAX:
        return (struct known){KINDS_NUMBER, NULL};
    case FUNCTION_STARTS_WITH:
    case FUNCTION_ENDS_WITH:
    case FUNCTION_CONTAINS:
    case FUNCTION_ALL:
    case FUNCTION_EXISTS:
    case FUNCTION_EXISTS_ONE:
        return yes_or_no;
    case FUNCTION_MAP:
    case FUNCTION_FILTER:
        return (struct known){K(LIST), NULL};
    case EXPRESSION_FUNCTION_COUNT:
        break;
    }
    return anything;
}

static void require_target(const struct checker *checker, const struct expression_node *node,
                           struct known target)
{
    static const uint8_t kinds[] = {
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) on,
#include "engine/expression/functions.def"
    };
    char what[NAME_BYTES_MAX];
    snprintf(what, sizeof(what), "%.*s()",
             TEXT_ARG(expression_function_text((enum expression_function)node->code)));
    require(checker, node->at, what, kinds[node->code], target);
}

static struct known check_call(struct checker *checker, const struct expression_node *node)
{
    /* The argument of startsWith and its like is of its target's kind. */
    for (uint16_t at = node->first; at != 0; at = node_at(checker, at)->next)
        require_target(checker, node, check_node(checker, at));
    return result_of((enum expression_function)node->code);
}

static struct known check_macro(struct checker *checker, const struct expression_node *node)
{
    struct known list = check_node(checker, node->first);
    require_target(checker, node, list);
    bool known = list.shape != NULL && list.shape->kinds == K(LIST);
    assert(node->index < EXPRESSION_DEPTH_MAX);
    checker->variables[node->index] = known ? of_shape(list.shape->element) : anything;
    uint16_t body = node_at(checker, node->first)->next;
    struct known result = check_node(checker, body);
    if (node->code != FUNCTION_MAP)
        require(checker, node_at(checker, body)->at, "the condition of a macro", K(BOOL), result);
    if (node->code == FUNCTION_FILTER)
        return (struct known){K(LIST), known ? list.shape : NULL};
    return result_of((enum expression_function)node->code);
}

static struct known check_children(struct checker *checker, const struct expression_node *node)
{
    for (uint16_t at = node->first; at != 0; at = node_at(checker, at)->next)
        check_node(checker, at);
    return anything;
}

static struct known check_negative(struct checker *checker, const struct expression_node *node)
{
    struct known known = check_node(checker, node->first);
    require(checker, node->at, "-", KINDS_NUMBER, known);
    uint8_t kinds = known.kinds & KINDS_NUMBER;
    return (struct known){kinds != 0 ? kinds : KINDS_NUMBER, NULL};
}

_Static_assert(EXPR_NULL == (int)VALUE_NULL && EXPR_TEXT == (int)VALUE_TEXT,
               "constants have the order of their kinds");

/* Recursion: see EXPRESSION_DEPTH_MAX. */
static struct known check_node(struct checker *checker, uint16_t index)
{
    const struct expression_node *node = node_at(checker, index);
    switch ((enum expression_node_kind)node->kind) {
    case EXPR_NULL:
    case EXPR_BOOL:
    case EXPR_INT:
    case EXPR_REAL:
    case EXPR_TEXT:
        return (struct known){(uint8_t)(1U << node->kind), NULL};
    case EXPR_LIST:
        check_children(checker, node);
        return (struct known){K(LIST), NULL};
    case EXPR_MAP:
        check_children(checker, node);
        return (struct known){K(MAP), NULL};
    case EXPR_NAME:
        return check_name(checker, node);
    case EXPR_VARIABLE:
        return checker->variables[node->index];
    case EXPR_PATH:
        return check_path(checker, node);
    case EXPR_HAS:
        check_children(checker, node);
        return yes_or_no;
    case EXPR_HAS_STEP:
        return yes_or_no;
    case EXPR_CALL:
        return check_call(checker, node);
    case EXPR_MACRO:
        return check_macro(checker, node);
    case EXPR_NEGATE:
        return check_negative(checker, node);
    case EXPR_CHAIN:
        return check_chain(checker, node);
    case EXPR_NOT:
    case EXPR_AND:
    case EXPR_OR:
        return check_logic(checker, node);
    case EXPR_CONDITION:
        return check_condition(checker, node);
    case EXPR_ENTRY:
    case EXPR_MEMBER:
    case EXPR_ELEMENT:
    case EXPRESSION_NODE_KIND_COUNT:
        break;
    }
    return check_children(checker, node);
}

static struct known check(struct expression_draft *draft)
{
    struct checker checker = {.draft = draft};
    for (uint32_t i = 0; i < EXPRESSION_DEPTH_MAX; i++)
        checker.variables[i] = anything;
    return check_node(&checker, 0);
}

void expression_check(struct expression_draft *draft, uint8_t kinds)
{
    struct known known = check(draft);
    char wanted[96], is[96];
    if ((known.kinds & kinds) == 0)
        expression_report(draft->problems, WORKFLOW_ERROR, 0, "this gives %s; %s it must give %s",
                          phrase_of(known.kinds, is, sizeof(is)),
                          kinds == KINDS_IN_TEXT ? "within other text" : "here",
                          phrase_of(kinds, wanted, sizeof(wanted)));
}

const struct expression_shape expression_shape_any = {.kinds = KINDS_ANY};

const struct expression_shape *expression_shape_of_value(const struct expression *expression,
                                                         const struct expression_names *names,
                                                         struct arena *arena)
{
    struct expression_problems unseen = {0}; /* reported when it was compiled */
    struct expression_draft draft;
    draft.source = expression->source;
    draft.names = names;
    draft.arena = arena;
    draft.problems = &unseen;
    draft.node_count = expression->node_count;
    memcpy(draft.nodes, expression->nodes, expression->node_count * sizeof(draft.nodes[0]));
    struct known known = check(&draft);
    struct expression_shape *shape = ARENA_NEW(arena, struct expression_shape);
    *shape = known.shape != NULL ? *known.shape : (struct expression_shape){0};
    shape->kinds = known.kinds;
    shape->optional = false;
    shape->name = (struct text){0};
    return shape;
}
