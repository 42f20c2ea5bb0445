/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/diff.h"

#include "base/names.h"
#include "engine/shape.h"
#include "workflow/bodies.h"
#include "workflow/diff_values.h"

#include <assert.h>

/* ---- comparing ---- */

struct differences {
    struct workflow_difference *items;
    uint32_t count;
    struct arena *arena;
};

static void differ(struct differences *differences, struct text step, const char *field,
                   struct text left, struct text right)
{
    differences->items[differences->count++] =
        (struct workflow_difference){step, field, left, right, NULL};
}

static int find_step(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

static void compare_timeouts(struct differences *differences, const struct workflow *left,
                             const struct workflow *right)
{
    struct diff_value values[2] = {{.arena = differences->arena}, {.arena = differences->arena}};
    struct text none = {0};
    if (left->timeout_ms == right->timeout_ms)
        return;
    diff_add_seconds(&values[0], left->timeout_ms);
    diff_add_seconds(&values[1], right->timeout_ms);
    differ(differences, none, "TimeoutSeconds",
           left->timeout_ms == 0 ? none : diff_value_text(&values[0]),
           right->timeout_ms == 0 ? none : diff_value_text(&values[1]));
}

static void compare_outputs(struct differences *differences, const struct workflow *left,
                            const struct workflow *right)
{
    struct text texts[2], none = {0};
    const struct expression_template *const templates[2] = {left->output, right->output};
    for (int i = 0; i < 2; i++) {
        struct diff_value value = {.arena = differences->arena};
        diff_add_template(&value, templates[i]);
        texts[i] = diff_value_text(&value);
    }
    if (!text_equal(texts[0], texts[1]))
        differ(differences, none, "Output", left->output == NULL ? none : texts[0],
               right->output == NULL ? none : texts[1]);
}

/* With Input, the requests of a step carry its data instead of the order's. */
static const char *warning_of(const struct workflow_step *left, const struct workflow_step *right,
                              enum diff_field field)
{
    if (left->agent_count == 0 || right->agent_count == 0)
        return NULL;
    if (field == DIFF_INPUT && left->input == NULL)
        return "the agent no longer gets outputs and lines, nor the order's input: put all that "
               "its service reads into Input";
    if (field == DIFF_INPUT && right->input == NULL)
        return "the agent gets the whole order again, with lines, input and outputs, instead of "
               "what Input makes: have its service read from those";
    /* An undo without an Input of its own gets that of its step. */
    if (field != DIFF_UNDO_INPUT || left->input != NULL || right->input != NULL ||
        !left->has_compensate || !right->has_compensate)
        return NULL;
    if (left->compensate.input == NULL)
        return "the undo no longer gets lines, the order's input and the outputs of other steps: "
               "put all that its service reads into Compensate.Input";
    if (right->compensate.input == NULL)
        return "the undo gets the whole order again, with lines, input and outputs, instead of "
               "what Compensate.Input makes: have its service read from those";
    return NULL;
}

/* STEP, or STEP/STEP within a body. */
static struct text path_of(const struct differences *differences, const struct workflow *workflow,
                           uint32_t index)
{
    struct diff_value value = {.arena = differences->arena};
    struct text file = workflow_name_file(workflow->name), name = workflow->steps[index].name;
    if (!workflow->is_body)
        return name;
    diff_add_text(&value, text_from(workflow->name, file.size + 1));
    diff_add(&value, "/");
    diff_add_text(&value, name);
    return diff_value_text(&value);
}

static void compare_fields(struct differences *differences, const struct workflow *left, uint32_t i,
                           const struct workflow *right, uint32_t j)
{
    for (uint32_t field = 0; field < DIFF_FIELD_COUNT; field++) {
        struct text a = diff_field_of(left, i, (enum diff_field)field, differences->arena);
        struct text b = diff_field_of(right, j, (enum diff_field)field, differences->arena);
        if (text_equal(a, b))
            continue;
        differ(differences, path_of(differences, left, i), diff_field_name((enum diff_field)field),
               a, b);
        differences->items[differences->count - 1].warning =
            warning_of(&left->steps[i], &right->steps[j], (enum diff_field)field);
    }
}

/* The step, and the steps of its body, are there on one side alone. */
static void differ_whole(struct differences *differences, const struct workflow *workflow,
                         uint32_t index, bool left)
{
    static const struct text none = {0};
    const struct text there = TEXT("present");
    differ(differences, path_of(differences, workflow, index), "Step", left ? there : none,
           left ? none : there);
}

static void differ_body(struct differences *differences, const struct workflow *body, bool left)
{
    for (uint32_t i = 0; body != NULL && i < body->step_count; i++) {
        differ_whole(differences, body, i, left);
        differ_body(differences, body->steps[i].suborders.body, left);
    }
}

/* As deep as ORDER_DEPTH_MAX. */
static void compare_steps(struct differences *differences, const struct workflow *left,
                          const struct workflow *right)
{
    for (uint32_t i = 0; i < left->step_count; i++) {
        const struct workflow *body = left->steps[i].suborders.body;
        int j = find_step(right, left->steps[i].name);
        const struct workflow *other = j >= 0 ? right->steps[j].suborders.body : NULL;
        if (j < 0)
            differ_whole(differences, left, i, true);
        else
            compare_fields(differences, left, i, right, (uint32_t)j);
        if (body != NULL && other != NULL) {
            compare_steps(differences, body, other);
        } else {
            differ_body(differences, body, true);
            differ_body(differences, other, false);
        }
    }
    for (uint32_t j = 0; j < right->step_count; j++) {
        if (find_step(left, right->steps[j].name) >= 0)
            continue;
        differ_whole(differences, right, j, false);
        differ_body(differences, right->steps[j].suborders.body, false);
    }
}

/* ---- InputShape ---- */

/* It and all that it consists of. */
static uint32_t shape_size(const struct shape *shape)
{
    if (shape == NULL)
        return 0;
    uint32_t size = 1 + shape_size(shape->element);
    for (uint32_t i = 0; i < shape->member_count; i++)
        size += shape_size(&shape->members[i]);
    return size;
}

/* "number?"; NULL: it is not there. */
static struct text shape_word(const struct shape *shape, struct arena *arena)
{
    struct diff_value value = {.arena = arena};
    if (shape != NULL)
        diff_add(&value, "%s%s", shape_kind_name(shape->kind), shape->optional ? "?" : "");
    return diff_value_text(&value);
}

/* "InputShape.items[].sku" */
static const char *shape_path(const char *parent, const struct shape *member, struct arena *arena)
{
    struct diff_value value = {.arena = arena};
    diff_add_text(&value, text_of(parent));
    if (member != NULL) {
        diff_add(&value, ".");
        diff_add_text(&value, member->name);
    } else {
        diff_add(&value, "[]");
    }
    return value.data;
}

static void compare_shapes(struct differences *differences, const char *path,
                           const struct shape *left, const struct shape *right);

/* Both are sorted. */
static void compare_members(struct differences *differences, const char *path,
                            const struct shape *left, const struct shape *right)
{
    uint32_t l = 0, r = 0;
    while (l < left->member_count || r < right->member_count) {
        const struct shape *a = l < left->member_count ? &left->members[l] : NULL;
        const struct shape *b = r < right->member_count ? &right->members[r] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : text_compare(a->escaped, b->escaped);
        a = order <= 0 ? a : NULL;
        b = order >= 0 ? b : NULL;
        compare_shapes(differences, shape_path(path, a != NULL ? a : b, differences->arena), a, b);
        l += order <= 0;
        r += order >= 0;
    }
}

/* As deep as a shape may be. NULL: it is not there. */
static void compare_shapes(struct differences *differences, const char *path,
                           const struct shape *left, const struct shape *right)
{
    static const struct text whole = {0};
    struct text a = shape_word(left, differences->arena);
    struct text b = shape_word(right, differences->arena);
    if (!text_equal(a, b))
        differ(differences, whole, path, a, b);
    if (left == NULL || right == NULL || left->kind != right->kind)
        return;
    if (left->kind == SHAPE_MAP)
        compare_members(differences, path, left, right);
    else if (left->kind == SHAPE_LIST)
        compare_shapes(differences, shape_path(path, NULL, differences->arena), left->element,
                       right->element);
}

/* Of it and its bodies. */
static uint32_t count_steps(const struct workflow *workflow)
{
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    uint32_t count = workflow_list_file(workflow, workflows);
    uint32_t steps = 0;
    for (uint32_t i = 0; i < count; i++)
        steps += workflows[i]->step_count;
    return steps;
}

uint32_t workflow_diff(const struct workflow *left, const struct workflow *right,
                       struct arena *arena, const struct workflow_difference **ret_differences)
{
    uint32_t most = 2 + count_steps(left) * DIFF_FIELD_COUNT + count_steps(right) +
                    shape_size(left->input_shape) + shape_size(right->input_shape);
    struct differences differences = {ARENA_ARRAY(arena, struct workflow_difference, most), 0,
                                      arena};
    compare_timeouts(&differences, left, right);
    compare_shapes(&differences, "InputShape", left->input_shape, right->input_shape);
    compare_outputs(&differences, left, right);
    compare_steps(&differences, left, right);
    assert(differences.count <= most);
    *ret_differences = differences.items;
    return differences.count;
}

uint32_t workflow_diff_warnings(const struct workflow *left, const struct workflow *right,
                                struct arena *arena, const struct text **ret_texts)
{
    const struct workflow_difference *differences;
    uint32_t count = workflow_diff(left, right, arena, &differences);
    uint32_t warned = 0;
    struct text *texts = ARENA_ARRAY(arena, struct text, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct diff_value value = {.arena = arena};
        if (differences[i].warning == NULL)
            continue;
        diff_add(&value, "step %.*s, from version %u to %u: %s", TEXT_ARG(differences[i].step),
                 left->version, right->version, differences[i].warning);
        texts[warned++] = diff_value_text(&value);
    }
    *ret_texts = texts;
    return warned;
}
