/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: what all of them have. The kind of a step compiles the rest, in kinds/. */
#include "base/suggest.h"
#include "workflow/compile.h"

#include <stdio.h>

/* ---- names ---- */

static int find_draft(const struct workflow_compiler *compiler, struct text name)
{
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        if (!text_empty(name) && text_equal(compiler->drafts[i].step.name, name))
            return (int)i;
    }
    return -1;
}

static void read_name(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct yaml_node *node = draft->fields.of[FIELD_NAME];
    struct text name = {0};
    if (node == NULL || !value_name(&compiler->values, node, "Name", &name))
        return;
    draft->mark = node->mark;
    int other = find_draft(compiler, name);
    if (other >= 0)
        problems_add_error(compiler->values.problems, node->mark,
                           "there is already a step %.*s, in line %u", TEXT_ARG(name),
                           compiler->drafts[other].mark.line);
    else
        draft->step.name = name;
}

/* ---- After ---- */

static bool report_outer_step(struct workflow_compiler *compiler, const struct yaml_node *node)
{
    const struct expression_outer *body = compiler->place.outer;
    for (const struct expression_outer *outer = body; outer != NULL; outer = outer->outer) {
        for (uint32_t i = 0; i < outer->step_count; i++) {
            if (!text_equal(outer->steps[i].name, node->text))
                continue;
            problems_add_error(compiler->values.problems, node->mark,
                               "After names %.*s, which is outside of the body of %.*s: a body "
                               "begins when the turn of %.*s comes",
                               TEXT_ARG(outer->steps[i].name), TEXT_ARG(body->step),
                               TEXT_ARG(body->step));
            return true;
        }
    }
    return false;
}

static void report_unknown_step(struct workflow_compiler *compiler, const struct yaml_node *node)
{
    struct text names[WORKFLOW_STEPS_MAX];
    if (report_outer_step(compiler, node))
        return;
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        names[i] = compiler->drafts[i].step.name;
    const struct text *near = suggest_text(node->text, names, compiler->draft_count);
    if (near != NULL)
        problems_add_error(compiler->values.problems, node->mark,
                           "After names %.*s, which is not a step: did you mean %.*s?",
                           QUOTE_ARG(node->text), TEXT_ARG(*near));
    else
        problems_add_error(
            compiler->values.problems, node->mark,
            "After names %.*s, which is not a step: add that step, or correct the name",
            QUOTE_ARG(node->text));
}

static void add_predecessor(struct workflow_compiler *compiler, uint32_t index,
                            const struct yaml_node *node)
{
    struct workflow_problems *problems = compiler->values.problems;
    struct draft *draft = &compiler->drafts[index];
    if (node->kind != NODE_SCALAR || yaml_node_is_null(node)) {
        problems_add_error(problems, node->mark, "After must name steps, not %s",
                           yaml_node_phrase(node));
        return;
    }
    int before = find_draft(compiler, node->text);
    if (before < 0) {
        report_unknown_step(compiler, node);
        return;
    }
    if ((uint32_t)before == index)
        problems_add_error(problems, node->mark, "step %.*s waits for itself",
                           TEXT_ARG(draft->step.name));
    else if ((draft->step.after & (UINT64_C(1) << before)) != 0)
        problems_add_warning(problems, node->mark, "%.*s is named twice", QUOTE_ARG(node->text));
    else
        draft->step.after |= UINT64_C(1) << before;
}

static void read_after(struct workflow_compiler *compiler, uint32_t index)
{
    struct draft *draft = &compiler->drafts[index];
    const struct yaml_node *node = draft->fields.of[FIELD_AFTER];
    if (node == NULL) {
        /* Null was reported as having no value; absent means the step before. */
        draft->step.after = index > 0 ? UINT64_C(1) << (index - 1) : 0;
        return;
    }
    if (node->kind == NODE_SCALAR) {
        add_predecessor(compiler, index, node);
        return;
    }
    if (node->kind == NODE_MAPPING) {
        problems_add_error(compiler->values.problems, node->mark,
                           "After must be a list of steps, not a mapping");
        return;
    }
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        add_predecessor(compiler, index, child);
}

/* ---- the rest of a step ---- */

static enum field first_of(uint64_t fields)
{
    return (enum field)__builtin_ctzll(fields);
}

/* Of the kinds that have the field: "Agent, Await or Steps". */
static const char *marks_of_field(enum field field, char *ret_list, size_t size)
{
    uint64_t marks = 0;
    size_t used = 0;
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++) {
        if ((step_compilers[kind].fields & FIELD_BIT(field)) != 0)
            marks |= FIELD_BIT(first_of(step_compilers[kind].marks));
    }
    ret_list[0] = '\0';
    for (uint64_t rest = marks; rest != 0 && used < size; rest &= rest - 1)
        used += (size_t)snprintf(ret_list + used, size - used, "%s%s",
                                 rest == marks              ? ""
                                 : (rest & (rest - 1)) == 0 ? " or "
                                                            : ", ",
                                 workflow_field_name(first_of(rest)));
    return ret_list;
}

