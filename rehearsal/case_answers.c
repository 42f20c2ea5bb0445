/* SPDX-License-Identifier: Apache-2.0 */
/* What agents answer in a case. */
#include "rehearsal/case_reader.h"
#include "workflow/data.h"

/* Fields that exclude each other. */
static void check_answer(const struct case_reader *reader, const struct field_values *fields)
{
    static const enum case_field of_errors[] = {CASE_FIELD_MESSAGE, CASE_FIELD_EFFECT};
    const struct yaml_node *error = fields->of[CASE_FIELD_ERROR];
    const struct yaml_node *output = fields->of[CASE_FIELD_OUTPUT];
    struct workflow_problems *problems = reader->values.problems;
    if (error != NULL && output != NULL)
        problems_add_error(problems, error->key->mark, "an answer has Output or Error, not both");
    for (size_t i = 0; i < sizeof(of_errors) / sizeof(of_errors[0]) && error == NULL; i++) {
        const struct yaml_node *node = fields->of[of_errors[i]];
        if (node != NULL)
            problems_add_error(problems, node->key->mark, "%.*s belongs to an answer with an Error",
                               TEXT_ARG(node->key->text));
    }
    if (fields->of[CASE_FIELD_EXTEND] != NULL && fields->of[CASE_FIELD_AFTER_SECONDS] == NULL)
        problems_add_error(problems, fields->of[CASE_FIELD_EXTEND]->key->mark,
                           "Extend asks for the time of AfterSeconds, which is missing");
}

static void check_silence(const struct case_reader *reader, const struct field_values *fields)
{
    uint64_t alone = FIELD_BIT(CASE_FIELD_NO_ANSWER) | FIELD_BIT(CASE_FIELD_COMMENT);
    if ((fields->given & ~alone) != 0)
        problems_add_error(reader->values.problems, fields->of[CASE_FIELD_NO_ANSWER]->key->mark,
                           "NoAnswer stands alone: without an answer there is nothing else");
}

static void read_answer(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_answer *answer)
{
    const struct values *values = &reader->values;
    struct field_values fields;
    uint32_t effect = EFFECT_NONE;
    if (!case_fields_take(node, CASE_PLACE_ANSWER, values->problems, &fields))
        return;
    case_check_comment(reader, &fields);
    check_answer(reader, &fields);
    if (fields.of[CASE_FIELD_NO_ANSWER] != NULL &&
        value_boolean(values, fields.of[CASE_FIELD_NO_ANSWER],
                      case_field_name(CASE_FIELD_NO_ANSWER), &answer->silent) &&
        answer->silent)
        check_silence(reader, &fields);
    if (fields.of[CASE_FIELD_OUTPUT] != NULL)
        data_of_node(values, fields.of[CASE_FIELD_OUTPUT], &answer->output);
    case_read_error_name(reader, fields.of[CASE_FIELD_ERROR], "Error", &answer->error_name);
    case_read_message(reader, fields.of[CASE_FIELD_MESSAGE], "Message", &answer->error_message);
    if (fields.of[CASE_FIELD_EFFECT] != NULL)
        value_word(&reader->values, fields.of[CASE_FIELD_EFFECT], "Effect", &effect_names, &effect);
    answer->effect = (enum effect)effect;
    if (fields.of[CASE_FIELD_AFTER_SECONDS] != NULL)
        value_duration_or_0(values, fields.of[CASE_FIELD_AFTER_SECONDS], "AfterSeconds",
                            &answer->after_ms);
    if (fields.of[CASE_FIELD_EXTEND] != NULL)
        value_boolean(values, fields.of[CASE_FIELD_EXTEND], "Extend", &answer->extend);
}

struct step_answers {
    struct case_answers *of;
    uint32_t count;
    bool undo;
};

/* An answer, or a list of them. */
static void read_step(const struct case_reader *reader, const struct yaml_node *node,
                      const struct case_step *step, void *ctx)
{
    struct step_answers *answers = ctx;
    struct workflow_problems *problems = reader->values.problems;
    const struct workflow_step *plan = &step->order.workflow->steps[step->step];
    bool list = node->kind == NODE_SEQUENCE;
    uint32_t count = list ? node->count : 1;
    if (!case_is_step(reader, step, node->key->mark))
        return;
    if (plan->agent_count == 0)
        problems_add_error(problems, node->key->mark, "no agent does step %.*s%s",
                           TEXT_ARG(step->name),
                           plan->suborders.body != NULL ? ": name the steps of its Steps" : "");
    else if (answers->undo && !plan->has_compensate)
        problems_add_error(problems, node->key->mark, "step %.*s has no Compensate",
                           TEXT_ARG(step->name));
    if (count == 0 || count > CASE_ANSWERS_MAX) {
        problems_add_error(problems, node->mark, "there are %u answers; there must be 1 to %d",
                           count, CASE_ANSWERS_MAX);
        return;
    }
    struct case_answer *all = ARENA_ARRAY(reader->values.arena, struct case_answer, count);
    const struct yaml_node *child = list ? node->first : node;
    for (uint32_t i = 0; i < count; i++, child = child->next)
        read_answer(reader, child, &all[i]);
    answers->of[answers->count++] = (struct case_answers){*step, all, count};
}

void case_read_answers(const struct case_reader *reader, const struct yaml_node *node,
                       enum direction direction, struct test_case *ret_case)
{
    bool undo = direction == DIRECTION_UNDO;
    struct step_answers answers = {
        .of = ARENA_ARRAY(reader->values.arena, struct case_answers, node->count + 1),
        .undo = undo};
    case_read_by_step(reader, node,
                      case_field_name(undo ? CASE_FIELD_UNDO_ANSWERS : CASE_FIELD_ANSWERS),
                      read_step, &answers);
    ret_case->answers[direction] = answers.of;
    ret_case->answers_count[direction] = answers.count;
}
