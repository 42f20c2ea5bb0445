/* SPDX-License-Identifier: Apache-2.0 */
/* A note on steps that await one of several Options: what follows should compare the answer with
 * the one that it goes on with. `!= 'decline'` also holds for an option that comes later, and a
 * choice that nothing reads decides nothing. */
#include "workflow/compile.h"

struct choice_search {
    const struct workflow_step *await;
    uint32_t index; /* of its step */
    bool compared;
};

/* ---- expressions ---- */

/* Whether a path leads to the choice. `name` begins it, perhaps alone. What an Output makes of the
 * choice is its own. */
static bool is_choice(const struct choice_search *search, const struct expression *expression,
                      const struct expression_node *name, bool own)
{
    const struct expression_node *member = name->next != 0 ? &expression->nodes[name->next] : NULL;
    bool output =
        name->kind == EXPR_NAME && name->code == NAME_OUTPUT && name->index == search->index;
    bool result = own && name->kind == EXPR_NAME && name->code == NAME_RESULT;
    if (output && search->await->output != NULL)
        return true;
    return (output || result) && member != NULL && member->kind == EXPR_MEMBER &&
           text_equal(member->text, TEXT("choice"));
}

static bool operand_is_choice(const struct choice_search *search,
                              const struct expression *expression, uint16_t index, bool own)
{
    const struct expression_node *node = &expression->nodes[index];
    if (node->kind == EXPR_PATH)
        return is_choice(search, expression, &expression->nodes[node->first], own);
    return node->kind == EXPR_NAME && node->code == NAME_OUTPUT && node->index == search->index &&
           search->await->output != NULL;
}

/* `own`: it belongs to the Await. */
static void search_expression(struct choice_search *search, const struct expression *expression,
                              bool own)
{
    uint16_t count = expression != NULL ? expression->node_count : 0;
    for (uint16_t i = 0; i < count; i++) {
        if (expression->nodes[i].kind != EXPR_CHAIN)
            continue;
        uint16_t left = expression->nodes[i].first;
        uint16_t right = expression->nodes[left].next;
        for (; right != 0; left = right, right = expression->nodes[right].next) {
            uint8_t op = expression->nodes[right].op;
            bool compares = op == OPERATOR_EQUAL || op == OPERATOR_IN;
            search->compared = search->compared ||
                               (compares && (operand_is_choice(search, expression, left, own) ||
                                             operand_is_choice(search, expression, right, own)));
        }
    }
}

static void search_template(struct choice_search *search,
                            const struct expression_template *template, bool own)
{
    if (template == NULL)
        return;
    search_expression(search, template->expression, own);
    for (const struct expression_template *child = template->first; child != NULL;
         child = child->next)
        search_template(search, child, own);
}

static void search_step(struct choice_search *search, const struct workflow_step *step)
{
    bool own = step == search->await;
    search_expression(search, step->when, own);
    search_expression(search, step->until, own);
    search_expression(search, step->wait.seconds, own);
    search_expression(search, step->wait.timestamp, own);
    search_expression(search, step->suborders.items, own);
    search_expression(search, step->suborders.stop_when, false);
    search_template(search, step->suborders.list, own);
    search_template(search, step->await.question, own);
    search_template(search, step->input, own);
    search_template(search, step->output, own);
    search_template(search, step->set, own);
    search_template(search, step->fail.message, own);
    search_template(search, step->compensate.input, own);
}

void workflow_check_options(struct workflow_compiler *compiler,
                            const struct expression_template *output)
{
    for (uint32_t i = 0; i < compiler->draft_count; i++) {
        const struct draft *draft = &compiler->drafts[i];
        struct choice_search search = {.await = &draft->step, .index = i};
        if (draft->step.await.options.count == 0)
            continue;
        for (uint32_t j = 0; j < compiler->draft_count; j++)
            search_step(&search, &compiler->drafts[j].step);
        search_template(&search, output, false);
        if (!search.compared)
            problems_add_note(compiler->values.problems, draft->mark,
                              "nothing compares the choice of step %.*s with ==: say when to go "
                              "on, not when to stop",
                              TEXT_ARG(draft->step.name));
    }
}
