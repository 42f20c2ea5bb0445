/* SPDX-License-Identifier: Apache-2.0 */
/* Random workflow files with bodies in bodies, compiled as they would be deployed. */
#ifndef TESTS_PROPERTY_TREES_WORKFLOW_H
#define TESTS_PROPERTY_TREES_WORKFLOW_H

#include "base/arena.h"
#include "engine/workflow.h"
#include "tests/property/engine_random.h"

/* In the arena. Each file is accepted by lint, or the test is wrong; *ret_text is the file. */
const struct workflow *trees_workflow_draw(struct dice *dice, struct arena *arena,
                                           struct text *ret_text);
/* One whose lists, from the root's input, are longer than a tree may be. */
const struct workflow *trees_workflow_large(struct arena *arena, struct text *ret_text);
struct text trees_large_input(struct arena *arena);
/* The body of that whole name, or the workflow itself; NULL: it has none. */
const struct workflow *trees_workflow_find(const struct workflow *workflow, struct text name);

#endif
