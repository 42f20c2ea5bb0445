/* SPDX-License-Identifier: Apache-2.0 */
/* Other versions of a random workflow, and what a change to one means for the world around it. */
#ifndef TESTS_PROPERTY_ENGINE_MIGRATE_H
#define TESTS_PROPERTY_ENGINE_MIGRATE_H

#include "tests/property/engine_random.h"
#include "tests/property/engine_world.h"

/* A later version, in the arena: steps come, go, change their places, agents and times. */
const struct workflow *other_version(struct dice *dice, struct arena *arena,
                                     const struct workflow *workflow);
/* The services' steps are those of `workflow` from now on. */
void services_migrate(struct services *services, const struct workflow *workflow);

#endif
