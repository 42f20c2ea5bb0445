/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#include "workflow/workflow_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct workflow *kit_compile(struct test_arena *memory, const char *source)
{
    static struct workflow_problems problems;
    struct workflow *workflow = NULL;
    bool done =
        workflow_parse(text_of(source), WORKFLOW_YAML, &memory->arena, &problems, &workflow);
    cr_assert(done && problems.count == 0, "%u:%u: %s", problems.items[0].line,
              problems.items[0].column, problems.items[0].text);
    return workflow;
}

void kit_tell(const char *first, const char *second, const char *lines)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct workflow *versions[2] = {kit_compile(&memory, first)};
    if (second != NULL)
        versions[1] = kit_compile(&memory, second);
    char *failure = story_tell_versions(versions, second != NULL ? 2 : 1, lines);
    cr_assert(failure == NULL, "\n%s", failure);
    test_arena_deinit(&memory);
}

static void decide(struct kit_order *at, const struct command *cmd, struct arena *arena,
                   struct decision *ret_decision)
{
    struct decide_input input = {.now = 1000000,
                                 .margin_ms = 1000,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = at->workflow,
                                 .command_time = 999999};
    engine_decide(at->order.version > 0 ? &at->order : NULL, cmd, &input, arena, ret_decision);
    order_apply_decision(&at->order, ret_decision, arena);
}

struct kit_order kit_begin(struct test_arena *memory, const char *source)
{
    struct kit_order at = {.workflow = kit_compile(memory, source)};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER,
                          .order_id = TEXT("o-1"),
                          .submit_order = {.order_id = TEXT("o-1"), .workflow = TEXT("test")}};
    struct decision decision;
    decide(&at, &cmd, &memory->arena, &decision);
    cr_assert_eq(at.order.version, 1);
    return at;
}

void kit_signal(struct kit_order *at, const char *step, struct text payload, struct arena *arena,
                struct decision *ret_decision)
{
    struct command cmd = {
        .kind = COMMAND_SIGNAL_ORDER,
        .order_id = TEXT("o-1"),
        .signal_order = {.order_id = TEXT("o-1"), .step = text_of(step), .payload = payload}};
    decide(at, &cmd, arena, ret_decision);
}

static const char *file_of(const char *folder, const char *name)
{
    static char text[8192];
    char path[1024];
    const char *root = getenv("REEVE_SOURCE_DIR");
    snprintf(path, sizeof(path), "%s/%s/%s.yaml", root != NULL ? root : ".", folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    return text;
}

const char *kit_flow(const char *name)
{
    return file_of("tests/unit/decision/flows", name);
}

const char *kit_cookbook(const char *name)
{
    return file_of("examples/cookbook", name);
}

const char *kit_example(const char *name)
{
    return file_of("examples/workflows", name);
}
