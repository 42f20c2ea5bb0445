/* SPDX-License-Identifier: Apache-2.0 */
/* Random workflows that lint accepts. */
#ifndef TESTS_PROPERTY_OWNERSHIP_WORKFLOW_H
#define TESTS_PROPERTY_OWNERSHIP_WORKFLOW_H

#include "tests/property/engine_random.h"

/* A random one of engine_random.h, mended where a workflow file may not say so: the engine takes
 * more than lint lets through, and to throw what is refused would leave only the small ones. */
const struct workflow *random_sound_workflow(struct dice *dice, struct arena *arena);

#endif
