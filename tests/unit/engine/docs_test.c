/* SPDX-License-Identifier: Apache-2.0 */
/* docs/reference/state-machines.md contains the tables of engine/lifecycle.c and
 * engine/events.def as built here. */
#include "engine/lifecycle.h"
#include "tests/lib/engine_print.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(engine_docs);

static char *read_document(void)
{
    const char *root = getenv("REEVE_SOURCE_DIR");
    if (root == NULL)
        cr_skip_test("REEVE_SOURCE_DIR does not name the tree");
    char path[1024];
    snprintf(path, sizeof(path), "%s/docs/reference/state-machines.md", root);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s", path);
    char *document = calloc(1, 64 * 1024);
    size_t size = fread(document, 1, 64 * 1024 - 1, file);
    cr_assert(size > 0);
    fclose(file);
    return document;
}

static void expect_table(const char *table)
{
    char *document = read_document();
    cr_expect(strstr(document, table) != NULL, "docs/reference/state-machines.md should hold:\n%s",
              table);
    free(document);
}

Test(engine_docs, documents_the_transitions_of_an_order)
{
    struct line line = {0};
    line_add(&line, "| from |");
    for (unsigned to = 0; to < ORDER_STATE_COUNT; to++)
        line_add(&line, " %s |", order_state_name(to));
    line_add(&line, "\n|---|---|---|---|---|---|---|---|\n");
    for (unsigned from = 0; from < ORDER_STATE_COUNT; from++) {
        line_add(&line, "| %s |", order_state_name(from));
        for (unsigned to = 0; to < ORDER_STATE_COUNT; to++)
            line_add(&line, " %s |", order_state_may_follow(from, to) ? "x" : " ");
        line_add(&line, "\n");
    }
    expect_table(line.text);
    free(line.text);
}

Test(engine_docs, documents_the_transitions_of_a_step)
{
    struct line line = {0};
    line_add(&line, "| from |");
    for (unsigned to = 0; to < STEP_STATE_COUNT; to++)
        line_add(&line, " %s |", step_state_name(to));
    line_add(&line, "\n|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned from = 0; from < STEP_STATE_COUNT; from++) {
        line_add(&line, "| %s |", step_state_name(from));
        for (unsigned to = 0; to < STEP_STATE_COUNT; to++)
            line_add(&line, " %s |", step_state_may_follow(from, to) ? "x" : " ");
        line_add(&line, "\n");
    }
    expect_table(line.text);
    free(line.text);
}

static const char *after(enum event_kind kind, enum direction direction)
{
    enum step_state state = step_state_after(kind, direction);
    return state == STEP_NEVER ? "-" : step_state_name(state);
}

Test(engine_docs, documents_the_state_after_each_event)
{
    struct line line = {0};
    line_add(&line, "| event | do | undo |\n|---|---|---|\n");
    for (unsigned kind = 1; kind < EVENT_KIND_COUNT; kind++) {
        if (event_is_of_step(kind))
            line_add(&line, "| %s | %s | %s |\n", event_kind_name(kind), after(kind, DIRECTION_DO),
                     after(kind, DIRECTION_UNDO));
    }
    expect_table(line.text);
    free(line.text);
}
