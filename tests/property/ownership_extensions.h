/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that ask for more time for what they are doing, within what the workflow allows. */
#ifndef TESTS_PROPERTY_OWNERSHIP_EXTENSIONS_H
#define TESTS_PROPERTY_OWNERSHIP_EXTENSIONS_H

#include "tests/property/ownership_world.h"

/* From now on orders have a version of the workflow whose steps may get more time. */
void extensions_begin(struct world *world);
/* For one of the requests that the agent knows, running or not. */
void extensions_act(struct world *world);

#endif
