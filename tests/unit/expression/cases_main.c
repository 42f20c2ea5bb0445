/* SPDX-License-Identifier: Apache-2.0 */
/* expression-cases: evaluates what test_conformance.py asks for.
 *
 * Reads lines of JSON, {"expr": TEXT, "input": DATA}, and answers each with one:
 * {"value": DATA} | {"error": TEXT} | {"problem": TEXT}, the last of the compiler. */
#include "base/heap_arena.h"
#include "engine/expression/evaluate.h"
#include "workflow/expression.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_SIZE = 1 << 20 };

static struct text member_text(struct text line, struct text name, struct arena *arena)
{
    struct json_value value = json_value_member(json_value_of(line), name, NULL);
    return json_unescape(json_value_escaped(value, NULL), arena);
}

static void answer(const char *name, struct text text, bool json, struct arena *arena)
{
    struct json_writer writer;
    struct text line = {0};
    json_writer_init(&writer, LINE_SIZE, arena);
    json_write_map(&writer);
    json_write_name(&writer, text_of(name));
    if (json)
        json_write_canonical(&writer, text);
    else
        json_write_text(&writer, text);
    json_write_close(&writer);
    if (!json_writer_done(&writer, &line))
        line = TEXT("null");
    printf("%.*s\n", TEXT_ARG(line));
}

static void answer_problem(const struct expression_problems *problems, struct arena *arena)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity == WORKFLOW_ERROR) {
            answer("problem", text_of(problems->items[i].text), false, arena);
            return;
        }
    }
}

static void evaluate(struct text line, struct arena *arena)
{
    struct expression_problems problems;
    struct expression_names names = {.allowed = EXPRESSION_NAMES_ALWAYS};
    struct expression_scope scope = {0};
    struct expression_run run;
    struct expression_error error;
    struct text json;
    scope.input =
        json_value_text(json_value_member(json_value_of(line), TEXT("input"), NULL), NULL);
    const struct expression *expression = expression_compile(member_text(line, TEXT("expr"), arena),
                                                             &names, KINDS_ANY, arena, &problems);
    if (expression == NULL) {
        answer_problem(&problems, arena);
        return;
    }
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, arena);
    if (expression_json(&run, expression, LINE_SIZE / 2, &json, &error))
        answer("value", json, true, arena);
    else
        answer("error", expression_error_message(&error, arena), false, arena);
}

int main(void)
{
    char *buffer = malloc(LINE_SIZE);
    struct heap_arena heap;
    heap_arena_init(&heap, 1 << 20);
    while (fgets(buffer, LINE_SIZE, stdin) != NULL) {
        struct text line = {buffer, (uint32_t)strcspn(buffer, "\n")};
        struct text canonical;
        if (json_canonical(line, LINE_SIZE, &heap.arena, &canonical, NULL))
            evaluate(canonical, &heap.arena);
        else
            answer("problem", TEXT("this is not JSON"), false, &heap.arena);
        fflush(stdout);
        heap_arena_reset(&heap);
    }
    heap_arena_deinit(&heap);
    free(buffer);
    return EXIT_SUCCESS;
}
