/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

static char printed[16384];

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print(const char *format, ...)
{
    size_t used = strlen(printed);
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(printed + used, sizeof(printed) - used, format, arguments);
    va_end(arguments);
    cr_assert(size >= 0 && used + (size_t)size < sizeof(printed));
}

static struct arena *kit_arena(void)
{
    static struct heap_arena heap; /* as long as the test's process */
    if (heap.block_size == 0)
        heap_arena_init(&heap, 64 * 1024);
    return &heap.arena;
}

static const struct workflow *compile(const char *source)
{
    static struct workflow_problems problems;
    struct workflow *workflow = NULL;
    bool done = workflow_parse(text_of(source), WORKFLOW_YAML, kit_arena(), &problems, &workflow);
    cr_assert(done, "%u:%u: %s", problems.items[0].line, problems.items[0].column,
              problems.items[0].text);
    return workflow;
}

const char *kit_problems(const char *file)
{
    static struct workflow_problems problems;
    struct case_file cases;
    const struct workflow *workflow =
        compile("Name: w\nVersion: 1\nSteps:\n  - {Name: A, Agent: a, Compensate: {Action: X}}\n"
                "  - {Name: B, Agent: b}\n  - {Name: Count, Set: 1}\n"
                "  - Name: All\n    ForEach: {Items: [1, 2]}\n"
                "    Steps: [{Name: C, Agent: c}, {Name: Ask, Await: {}, TimeoutSeconds: 9}]\n"
                "  - {Name: One, Steps: [{Name: D, Agent: d, Compensate: {Action: X}}]}\n");
    printed[0] = '\0';
    if (case_file_begin(text_of(file), kit_arena(), &problems, &cases))
        case_file_read(&cases, workflow, kit_arena(), &problems);
    for (uint32_t i = 0; i < problems.count; i++)
        print("%u:%u: %s: %s\n", problems.items[i].line, problems.items[i].column,
              workflow_severity_name(problems.items[i].severity), problems.items[i].text);
    return printed;
}

const char *kit_list_of(const char *step, int count, const char *test)
{
    static char text[16384];
    int used = snprintf(text, sizeof(text), "    Answers: {%s: {Output: [0", step);
    for (int i = 1; i < count; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, ", %d", i);
    snprintf(text + used, sizeof(text) - (size_t)used, "]}}\n%s", test);
    return text;
}

const char *kit_differences(const char *steps, const char *test)
{
    static struct workflow_problems problems;
    struct case_file cases;
    struct rehearsal rehearsal;
    uint32_t count = 0;
    static char text[32768];
    snprintf(text, sizeof(text), "Name: w\nVersion: 1\n%s", steps);
    const struct workflow *workflow = compile(text);
    snprintf(text, sizeof(text), "Workflow: w.yaml\nCases:\n  - Name: case\n%s", test);
    bool read = case_file_begin(text_of(text), kit_arena(), &problems, &cases) &&
                case_file_read(&cases, workflow, kit_arena(), &problems);
    cr_assert(read, "%u:%u: %s", problems.items[0].line, problems.items[0].column,
              problems.items[0].text);
    rehearse(&cases.cases[0], workflow, kit_arena(), &rehearsal);
    const struct rehearsal_difference *differences =
        rehearsal_compare(&cases.cases[0], &rehearsal, kit_arena(), &count);
    printed[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        print("%.*s: expected %.*s, actual %.*s\n", TEXT_ARG(differences[i].what),
              TEXT_ARG(differences[i].expected), TEXT_ARG(differences[i].actual));
    return printed;
}
