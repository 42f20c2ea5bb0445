/* SPDX-License-Identifier: Apache-2.0 */
/* The expressions of a workflow: what each may refer to follows from its step's place in the graph,
 * and what it may read without a guard from the Whens of the steps. */
#include "workflow/compile.h"

#include <assert.h>

#define BIT(index) (UINT64_C(1) << (index))

static bool continues(const struct workflow_step *step)
{
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        if (step->catchers[i].next == OUTCOME_CONTINUE)
            return true;
    }
    return false;
}

/* Of the expressions of the draft at `index`; beyond the last one: of the workflow as a whole. */
static struct expression_names names_of(struct workflow_compiler *compiler, uint32_t index,
                                        uint32_t more)
{
    struct expression_place *place = &compiler->place;
    bool whole = index >= compiler->draft_count;
    uint32_t of_steps = 1U << NAME_OUTPUT | 1U << NAME_ERROR;
    uint32_t fewer = (more & NAMES_WITHOUT_STEPS) != 0 ? NAMES_WITHOUT_STEPS | of_steps : 0;
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        place->known[i].before = whole || (place->before[index] & BIT(i)) != 0;
    return (struct expression_names){
        .allowed = (EXPRESSION_NAMES_ALWAYS | more) & ~fewer,
        .steps = place->known,
        .step_count = compiler->draft_count,
        .input = place->input,
        .item = place->item,
        .result = place->result,
        .outer = place->outer,
        .whole = whole,
        .deployed = compiler->values.deployed,
    };
}

/* What the Whens say is needed before any expression is checked. Their problems are reported when
 * they are compiled again. */
static void find_guards(struct workflow_compiler *compiler)
{
    struct arena *scratch = compiler->scratch;
    struct workflow_problems *unseen = ARENA_NEW(scratch, struct workflow_problems);
    struct values values = {scratch, unseen, compiler->values.deployed, NULL};
    struct expression_guards *guards = &compiler->place.guards;
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct draft *draft = &compiler->drafts[i];
        const struct yaml_node *node = draft->fields.of[FIELD_WHEN];
        if ((draft->fields.given & FIELD_BIT(FIELD_WHEN)) == 0 && !continues(&draft->step) &&
            draft->step.kind != STEP_KIND_FAIL)
            guards->always |= BIT(i);
        if (node == NULL)
            continue;
        struct expression_names names = names_of(compiler, i, 0);
        const struct expression *when =
            compile_expression(&values, node, "When", &names, KIND_SET(BOOL));
        if (when != NULL)
            expression_guards_add(guards, i, when);
    }
}

void compile_expressions_begin(struct workflow_compiler *compiler,
                               const struct expression_shape *input)
{
    struct expression_place *place = &compiler->place;
    place->cycle = !workflow_find_before(compiler, place->before);
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct workflow_step *step = &compiler->drafts[i].step;
        if (place->cycle) /* reported elsewhere */
            place->before[i] = UINT64_MAX;
        place->known[i].name = step->name;
        place->known[i].fails = continues(step);
    }
    if (compiler->values.deployed)
        return;
    place->input = input;
    find_guards(compiler);
}

/* `own_when`: of the step, or NULL. */
static void check_guards(struct workflow_compiler *compiler, const struct expression *own_when,
                         struct expression_names *names)
{
    compiler->place.guards.own_when = own_when;
    if (!compiler->place.cycle)
        names->guards = &compiler->place.guards;
}

void compile_when(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct yaml_node *node = draft->fields.of[FIELD_WHEN];
    if (node == NULL)
        return;
    struct expression_names names = names_of(compiler, (uint32_t)(draft - compiler->drafts), 0);
    check_guards(compiler, NULL, &names);
    draft->step.when = compile_expression(&compiler->values, node, "When", &names, KIND_SET(BOOL));
}

const struct expression_template *compile_step_template(struct workflow_compiler *compiler,
                                                        const struct draft *draft,
                                                        const struct yaml_node *node,
                                                        const char *what, uint32_t more,
                                                        uint32_t most)
{
    struct expression_names names = names_of(compiler, (uint32_t)(draft - compiler->drafts), more);
    if (node == NULL)
        return NULL;
    check_guards(compiler, draft->step.when, &names);
    return compile_template(&compiler->values, node, what, &names, most);
}

const struct expression_template *compile_undo_input(struct workflow_compiler *compiler,
                                                     const struct draft *draft,
                                                     const struct yaml_node *node)
{
    bool *may_be_null = &compiler->place.guards.result_may_be_null;
    *may_be_null = true;
    const struct expression_template *input = compile_step_template(
        compiler, draft, node, "Input", 1U << NAME_RESULT, STEP_INPUT_BYTES_MAX);
    *may_be_null = false;
    return input;
}

const struct expression *compile_step_expression(struct workflow_compiler *compiler,
                                                 const struct draft *draft,
                                                 const struct yaml_node *node, const char *what,
                                                 uint32_t more, uint8_t kinds)
{
    struct expression_names names = names_of(compiler, (uint32_t)(draft - compiler->drafts), more);
    if (node == NULL)
        return NULL;
    check_guards(compiler, draft->step.when, &names);
    return compile_expression(&compiler->values, node, what, &names, kinds);
}

const struct expression_template *compile_output(struct workflow_compiler *compiler,
                                                 const struct yaml_node *node)
{
    struct expression_names names = names_of(compiler, compiler->draft_count, 0);
    if (node == NULL)
        return NULL;
    check_guards(compiler, NULL, &names);
    return compile_template(&compiler->values, node, "Output", &names, STEP_OUTPUT_BYTES_MAX);
}

/* ---- what they give ---- */

const struct expression_shape *compile_shape_of(struct workflow_compiler *compiler,
                                                const struct draft *draft,
                                                const struct expression *expression, uint32_t more)
{
    struct expression_names names = names_of(compiler, (uint32_t)(draft - compiler->drafts), more);
    if (expression == NULL || compiler->values.deployed)
        return NULL;
    return expression_shape_of_value(expression, &names, compiler->scratch);
}

const struct expression_shape *compile_shape_of_template(struct workflow_compiler *compiler,
                                                         const struct draft *draft,
                                                         const struct expression_template *template,
                                                         uint32_t more)
{
    struct expression_names names = names_of(compiler, (uint32_t)(draft - compiler->drafts), more);
    if (template == NULL || compiler->values.deployed)
        return NULL;
    return expression_shape_of_template(template, &names, compiler->scratch);
}

void compile_known_output(struct workflow_compiler *compiler, const struct draft *draft,
                          const struct expression_shape *shape)
{
    if (!compiler->values.deployed)
        compiler->place.known[draft - compiler->drafts].output = shape;
}

const struct expression_shape *compile_shape_of_output(struct workflow_compiler *compiler)
{
    static const struct expression_shape null = {.kinds = KIND_SET(NULL)};
    struct expression_names names = names_of(compiler, compiler->draft_count, 0);
    const struct expression_template *output = compiler->workflow->output;
    if (compiler->values.deployed)
        return NULL;
    return output == NULL ? &null : expression_shape_of_template(output, &names, compiler->scratch);
}
