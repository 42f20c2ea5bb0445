/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled workflow as JSON with everything said: what `workflow show --compiled` prints, and
 * what tells whether two definitions of one name:version are the same. */
#ifndef WORKFLOW_WORKFLOW_PRINT_H
#define WORKFLOW_WORKFLOW_PRINT_H

#include "base/arena.h"
#include "engine/order.h"
#include "engine/workflow.h"

/* A workflow file (JSON, two spaces, a newline at the end) that compiles to an equal workflow:
 * fixed order of fields, no defaults left out. New in the arena. */
struct text workflow_print(const struct workflow *workflow, struct arena *arena);
/* XXH3-128 of that text: comments, layout and defaults left out in the file make no difference. */
struct content_hash workflow_hash(const struct workflow *workflow);

#endif
