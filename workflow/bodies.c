/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/bodies.h"

#include <assert.h>

static uint32_t find_slash(struct text name)
{
    const char *slash = name.size > 0 ? memchr(name.data, '/', name.size) : NULL;
    return slash != NULL ? (uint32_t)(slash - name.data) : name.size;
}

struct text workflow_file_name(struct text name)
{
    return (struct text){name.data, find_slash(name)};
}

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
    uint32_t at = find_slash(name);
    if (!text_equal((struct text){name.data, at}, file->name))
        return NULL;
    while (workflow != NULL && at < name.size) {
        struct text rest = text_from(name, at + 1);
        struct text step = {rest.data, find_slash(rest)};
        workflow = body_of(workflow, step);
        at += 1 + step.size;
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
