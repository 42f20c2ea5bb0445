/* SPDX-License-Identifier: Apache-2.0 */
/* A step that is orders of their own. Nothing marks one in a file yet. */
#include "workflow/compile.h"

#include <assert.h>

void suborders_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    (void)compiler;
    (void)draft;
    assert(false && "a field of no step");
}

int64_t suborders_longest_ms(const struct workflow_step *step)
{
    return step->timeout_ms;
}
