/* SPDX-License-Identifier: Apache-2.0 */
/* A step that fails on purpose. */
#include "workflow/compile.h"

void fail_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct yaml_node *node = draft->fields.of[FIELD_FAIL];
    struct field_values fields;
    if (node == NULL || !workflow_fields_take(node, PLACE_FAIL, values->problems, &fields))
        return;
    const struct yaml_node *error = fields.of[FIELD_ERROR];
    if (fields.of[FIELD_COMMENT] != NULL)
        value_text(values, fields.of[FIELD_COMMENT], "Comment");
    if (error != NULL && value_text(values, error, "Error")) {
        if (error_name_valid(error->text))
            draft->step.fail.error = arena_text(values->arena, error->text);
        else
            problems_add_error(values->problems, error->mark, "Error must be " ERROR_NAME_EXPECTED);
    }
    draft->step.fail.message =
        compile_step_template(compiler, draft, fields.of[FIELD_MESSAGE], "Message", 0, 0);
}

int64_t fail_longest_ms(const struct draft *draft)
{
    (void)draft;
    return 0; /* at once */
}
