/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler does with the steps of one kind. Each kind of engine/kinds.def is a row
 * of kinds.def and a file in kinds/; nothing else in workflow/ knows one by its name, but that a
 * Fail has no output. */
#ifndef WORKFLOW_STEP_COMPILER_H
#define WORKFLOW_STEP_COMPILER_H

#include "engine/workflow.h"

struct workflow_compiler;
struct draft;

/* A row of kinds.def, which explains the columns. */
struct step_compiler {
    uint64_t marks;
    uint64_t fields;
    void (*compile)(struct workflow_compiler *compiler, struct draft *draft);
    int64_t (*longest_ms)(const struct draft *draft);
};

#define STEP_KIND(kind, marks, fields, compile, longest_ms)                \
    void compile(struct workflow_compiler *compiler, struct draft *draft); \
    int64_t longest_ms(const struct draft *draft);
#include "workflow/kinds.def"

extern const struct step_compiler step_compilers[STEP_KIND_COUNT];

/* Of a step with these fields. Without a mark, which is reported, it is read as the first kind, so
 * that its other mistakes are reported as well. */
enum step_kind step_kind_of(uint64_t given);
/* Of all kinds together. */
uint64_t step_marks(void);
uint64_t step_kinds_fields(void); /* with the marks */

#endif
