/* SPDX-License-Identifier: Apache-2.0 */
/* json-tool: what test_json.py compares with another implementation.
 *
 *     in    a size in decimal, a newline, as many bytes; again and again
 *     out   a line for each: the canonical text, or "! " and what is wrong */
#include "base/heap_arena.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIZE_LIMIT = 4 * 1024 * 1024 };

static void answer(struct text json)
{
    struct heap_arena heap;
    struct text text;
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    heap_arena_init(&heap, 64 * 1024);
    if (json_canonical(json, SIZE_LIMIT, &heap.arena, &text, &problem)) {
        printf("%.*s\n", TEXT_ARG(text));
    } else {
        json_problem_format(&problem, "input", line);
        printf("! %s\n", line);
    }
    heap_arena_deinit(&heap);
}

int main(void)
{
    static char bytes[SIZE_LIMIT];
    unsigned size;
    while (scanf("%u", &size) == 1 && getchar() == '\n') {
        if (size > sizeof(bytes) || fread(bytes, 1, size, stdin) != size)
            return EXIT_FAILURE;
        answer((struct text){bytes, size});
    }
    return feof(stdin) ? EXIT_SUCCESS : EXIT_FAILURE;
}
