/* SPDX-License-Identifier: Apache-2.0 */
/* A step that computes its output. */
#include "workflow/compile.h"

void set_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct yaml_node *node = draft->fields.of[FIELD_SET];
    draft->step.set = compile_step_template(compiler, draft, node, "Set", 0, SET_BYTES_MAX);
    compile_known_output(compiler, draft,
                         compile_shape_of_template(compiler, draft, draft->step.set, 0));
}

int64_t set_longest_ms(const struct draft *draft)
{
    (void)draft;
    return 0; /* at once */
}
