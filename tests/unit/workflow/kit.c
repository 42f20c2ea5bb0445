/* SPDX-License-Identifier: Apache-2.0 */
/* See kit.h. */
#include "tests/unit/workflow/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARENA_BYTES = 4 << 20, OUTPUT_BYTES = 64 << 10 };

struct arena *kit_arena(void)
{
    static uint8_t memory[ARENA_BYTES];
    static struct arena arena;
    if (arena.at == NULL)
        arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

static const char *print(const struct workflow_problems *problems)
{
    static char output[OUTPUT_BYTES];
    size_t size = 0;
    output[0] = '\0';
    cr_assert(problems->count <= WORKFLOW_PROBLEMS_MAX);
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct workflow_problem *problem = &problems->items[i];
        size += (size_t)snprintf(output + size, OUTPUT_BYTES - size, "%u:%u: %s: %s\n",
                                 problem->line, problem->column,
                                 workflow_severity_name(problem->severity), problem->text);
        cr_assert(size < OUTPUT_BYTES);
    }
    return arena_text(kit_arena(), (struct text){output, (uint32_t)size + 1}).data;
}

struct parsed kit_parse(struct text source, enum workflow_format format)
{
    static struct workflow_problems problems;
    struct parsed parsed = {0};
    bool compiled = workflow_parse(source, format, kit_arena(), &problems, &parsed.workflow);
    cr_assert(compiled == (problems.errors == 0) && compiled == (parsed.workflow != NULL));
    parsed.problems = print(&problems);
    return parsed;
}

const char *kit_notes(const char *source)
{
    static struct workflow_problems problems;
    struct workflow *workflow = NULL;
    workflow_parse_with_notes(text_of(source), WORKFLOW_YAML, kit_arena(), &problems, &workflow);
    return print(&problems);
}

struct parsed kit_yaml(const char *source)
{
    return kit_parse(text_of(source), WORKFLOW_YAML);
}

struct workflow *kit_workflow(const char *source)
{
    struct parsed parsed = kit_yaml(source);
    cr_assert_str_eq(parsed.problems, "", "%s", parsed.problems);
    return parsed.workflow;
}

void kit_lint(const struct lint_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct parsed parsed = kit_yaml(cases[i].source);
        cr_expect_str_eq(parsed.problems, cases[i].problems,
                         "case %zu of\n%s\nfound:\n%s\nnot:\n%s", i, cases[i].source,
                         parsed.problems, cases[i].problems);
    }
}
