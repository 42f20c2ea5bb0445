/* SPDX-License-Identifier: Apache-2.0 */
/* An arena over malloc'ed blocks (base/heap_arena.h is out of this layer's reach). */
#ifndef WORKFLOW_SCRATCH_H
#define WORKFLOW_SCRATCH_H

#include "base/arena.h"

struct scratch_block;

struct scratch {
    struct arena arena; /* hand out &scratch->arena; stays put: do not copy the struct */
    struct scratch_block *blocks;
};

void scratch_init(struct scratch *scratch);
/* Everything handed out is gone. */
void scratch_deinit(struct scratch *scratch);

#endif
