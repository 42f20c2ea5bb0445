/* SPDX-License-Identifier: Apache-2.0 */
/* See reads.h. */
#include "engine/expression/reads.h"

#include <assert.h>

/* Some hundred times the largest input. */
#define COMPARED_BYTES_MAX (64 * UINT64_C(1024) * 1024)

void input_change_init(struct input_change *change, struct text before, struct text after)
{
    *change = (struct input_change){.before = before, .after = after};
    change->walk.left = COMPARED_BYTES_MAX;
}

/* ---- one path ---- */

/* Equal values have equal bytes, but a value that is not there has none, and is not null. */
static bool values_differ(struct input_change *change, struct json_value before,
                          struct json_value after)
{
    if (before.at == NULL || after.at == NULL)
        return before.at != after.at;
    struct text a = json_value_text(before, &change->walk);
    struct text b = json_value_text(after, &change->walk);
    return change->walk.spent || !text_equal(a, b);
}

/* `accessor` is the index of the first node behind `input`, 0: none; `asked`: by has(), whether the
 * last member is there. Where one of the values is not a map, a member of it is an error, and an
 * error instead of a value is another result. */
static bool path_differs(const struct expression *expression, uint16_t accessor, bool asked,
                         struct input_change *change)
{
    struct json_value before = json_value_of(change->before);
    struct json_value after = json_value_of(change->after);
    change->path.depth = 0;
    while (accessor != 0 && json_value_kind(before) == JSON_KIND_MAP &&
           json_value_kind(after) == JSON_KIND_MAP &&
           change->path.depth < JSON_ENVELOPE_DEPTH_MAX) {
        const struct expression_node *node = &expression->nodes[accessor];
        if (node->kind != EXPR_MEMBER) /* x['y'] is one as well */
            break;
        before = json_value_member(before, node->text, &change->walk);
        after = json_value_member(after, node->text, &change->walk);
        change->path.levels[change->path.depth++] = (struct json_path_level){.name = node->text};
        accessor = node->next;
    }
    if (asked && accessor == 0)
        return change->walk.spent || (before.at == NULL) != (after.at == NULL);
    return change->walk.spent || values_differ(change, before, after);
}

bool input_differs(struct input_change *change)
{
    return path_differs(NULL, 0, false, change);
}

/* ---- expressions ---- */

/* A set of an expression's nodes. */
struct nodes {
    uint64_t bits[(EXPRESSION_NODES_MAX + 63) / 64];
};

static void add_node(struct nodes *nodes, uint16_t index)
{
    assert(index < EXPRESSION_NODES_MAX);
    nodes->bits[index / 64] |= UINT64_C(1) << index % 64;
}

static bool has_node(const struct nodes *nodes, uint16_t index)
{
    return (nodes->bits[index / 64] >> index % 64 & 1) != 0;
}

/* Of one node; what a path begins with is looked at as a part of it. */
static bool node_reads_change(const struct expression *expression, uint16_t index, bool asked,
                              struct input_change *change)
{
    const struct expression_node *node = &expression->nodes[index];
    bool path = node->kind == EXPR_PATH;
    const struct expression_node *name = path ? &expression->nodes[node->first] : node;
    uint16_t accessor = path ? name->next : 0;
    if (name->kind == EXPR_NAME && name->code == NAME_INPUT)
        return path_differs(expression, accessor, asked, change);
    bool step =
        name->kind == EXPR_HAS_STEP ||
        (name->kind == EXPR_NAME && (name->code == NAME_OUTPUT || name->code == NAME_ERROR));
    struct step_read read = {expression, name, accessor, asked || name->kind == EXPR_HAS_STEP};
    if (!step || change->step_differs == NULL || !change->step_differs(change->of, &read, change))
        return false;
    change->read = read;
    return true;
}

/* What follows the outputs that are read may come here once for each way to them. */
static bool spend(struct input_change *change, uint64_t bytes)
{
    change->walk.spent = change->walk.spent || change->walk.left < bytes;
    change->walk.left -= change->walk.spent ? change->walk.left : bytes;
    return !change->walk.spent;
}

bool expression_reads_change(const struct expression *expression, struct input_change *change)
{
    struct nodes begins = {{0}}; /* names that a path begins with */
    struct nodes asked = {{0}};  /* paths within has() */
    uint16_t count = expression != NULL ? expression->node_count : 0;
    assert(count <= EXPRESSION_NODES_MAX);
    if (!spend(change, count * sizeof(struct expression_node)))
        return true;
    for (uint16_t i = 0; i < count; i++) {
        const struct expression_node *node = &expression->nodes[i];
        if (node->kind == EXPR_HAS)
            add_node(&asked, node->first);
        if (node->kind == EXPR_PATH)
            add_node(&begins, node->first);
    }
    for (uint16_t i = 0; i < count; i++) {
        if (!has_node(&begins, i) && node_reads_change(expression, i, has_node(&asked, i), change))
            return true;
    }
    return false;
}

/* ---- templates: no deeper than JSON ---- */

bool template_reads_change(const struct expression_template *template, struct input_change *change)
{
    if (template == NULL)
        return false;
    if (template->kind == TEMPLATE_EXPRESSION)
        return expression_reads_change(template->expression, change);
    bool reads = false;
    for (const struct expression_template *child = template->first; child != NULL && !reads;
         child = child->next)
        reads = template_reads_change(child, change);
    return reads;
}

/* The part of a map that a path of members leads to is made by the template's part of this name;
 * what is not there is not there either way. */
bool template_part_reads_change(const struct expression_template *template,
                                const struct step_read *read, struct input_change *change)
{
    uint16_t accessor = read->accessor;
    while (template != NULL && template->kind == TEMPLATE_MAP && accessor != 0) {
        const struct expression_node *node = &read->expression->nodes[accessor];
        const struct expression_template *child = template->first;
        if (node->kind != EXPR_MEMBER)
            break;
        while (child != NULL && !text_equal(child->name, node->text))
            child = child->next;
        template = child;
        accessor = node->next;
    }
    bool there = read->asked && accessor == 0; /* whatever its value is */
    return !there && template_reads_change(template, change);
}
