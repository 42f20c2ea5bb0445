/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/bodies.h"

#include "base/names.h"

#include <assert.h>

static const struct workflow *body_of(const struct workflow *workflow, struct text step)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, step))
            return workflow->steps[i].suborders.body; /* NULL: a step of another kind */
    }
    return NULL;
}

const struct workflow *workflow_find_in_file(const struct workflow *file, struct text name)
{
    const struct workflow *workflow = file;
    struct text part = workflow_name_file(name);
    uint32_t at = part.size;
    if (!text_equal(part, file->name))
        return NULL;
    while (workflow != NULL && at < name.size) {
        part = workflow_name_file(text_from(name, at + 1));
        workflow = body_of(workflow, part);
        at += 1 + part.size;
    }
    return workflow;
}

/* As deep as ORDER_DEPTH_MAX. */
static void add(const struct workflow *workflow, const struct workflow *workflows[],
                uint32_t *count)
{
    assert(*count < WORKFLOW_FILE_STEPS_MAX); /* each body is that of a step */
    workflows[(*count)++] = workflow;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (workflow->steps[i].suborders.body != NULL)
            add(workflow->steps[i].suborders.body, workflows, count);
    }
}

uint32_t workflow_list_file(const struct workflow *file,
                            const struct workflow *ret_workflows[WORKFLOW_FILE_STEPS_MAX])
{
    uint32_t count = 0;
    add(file, ret_workflows, &count);
    return count;
}
