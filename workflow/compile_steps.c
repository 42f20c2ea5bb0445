/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, and what they take from Defaults. */
#include "base/suggest.h"
#include "workflow/compile.h"

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

static void report_unknown_step(struct workflow_compiler *compiler, const struct yaml_node *node)
{
    struct text names[WORKFLOW_STEPS_MAX];
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        names[i] = compiler->drafts[i].step.name;
    const struct text *near = suggest_text(node->text, names, compiler->draft_count);
    if (near != NULL)
        problems_add_error(compiler->values.problems, node->mark,
                           "After names %.*s, which is not a step: did you mean %.*s?",
                           QUOTE_ARG(node->text), TEXT_ARG(*near));
    else
        problems_add_error(compiler->values.problems, node->mark,
                           "After names %.*s, which is not a step", QUOTE_ARG(node->text));
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

/* ---- Agent, Agents ---- */

static void add_agent(const struct values *values, const struct yaml_node *node,
                      struct text *agents, uint32_t *count)
{
    struct text agent = {0};
    if (!value_name(values, node, "an agent", &agent))
        return;
    for (uint32_t i = 0; i < *count; i++) {
        if (text_equal(agents[i], agent)) {
            problems_add_error(values->problems, node->mark, "agent %.*s is named twice",
                               TEXT_ARG(agent));
            return;
        }
    }
    agents[(*count)++] = agent;
}

static void read_agent_list(const struct values *values, const struct yaml_node *node,
                            struct workflow_step *step)
{
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(values->problems, node->mark, "Agents must be a list of agents, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count == 0 || node->count > STEP_AGENTS_MAX) {
        problems_add_error(values->problems, node->mark,
                           "Agents names %u agents; it must name 1 to %d", node->count,
                           STEP_AGENTS_MAX);
        return;
    }
    struct text *agents = ARENA_ARRAY(values->arena, struct text, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        add_agent(values, child, agents, &step->agent_count);
    step->agents = agents;
}

static void read_agents(const struct values *values, struct draft *draft)
{
    const struct yaml_node *one = draft->fields.of[FIELD_AGENT];
    const struct yaml_node *several = draft->fields.of[FIELD_AGENTS];
    struct workflow_step *step = &draft->step;
    if (one != NULL && several != NULL) {
        problems_add_error(values->problems, several->key->mark,
                           "a step has Agent or Agents, not both: name all of them in Agents");
    } else if (several != NULL) {
        read_agent_list(values, several, step);
    } else if (one != NULL && one->kind == NODE_SEQUENCE) {
        problems_add_error(values->problems, one->mark,
                           "Agent must be a name, not a list: several are named in Agents");
    } else if (one != NULL) {
        struct text *agents = ARENA_NEW(values->arena, struct text);
        step->agents = agents;
        step->agent_count = value_name(values, one, "Agent", agents);
    }
}

/* ---- Compensate ---- */

static void read_compensate(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct defaults *defaults = &compiler->defaults;
    struct workflow_step *step = &draft->step;
    const struct yaml_node *node = draft->fields.of[FIELD_COMPENSATE];
    struct workflow_fields fields;
    if (node == NULL || !workflow_fields_take(node, PLACE_COMPENSATE, values->problems, &fields))
        return;
    step->has_compensate = true;
    const struct yaml_node *action = fields.of[FIELD_ACTION];
    if (action != NULL && value_name(values, action, "Action", &step->compensate.action) &&
        text_equal(step->compensate.action, step->name))
        problems_add_warning(values->problems, action->mark,
                             "the action that undoes %.*s has the same name as the step",
                             TEXT_ARG(step->name));
    step->compensate.timeout_ms =
        defaults->compensate_timeout_ms > 0 ? defaults->compensate_timeout_ms : step->timeout_ms;
    step->compensate.retry = defaults->compensate_retry;
    if (fields.of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, fields.of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds",
                       &step->compensate.timeout_ms);
    if (fields.of[FIELD_MAX_EXTENSION_SECONDS] != NULL)
        value_duration_or_0(values, fields.of[FIELD_MAX_EXTENSION_SECONDS], "MaxExtensionSeconds",
                            &step->compensate.max_extension_ms);
    if (fields.of[FIELD_RETRY] != NULL)
        compile_retry(values, fields.of[FIELD_RETRY], &step->compensate.retry);
}

/* ---- the rest of a step ---- */

static void read_step(struct workflow_compiler *compiler, uint32_t index)
{
    const struct values *values = &compiler->values;
    const struct defaults *defaults = &compiler->defaults;
    struct draft *draft = &compiler->drafts[index];
    const struct yaml_node *const *of = draft->fields.of;
    struct workflow_step *step = &draft->step;
    if (of[FIELD_COMMENT] != NULL)
        value_text(values, of[FIELD_COMMENT], "Comment");
    read_agents(values, draft);
    read_after(compiler, index);
    step->timeout_ms = defaults->timeout_ms;
    if (of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds", &step->timeout_ms);
    if (of[FIELD_MAX_EXTENSION_SECONDS] != NULL)
        value_duration_or_0(values, of[FIELD_MAX_EXTENSION_SECONDS], "MaxExtensionSeconds",
                            &step->max_extension_ms);
    step->retry = defaults->retry;
    if (of[FIELD_RETRY] != NULL)
        compile_retry(values, of[FIELD_RETRY], &step->retry);
    step->catchers = defaults->catchers;
    step->catcher_count = defaults->catcher_count;
    draft->own_catch = of[FIELD_CATCH] != NULL;
    if (draft->own_catch)
        compile_catch(values, of[FIELD_CATCH], &step->catchers, &step->catcher_count);
    if (of[FIELD_PIVOT] != NULL)
        value_boolean(values, of[FIELD_PIVOT], "Pivot", &step->pivot);
    step->on_exhausted = defaults->on_exhausted;
    draft->own_on_exhausted = of[FIELD_ON_EXHAUSTED] != NULL;
    if (draft->own_on_exhausted)
        compile_on_exhausted(values, of[FIELD_ON_EXHAUSTED], &step->on_exhausted);
    read_compensate(compiler, draft);
}

void compile_steps(struct workflow_compiler *compiler, const struct yaml_node *node,
                   struct arena *scratch)
{
    struct workflow_problems *problems = compiler->values.problems;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(problems, node->mark, "Steps must be a list, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count == 0 || node->count > WORKFLOW_STEPS_MAX) {
        problems_add_error(problems, node->mark, "Steps has %u steps; it must have 1 to %d",
                           node->count, WORKFLOW_STEPS_MAX);
        return;
    }
    compiler->drafts = ARENA_ARRAY(scratch, struct draft, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct draft *draft = &compiler->drafts[compiler->draft_count];
        draft->mark = child->mark;
        workflow_fields_take(child, PLACE_STEP, problems, &draft->fields);
        read_name(compiler, draft);
        compiler->draft_count++;
    }
    for (uint32_t i = 0; i < compiler->draft_count; i++)
        read_step(compiler, i);
}
