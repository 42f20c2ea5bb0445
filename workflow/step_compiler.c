/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds, made of kinds.def. See step_compiler.h. */
#include "workflow/step_compiler.h"

#include "workflow/fields.h"

const struct step_compiler step_compilers[] = {
#define STEP_KIND(kind, marks, fields, compile, longest_ms) \
    [STEP_KIND_##kind] = {(marks), (fields), compile, longest_ms},
#include "workflow/kinds.def"
};
_Static_assert(sizeof(step_compilers) / sizeof(step_compilers[0]) == STEP_KIND_COUNT,
               "workflow files have every kind of engine/kinds.def");

enum step_kind step_kind_of(uint64_t given)
{
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++) {
        if ((step_compilers[kind].marks & given) != 0)
            return (enum step_kind)kind;
    }
    return (enum step_kind)0;
}

uint64_t step_marks(void)
{
    uint64_t marks = 0;
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        marks |= step_compilers[kind].marks;
    return marks;
}

uint64_t step_kinds_fields(void)
{
    uint64_t fields = step_marks();
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        fields |= step_compilers[kind].fields;
    return fields;
}
