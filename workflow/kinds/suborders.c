/* SPDX-License-Identifier: Apache-2.0 */
/* A step with sub-orders: one, or one for each item of a list. */
#include "workflow/compile.h"

#include "base/json.h"

/* ---- ForEach ---- */

/* `result` is the output of an item, as far as `suborders.body` tells. */
struct for_each {
    struct field_values fields;
    const struct expression_shape *item; /* NULL: any */
    uint32_t count;                      /* of a list as the file has it; 0: not known */
};

static const struct expression_shape *element_of(const struct expression_shape *list)
{
    return list != NULL && list->element != NULL ? list->element : &expression_shape_any;
}

static void read_list(struct workflow_compiler *compiler, struct draft *draft,
                      const struct yaml_node *node, struct for_each *for_each)
{
    struct workflow_step *step = &draft->step;
    if (node->count < 1 || node->count > SUBORDERS_MAX) {
        problems_add_error(compiler->values.problems, node->mark,
                           "Items has %u elements; it must have 1 to %d", node->count,
                           SUBORDERS_MAX);
        return;
    }
    for_each->count = node->count;
    step->suborders.list =
        compile_step_template(compiler, draft, node, "Items", 0, ORDER_ITEMS_BYTES_MAX);
    for_each->item =
        element_of(compile_shape_of_template(compiler, draft, step->suborders.list, 0));
}

static void read_items(struct workflow_compiler *compiler, struct draft *draft,
                       const struct yaml_node *node, struct for_each *for_each)
{
    struct workflow_step *step = &draft->step;
    if (node->kind == NODE_SEQUENCE) {
        read_list(compiler, draft, node, for_each);
        return;
    }
    if (node->kind == NODE_MAPPING) {
        problems_add_error(compiler->values.problems, node->mark,
                           "Items must be a list, or an expression for one, not a mapping");
        return;
    }
    step->suborders.items =
        compile_step_expression(compiler, draft, node, "Items", 0, KIND_SET(LIST));
    for_each->item = element_of(compile_shape_of(compiler, draft, step->suborders.items, 0));
}

static void read_limits(const struct values *values, struct draft *draft,
                        const struct field_values *fields)
{
    struct workflow_step *step = &draft->step;
    const struct yaml_node *concurrency = fields->of[FIELD_MAX_CONCURRENCY];
    const struct yaml_node *tolerated = fields->of[FIELD_TOLERATED_FAILURE_COUNT];
    const struct yaml_node *priority = fields->of[FIELD_PRIORITY];
    int64_t number = 0;
    uint32_t word = 0;
    if (concurrency != NULL &&
        value_whole(values, concurrency, "MaxConcurrency", 1, SUBORDERS_MAX, &number))
        step->suborders.max_concurrency = (uint32_t)number;
    if (tolerated != NULL && value_whole_or_all(values, tolerated, "ToleratedFailureCount", 0,
                                                SUBORDERS_MAX, UINT32_MAX, &number))
        step->suborders.tolerated_failures = (uint32_t)number;
    step->suborders.has_priority =
        priority != NULL && value_word(values, priority, "Priority", &priority_names, &word);
    step->suborders.priority = (enum priority)word;
}

static void read_for_each(struct workflow_compiler *compiler, struct draft *draft,
                          struct for_each *for_each)
{
    const struct values *values = &compiler->values;
    const struct yaml_node *node = draft->fields.of[FIELD_FOR_EACH];
    const struct yaml_node *const *of = for_each->fields.of;
    draft->step.suborders.for_each = true;
    for_each->item = &expression_shape_any;
    if (!workflow_fields_take(node, PLACE_FOR_EACH, values->problems, &for_each->fields))
        return;
    if (of[FIELD_COMMENT] != NULL)
        value_text(values, of[FIELD_COMMENT], "Comment");
    if (of[FIELD_ITEMS] != NULL)
        read_items(compiler, draft, of[FIELD_ITEMS], for_each);
    read_limits(values, draft, &for_each->fields);
}

