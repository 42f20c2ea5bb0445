/* SPDX-License-Identifier: Apache-2.0 */
/* Random workflows that lint accepts. */
#ifndef TESTS_PROPERTY_OWNERSHIP_WORKFLOW_H
#define TESTS_PROPERTY_OWNERSHIP_WORKFLOW_H

#include "tests/property/engine_random.h"

/* A random one of engine_random.h, corrected where a workflow file would be refused: the engine
 * accepts more than lint does, and discarding those would leave only small ones. */
const struct workflow *random_sound_workflow(struct dice *dice, struct arena *arena);

#endif
