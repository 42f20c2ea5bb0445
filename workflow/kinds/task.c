/* SPDX-License-Identifier: Apache-2.0 */
/* A step that an agent does: Agent or Agents, the limits of its attempts, and what undoes it. */
#include "workflow/compile.h"

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
    struct field_values fields;
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
    step->compensate.input = compile_undo_input(compiler, draft, fields.of[FIELD_INPUT]);
}

/* What an attempt of a step that is given up may have applied would stay: no undo begins at a step
 * that is Caught. The engine relies on it, so it also applies to deployed texts. */
static void check_continue(struct workflow_compiler *compiler, const struct draft *draft)
{
    const struct workflow_step *step = &draft->step;
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        if (step->catchers[i].next == OUTCOME_CONTINUE && step->has_compensate) {
            problems_add_error(compiler->values.problems, draft->fields.of[FIELD_CATCH]->mark,
                               "step %.*s has $continue and Compensate: what its attempts may have "
                               "applied would stay; put the step into Steps of its own, and "
                               "$continue there",
                               TEXT_ARG(step->name));
            return;
        }
    }
}

/* ---- Until ---- */

/* What a service answers while it is not ready is definite: it has done nothing that could be
 * undone, and that is certain of no pivot. */
static void read_until(struct workflow_compiler *compiler, struct draft *draft)
{
    static const uint32_t none_used[RETRIERS_MAX];
    struct workflow_problems *problems = compiler->values.problems;
    const struct yaml_node *node = draft->fields.of[FIELD_UNTIL];
    struct workflow_step *step = &draft->step;
    if (node == NULL)
        return;
    step->until =
        compile_step_expression(compiler, draft, node, "Until", 1U << NAME_RESULT, KIND_SET(BOOL));
    if (draft->fields.of[FIELD_COMPENSATE] != NULL)
        problems_add_error(problems, node->key->mark,
                           "step %.*s has Until and Compensate: it asks until something is ready, "
                           "which leaves nothing to undo; make two steps of it",
                           TEXT_ARG(step->name));
    if (step->pivot)
        problems_add_error(problems, node->key->mark,
                           "the pivot %.*s has Until: let a step before or after it ask",
                           TEXT_ARG(step->name));
    if (retry_policy_match(&step->retry, none_used, TEXT(ERROR_NOT_YET)) < 0)
        problems_add_error(problems, node->key->mark,
                           "step %.*s has Until, but no retrier says when to ask again: add one "
                           "with ErrorEquals: [States.NotYet] to its Retry",
                           TEXT_ARG(step->name));
}

/* ---- the whole ---- */

void task_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct defaults *defaults = &compiler->defaults;
    const struct yaml_node *const *of = draft->fields.of;
    struct workflow_step *step = &draft->step;
    read_agents(values, draft);
    step->timeout_ms = defaults->timeout_ms;
    if (of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds", &step->timeout_ms);
    if (of[FIELD_MAX_EXTENSION_SECONDS] != NULL)
        value_duration_or_0(values, of[FIELD_MAX_EXTENSION_SECONDS], "MaxExtensionSeconds",
                            &step->max_extension_ms);
    step->retry = defaults->retry;
    if (of[FIELD_RETRY] != NULL)
        compile_retry(values, of[FIELD_RETRY], &step->retry);
    if (of[FIELD_PIVOT] != NULL)
        value_boolean(values, of[FIELD_PIVOT], "Pivot", &step->pivot);
    step->input =
        compile_step_template(compiler, draft, of[FIELD_INPUT], "Input", 0, STEP_INPUT_BYTES_MAX);
    step->output = compile_step_template(compiler, draft, of[FIELD_OUTPUT], "Output",
                                         1U << NAME_RESULT, STEP_OUTPUT_BYTES_MAX);
    compile_known_output(
        compiler, draft,
        compile_shape_of_template(compiler, draft, step->output, 1U << NAME_RESULT));
    read_compensate(compiler, draft);
    read_until(compiler, draft);
    check_continue(compiler, draft);
}

/* From the first request to the last report that may come. */
int64_t task_longest_ms(const struct draft *draft)
{
    const struct workflow_step *step = &draft->step;
    int64_t attempt = step->timeout_ms + step->max_extension_ms;
    int64_t total = attempt;
    for (uint32_t i = 0; i < step->retry.count; i++) {
        struct retrier retrier = step->retry.retriers[i];
        retrier.jitter = JITTER_NONE;
        for (uint32_t retry = 1; retry <= retrier.max_attempts; retry++)
            total += retry_wait_ms(&retrier, retry, 0) + attempt;
    }
    return total;
}
