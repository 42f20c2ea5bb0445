/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a workflow file. See problems.h. */
#include "workflow/problems.h"

#include <stdarg.h>
#include <stdio.h>

const char *workflow_severity_name(enum workflow_severity severity)
{
    static const char *const names[] = {
        [WORKFLOW_ERROR] = "error", [WORKFLOW_WARNING] = "warning", [WORKFLOW_NOTE] = "note"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == WORKFLOW_SEVERITY_COUNT, "a name for each");
    return names[severity];
}

/* Texts quote the file: one line each, and no character cut in two or able to drive a terminal. */
static void clean(char *text)
{
    size_t size = strlen(text);
    size_t cut = size;
    while (cut > 0 && ((unsigned char)text[cut - 1] & 0xC0) == 0x80)
        cut--;
    if (cut > 0 && ((unsigned char)text[cut - 1] & 0xC0) == 0xC0) {
        unsigned char lead = (unsigned char)text[cut - 1];
        size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (size - (cut - 1) < need)
            text[cut - 1] = '\0';
    }
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            *at = ' ';
        /* U+0080..U+009F, the control characters of Latin-1. */
        if ((unsigned char)at[0] == 0xC2 && (unsigned char)at[1] >= 0x80 &&
            (unsigned char)at[1] < 0xA0)
            at[0] = at[1] = '?';
    }
}

static void add(struct workflow_problems *problems, enum workflow_severity severity,
                struct mark mark, const char *format, va_list arguments)
    __attribute__((format(printf, 4, 0)));

static void add(struct workflow_problems *problems, enum workflow_severity severity,
                struct mark mark, const char *format, va_list arguments)
{
    if (severity == WORKFLOW_ERROR)
        problems->errors++;
    if (problems->count == WORKFLOW_PROBLEMS_MAX)
        return;
    struct workflow_problem *problem = &problems->items[problems->count++];
    problem->severity = severity;
    problem->line = mark.line;
    problem->column = mark.column;
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    clean(problem->text);
}

void problems_add_error(struct workflow_problems *problems, struct mark mark, const char *format,
                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(problems, WORKFLOW_ERROR, mark, format, arguments);
    va_end(arguments);
}

void problems_add_warning(struct workflow_problems *problems, struct mark mark, const char *format,
                          ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(problems, WORKFLOW_WARNING, mark, format, arguments);
    va_end(arguments);
}

void problems_add_note(struct workflow_problems *problems, struct mark mark, const char *format,
                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(problems, WORKFLOW_NOTE, mark, format, arguments);
    va_end(arguments);
}

static bool stands_before(const struct workflow_problem *a, const struct workflow_problem *b)
{
    return a->line < b->line || (a->line == b->line && a->column < b->column);
}

void problems_sort(struct workflow_problems *problems)
{
    /* Insertion: few, nearly sorted, and equal ones keep their order. */
    for (uint32_t i = 1; i < problems->count; i++) {
        struct workflow_problem problem = problems->items[i];
        uint32_t at = i;
        for (; at > 0 && stands_before(&problem, &problems->items[at - 1]); at--)
            problems->items[at] = problems->items[at - 1];
        problems->items[at] = problem;
    }
}

const struct workflow_problem *problems_first_error(const struct workflow_problems *problems)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity == WORKFLOW_ERROR)
            return &problems->items[i];
    }
    return NULL;
}