/* What to do about a field that another kind has. */
static const char *cure_of_field(enum field mark, enum field field)
{
    if (field == FIELD_FOR_EACH)
        return ": make this step the body of one that has it";
    bool of_body = field == FIELD_RETRY || field == FIELD_COMPENSATE || field == FIELD_UNTIL;
    return mark == FIELD_STEPS && of_body ? ": give it to the steps of the body" : "";
}

/* What the step has that its kind has not: the mark of another kind, or a field of one. */
static void check_kind(struct workflow_compiler *compiler, const struct draft *draft)
{
    const struct step_compiler *kind = &step_compilers[draft->step.kind];
    uint64_t given = draft->fields.given;
    if ((kind->marks & given) == 0)
        return; /* reported: it has none */
    enum field own = first_of(kind->marks & given);
    const char *mark = workflow_field_name(own);
    char marks[WORKFLOW_PROBLEM_TEXT_SIZE / 2];
    for (uint64_t rest = given & step_kinds_fields() & ~kind->marks & ~kind->fields; rest != 0;
         rest &= rest - 1) {
        enum field field = first_of(rest);
        const struct yaml_node *node = draft->fields.of[field];
        struct mark where = node != NULL ? node->key->mark : draft->fields.mark;
        if ((step_marks() & FIELD_BIT(field)) != 0)
            problems_add_error(compiler->values.problems, where,
                               "a step has %s or %s, not both: make two steps of it", mark,
                               workflow_field_name(field));
        else
            problems_add_error(compiler->values.problems, where,
                               "%s does not belong to a step with %s, only to one with %s%s",
                               workflow_field_name(field), mark,
                               marks_of_field(field, marks, sizeof(marks)),
                               cure_of_field(own, field));
    }
}

static void read_step(struct workflow_compiler *compiler, uint32_t index)
{
    const struct values *values = &compiler->values;
    const struct defaults *defaults = &compiler->defaults;
    struct draft *draft = &compiler->drafts[index];
    const struct yaml_node *const *of = draft->fields.of;
    struct workflow_step *step = &draft->step;
    if (of[FIELD_COMMENT] != NULL)
        value_text(values, of[FIELD_COMMENT], "Comment");
    read_after(compiler, index);
    step->catchers = defaults->catchers;
    step->catcher_count = defaults->catcher_count;
    draft->own_catch = of[FIELD_CATCH] != NULL;
    if (draft->own_catch)
        compile_catch(values, of[FIELD_CATCH], PLACE_STEP, &step->catchers, &step->catcher_count);
    step->on_exhausted = defaults->on_exhausted;
    draft->own_on_exhausted = of[FIELD_ON_EXHAUSTED] != NULL;
    if (draft->own_on_exhausted)
        compile_on_exhausted(values, of[FIELD_ON_EXHAUSTED], &step->on_exhausted);
    step->kind = step_kind_of(draft->fields.given);
    check_kind(compiler, draft);
}

/* False: it is reported. */
static bool count_steps(struct workflow_compiler *compiler, const struct yaml_node *node)
{
    struct workflow_problems *problems = compiler->values.problems;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(problems, node->mark, "Steps must be a list, not %s",
                           yaml_node_phrase(node));
        return false;
    }
    if (node->count == 0 || node->count > WORKFLOW_STEPS_MAX) {
        problems_add_error(problems, node->mark, "Steps has %u steps; it must have 1 to %d",
                           node->count, WORKFLOW_STEPS_MAX);
        return false;
    }
    uint32_t before = *compiler->file_steps;
    *compiler->file_steps += node->count;
    if (*compiler->file_steps <= WORKFLOW_FILE_STEPS_MAX)
        return true;
    if (before <= WORKFLOW_FILE_STEPS_MAX) /* once */
        problems_add_error(problems, node->mark,
                           "a file has at most %d steps with those of its bodies, and these are "
                           "more: move a part to a workflow of its own",
                           WORKFLOW_FILE_STEPS_MAX);
    return false;
}

void compile_steps(struct workflow_compiler *compiler, const struct yaml_node *node,
                   const struct expression_shape *input)
{
    struct workflow_problems *problems = compiler->values.problems;
    if (!count_steps(compiler, node))
        return;
    compiler->drafts = ARENA_ARRAY(compiler->scratch, struct draft, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct draft *draft = &compiler->drafts[compiler->draft_count];
        draft->mark = child->mark;
        workflow_fields_take(child, PLACE_STEP, problems, &draft->fields);
        read_name(compiler, draft);
        compiler->draft_count++;
    }
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        read_step(compiler, i);
    compile_expressions_begin(compiler, input);
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        struct draft *draft = &compiler->drafts[i];
        compile_when(compiler, draft);
        step_compilers[draft->step.kind].compile(compiler, draft);
    }
}
