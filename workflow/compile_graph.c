/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a file, and those of a body: a workflow of its own within the file, whose name is
 * that of the workflow around it and of its step. */
#include "workflow/compile.h"

#include <assert.h>
#include <stdio.h>

enum {
    ROOT_ID_BYTES_MIN = 64, /* what is left at least to the id of an order, or lint warns */
    GENERATION_BYTES = sizeof("~~9") - 1, /* what a resubmission adds to the id of a sub-order */
    INDEX_DIGITS_MAX = 3
};
_Static_assert(SUBORDERS_MAX <= 1000, "an item's index has three digits");

void compile_graph(struct workflow_compiler *compiler, const struct yaml_node *steps,
                   const struct yaml_node *output, const struct expression_shape *input)
{
    struct workflow *workflow = compiler->workflow;
    compile_steps(compiler, steps, input);
    if (compiler->draft_count > 0)
        workflow->output = compile_output(compiler, output);
    workflow_check_graph(compiler);
    if (compiler->values.notes != NULL)
        workflow_check_options(compiler, workflow->output);

    struct workflow_step *compiled =
        ARENA_ARRAY(compiler->values.arena, struct workflow_step, compiler->draft_count);
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        compiled[i] = compiler->drafts[i].step;
    workflow->steps = compiled;
    workflow->step_count = compiler->draft_count;
    workflow->pivot = compiler->pivot;
}

/* ---- bodies ---- */

/* NAME/STEP */
static struct text name_of_body(const struct workflow_compiler *compiler, const struct draft *draft)
{
    struct text outer = compiler->workflow->name, step = draft->step.name;
    uint32_t size = outer.size + 1 + step.size;
    char *name = arena_bytes(compiler->values.arena, size + 1);
    snprintf(name, size + 1, "%.*s/%.*s", TEXT_ARG(outer), TEXT_ARG(step));
    return (struct text){name, size};
}

static void check_name(struct workflow_compiler *compiler, const struct draft *draft,
                       struct text name)
{
    if (name.size > BODY_NAME_BYTES_MAX)
        problems_add_error(compiler->values.problems, draft->mark,
                           "the body of step %.*s is known as %.*s..., a name of %u bytes; the "
                           "limit is %d: shorten the names of steps",
                           TEXT_ARG(draft->step.name), QUOTE_ARG(name), name.size,
                           BODY_NAME_BYTES_MAX);
}

/* PARENT~STEP~INDEX~~GENERATION */
static uint32_t id_bytes_of(const struct workflow_compiler *compiler, const struct draft *draft)
{
    uint32_t index = draft->step.suborders.for_each ? 1 + INDEX_DIGITS_MAX : 0;
    return compiler->id_bytes + 1 + draft->step.name.size + index + GENERATION_BYTES;
}

/* Once for a body and those within it. */
static void check_id(struct workflow_compiler *compiler, const struct draft *draft)
{
    const uint32_t most = ORDER_ID_BYTES_MAX - ROOT_ID_BYTES_MIN;
    uint32_t bytes = id_bytes_of(compiler, draft);
    if (bytes > most && compiler->id_bytes <= most)
        problems_add_warning(compiler->values.problems, draft->mark,
                             "the ids of the sub-orders of step %.*s add up to %u bytes to the "
                             "order's id, which leaves %d bytes for it: shorten the names of steps",
                             TEXT_ARG(draft->step.name), bytes,
                             bytes < ORDER_ID_BYTES_MAX ? (int)(ORDER_ID_BYTES_MAX - bytes) : 0);
}

static const struct expression_outer *outer_of(const struct workflow_compiler *compiler,
                                               const struct draft *draft)
{
    struct expression_outer *outer = ARENA_NEW(compiler->scratch, struct expression_outer);
    bool has_input = draft->fields.of[FIELD_INPUT] != NULL;
    *outer = (struct expression_outer){
        .step = draft->step.name,
        .input_is_item = draft->step.suborders.for_each && !has_input,
        .has_input = has_input,
        .steps = compiler->place.known,
        .step_count = compiler->draft_count,
        .outer = compiler->place.outer,
    };
    return outer;
}

/* What holds of the input around a body holds within it, where that is the same input. */
static void take_guards(struct workflow_compiler *body, const struct workflow_compiler *around,
                        const struct draft *draft)
{
    const struct expression_guards *from = &around->place.guards;
    struct expression_guards *to = &body->place.guards;
    if (draft->step.suborders.for_each || draft->fields.of[FIELD_INPUT] != NULL)
        return;
    for (uint32_t i = 0; i < from->outer_when_count; i++)
        to->outer_whens[to->outer_when_count++] = from->outer_whens[i];
    if (draft->step.when != NULL)
        to->outer_whens[to->outer_when_count++] = draft->step.when;
    assert(to->outer_when_count < ORDER_DEPTH_MAX);
}

/* A file is as deep as its orders may be, or it is refused here: that bounds the recursion. */
void compile_body(struct workflow_compiler *compiler, struct draft *draft,
                  const struct expression_shape *input)
{
    struct arena *arena = compiler->values.arena;
    const struct yaml_node *steps = draft->fields.of[FIELD_STEPS];
    struct workflow *workflow = ARENA_NEW(arena, struct workflow);
    struct workflow_compiler *body = ARENA_NEW(compiler->scratch, struct workflow_compiler);
    draft->step.suborders.body = workflow;
    workflow->pivot = -1;
    if (steps == NULL)
        return; /* reported */
    if (compiler->depth == ORDER_DEPTH_MAX) {
        problems_add_error(compiler->values.problems, steps->key->mark,
                           "orders are at most %d levels deep, and the body of step %.*s would be "
                           "one more: make its steps steps of the body around it",
                           ORDER_DEPTH_MAX, TEXT_ARG(draft->step.name));
        return;
    }
    workflow->name = name_of_body(compiler, draft);
    workflow->version = compiler->workflow->version;
    workflow->is_body = true;
    check_name(compiler, draft, workflow->name);
    check_id(compiler, draft);
    *body = (struct workflow_compiler){
        .values = compiler->values,
        .scratch = compiler->scratch,
        .workflow = workflow,
        .defaults = compiler->defaults,
        .depth = compiler->depth + 1,
        .file_steps = compiler->file_steps,
        .id_bytes = id_bytes_of(compiler, draft),
        .place = {.outer = outer_of(compiler, draft)},
        .pivot = -1,
    };
    take_guards(body, compiler, draft);
    draft->body = body;
    compile_graph(body, steps, draft->fields.of[FIELD_OUTPUT], input);
}