/* After the body, whose Output it looks at. */
static void read_stop_when(struct workflow_compiler *compiler, struct draft *draft,
                           const struct for_each *for_each)
{
    const struct yaml_node *node = for_each->fields.of[FIELD_STOP_WHEN];
    if (node != NULL && (draft->fields.given & FIELD_BIT(FIELD_OUTPUT)) == 0) {
        problems_add_error(compiler->values.problems, node->key->mark,
                           "StopWhen looks at the output of an item, result, and step %.*s has no "
                           "Output: give it one",
                           TEXT_ARG(draft->step.name));
        return;
    }
    if (node != NULL && (for_each->fields.given & FIELD_BIT(FIELD_MAX_CONCURRENCY)) == 0 &&
        !compiler->values.deployed)
        problems_add_warning(compiler->values.problems, node->key->mark,
                             "StopWhen stops nothing without MaxConcurrency, as all items start at "
                             "once: write MaxConcurrency: 1 for one after the other");
    draft->step.suborders.stop_when = compile_step_expression(compiler, draft, node, "StopWhen",
                                                              1U << NAME_RESULT, KIND_SET(BOOL));
}

/* ---- the input of the body, and its output ---- */

/* Without Input it is the item, or that of the order around it. */
static const struct expression_shape *input_shape_of(struct workflow_compiler *compiler,
                                                     const struct draft *draft,
                                                     const struct for_each *for_each, uint32_t more)
{
    if (compiler->values.deployed)
        return NULL;
    if (draft->fields.of[FIELD_INPUT] == NULL)
        return draft->step.suborders.for_each ? for_each->item : compiler->place.input;
    const struct expression_shape *shape =
        compile_shape_of_template(compiler, draft, draft->step.input, more);
    return shape != NULL ? shape : &expression_shape_any;
}

/* {items: [output of each, or null], processed, failed} */
static const struct expression_shape *shape_of_items(struct workflow_compiler *compiler,
                                                     const struct expression_shape *output)
{
    struct expression_shape *shapes = ARENA_ARRAY(compiler->scratch, struct expression_shape, 5);
    struct expression_shape *members = &shapes[1];
    struct expression_shape *element = &shapes[4];
    *element = output != NULL ? *output : expression_shape_any;
    element->kinds |= KIND_SET(NULL);
    members[0] = (struct expression_shape){.kinds = KIND_SET(INT), .name = TEXT("failed")};
    members[1] = (struct expression_shape){
        .kinds = KIND_SET(LIST), .name = TEXT("items"), .element = element};
    members[2] = (struct expression_shape){.kinds = KIND_SET(INT), .name = TEXT("processed")};
    shapes[0] =
        (struct expression_shape){.kinds = KIND_SET(MAP), .members = members, .member_count = 3};
    return &shapes[0];
}

/* NULL: not known, perhaps after a problem. */
static const struct expression_shape *output_shape_of(const struct draft *draft)
{
    bool has_output = (draft->fields.given & FIELD_BIT(FIELD_OUTPUT)) != 0;
    if (draft->body == NULL || (has_output && draft->step.suborders.body->output == NULL))
        return NULL;
    return compile_shape_of_output(draft->body);
}

/* ---- the whole ---- */

void suborders_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct yaml_node *const *of = draft->fields.of;
    struct workflow_step *step = &draft->step;
    struct expression_place *place = &compiler->place;
    struct for_each for_each = {0};
    uint32_t more = 0;
    step->timeout_ms = DURATION_MS_MAX;
    if (of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds", &step->timeout_ms);
    if (of[FIELD_PIVOT] != NULL)
        value_boolean(values, of[FIELD_PIVOT], "Pivot", &step->pivot);
    if (of[FIELD_FOR_EACH] != NULL) {
        read_for_each(compiler, draft, &for_each);
        more = 1U << NAME_ITEM | 1U << NAME_INDEX;
        draft->items = for_each.count;
    }
    place->item = for_each.item;
    step->input = compile_step_template(compiler, draft, of[FIELD_INPUT], "Input", more,
                                        STEP_INPUT_BYTES_MAX);
    compile_body(compiler, draft, input_shape_of(compiler, draft, &for_each, more));
    place->item = NULL;
    const struct expression_shape *output = output_shape_of(draft);
    place->result = output;
    read_stop_when(compiler, draft, &for_each);
    place->result = NULL;
    compile_known_output(compiler, draft,
                         step->suborders.for_each ? shape_of_items(compiler, output) : output);
}

/* As long as its body; of a list that the file has, as often as its items need. */
int64_t suborders_longest_ms(const struct draft *draft)
{
    const struct workflow_step *step = &draft->step;
    int64_t one = draft->body != NULL ? workflow_longest_ms(draft->body) : 0;
    uint32_t width = step->suborders.max_concurrency;
    int64_t rounds = width > 0 && draft->items > width ? (draft->items + width - 1) / width : 1;
    int64_t all = one > DURATION_MS_MAX / rounds ? DURATION_MS_MAX : one * rounds;
    return all < step->timeout_ms ? all : step->timeout_ms;
}
