/* SPDX-License-Identifier: Apache-2.0 */
/* Which step of which order of the tree a text names: "Pay", "Load~3/Store", "Load/Store". */
#include "base/numbers.h"
#include "base/suggest.h"
#include "rehearsal/case_reader.h"

#include <assert.h>

bool case_order_is_among(const struct case_order *order, const struct case_order *these)
{
    if (order->depth != these->depth)
        return false;
    for (uint32_t i = 0; i < these->depth; i++) {
        if (order->path[i].step != these->path[i].step ||
            (these->path[i].item != CASE_EVERY_ITEM && order->path[i].item != these->path[i].item))
            return false;
    }
    return true;
}

/* ---- one name ---- */

/* -1 after a problem. */
static int find_name(const struct case_reader *reader, const struct workflow *workflow,
                     struct text name, struct mark mark)
{
    struct text names[WORKFLOW_STEPS_MAX];
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        names[i] = workflow->steps[i].name;
        if (text_equal(names[i], name))
            return (int)i;
    }
    if (text_empty(name)) {
        problems_add_error(reader->values.problems, mark,
                           "the name of a step is missing; write STEP, STEP/STEP or "
                           "STEP~ITEM/STEP");
        return -1;
    }
    const struct text *near = suggest_text(name, names, workflow->step_count);
    if (near != NULL)
        problems_add_error(reader->values.problems, mark,
                           "%.*s is not a step of workflow %.*s: did you mean %.*s?",
                           QUOTE_ARG(name), TEXT_ARG(workflow->name), TEXT_ARG(*near));
    else
        problems_add_error(reader->values.problems, mark, "%.*s is not a step of workflow %.*s",
                           QUOTE_ARG(name), TEXT_ARG(workflow->name));
    return -1;
}

/* Of a step with Steps, the sub-orders that it starts. */
static void enter(const struct workflow_step *plan, struct case_step *step, int64_t item)
{
    struct case_order *suborder = &step->suborder;
    *suborder = step->order;
    assert(suborder->depth < CASE_DEPTH_MAX);
    suborder->workflow = plan->suborders.body;
    suborder->path[suborder->depth].step = step->step;
    suborder->path[suborder->depth].item = item;
    suborder->depth++;
}

/* As ids of sub-orders have it. */
static bool read_item(struct text text, int64_t *ret_item)
{
    bool plain = text.size == 1 || (text.size > 1 && text.data[0] > '0' && text.data[0] <= '9');
    return plain && number_parse(text, 0, SUBORDERS_MAX - 1, ret_item);
}

/* "STEP" or "STEP~ITEM" */
static bool find_level(const struct case_reader *reader, struct text name, struct mark mark,
                       struct case_step *step)
{
    struct workflow_problems *problems = reader->values.problems;
    const char *tilde = name.size > 0 ? memchr(name.data, '~', name.size) : NULL;
    uint32_t size = tilde != NULL ? (uint32_t)(tilde - name.data) : name.size;
    int index = find_name(reader, step->order.workflow, (struct text){name.data, size}, mark);
    struct text start = {name.data, size + 1}; /* with the '~' */
    int64_t item = 0;
    if (index < 0)
        return false;
    const struct workflow_step *plan = &step->order.workflow->steps[index];
    step->step = (uint32_t)index;
    step->suborder = (struct case_order){0};
    step->names_item = tilde != NULL;
    if (tilde != NULL && !plan->suborders.for_each)
        problems_add_error(problems, mark,
                           "step %.*s has no ForEach, and so no items: leave out %.*s",
                           TEXT_ARG(plan->name), QUOTE_ARG(text_from(name, size)));
    else if (tilde != NULL && !read_item(text_from(name, size + 1), &item))
        problems_add_error(problems, mark,
                           "%.*s must be followed by the number of an item, from 0 to %d",
                           QUOTE_ARG(start), SUBORDERS_MAX - 1);
    else if (plan->suborders.body != NULL)
        enter(plan, step, tilde != NULL ? item : plan->suborders.for_each ? CASE_EVERY_ITEM : -1);
    return tilde == NULL || step->suborder.workflow != NULL;
}

/* ---- a whole one ---- */

bool case_find_step(const struct case_reader *reader, struct text text, struct mark mark,
                    struct case_step *ret_step)
{
    struct case_step step = {.order = {.workflow = reader->workflow},
                             .name = arena_text(reader->values.arena, text)};
    struct text rest = text;
    for (;;) {
        const char *slash = rest.size > 0 ? memchr(rest.data, '/', rest.size) : NULL;
        uint32_t size = slash != NULL ? (uint32_t)(slash - rest.data) : rest.size;
        if (!find_level(reader, (struct text){rest.data, size}, mark, &step))
            return false;
        if (slash == NULL)
            break;
        if (step.suborder.workflow == NULL) {
            problems_add_error(reader->values.problems, mark,
                               "step %.*s has no Steps, so no step of it can be named",
                               TEXT_ARG(step.order.workflow->steps[step.step].name));
            return false;
        }
        step.order = step.suborder;
        rest = text_from(rest, size + 1);
    }
    *ret_step = step;
    return true;
}

bool case_is_step(const struct case_reader *reader, const struct case_step *step, struct mark mark)
{
    if (step->names_item)
        problems_add_error(reader->values.problems, mark,
                           "%.*s is a sub-order; a step of it is named after a '/'",
                           QUOTE_ARG(step->name));
    return !step->names_item;
}

/* False after a problem: an item is left out. */
static bool is_one(const struct case_reader *reader, const struct case_order *order,
                   struct text name, struct mark mark)
{
    const struct workflow *workflow = reader->workflow;
    for (uint32_t i = 0; i < order->depth; i++) {
        const struct workflow_step *plan = &workflow->steps[order->path[i].step];
        if (order->path[i].item == CASE_EVERY_ITEM) {
            problems_add_error(reader->values.problems, mark,
                               "%.*s does not say which item of %.*s, the first of which is "
                               "%.*s~0",
                               QUOTE_ARG(name), TEXT_ARG(plan->name), TEXT_ARG(plan->name));
            return false;
        }
        workflow = plan->suborders.body;
    }
    return true;
}

bool case_names_one(const struct case_reader *reader, const struct case_step *step,
                    struct mark mark)
{
    return is_one(reader, &step->order, step->name, mark);
}

bool case_find_one_step(const struct case_reader *reader, struct text text, struct mark mark,
                        struct case_step *ret_step)
{
    return case_find_step(reader, text, mark, ret_step) && case_is_step(reader, ret_step, mark) &&
           case_names_one(reader, ret_step, mark);
}

bool case_find_suborder(const struct case_reader *reader, struct text text, struct mark mark,
                        bool one, struct case_step *ret_step)
{
    if (!case_find_step(reader, text, mark, ret_step))
        return false;
    if (ret_step->suborder.workflow == NULL) {
        problems_add_error(reader->values.problems, mark,
                           "step %.*s has no Steps, and so no sub-orders", QUOTE_ARG(text));
        return false;
    }
    return !one || is_one(reader, &ret_step->suborder, text, mark);
}

void case_read_by_step(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, case_take_of_step *take, void *ctx)
{
    if (node->kind != NODE_MAPPING) {
        problems_add_error(reader->values.problems, node->mark,
                           "%s must be a mapping by the names of steps, not %s", what,
                           yaml_node_phrase(node));
        return;
    }
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct case_step step;
        if (case_find_step(reader, child->key->text, child->key->mark, &step))
            take(reader, child, &step, ctx);
    }
}
