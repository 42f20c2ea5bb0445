/* SPDX-License-Identifier: Apache-2.0 */
/* Other versions of a random workflow. */
#ifndef TESTS_PROPERTY_ENGINE_OTHER_VERSION_H
#define TESTS_PROPERTY_ENGINE_OTHER_VERSION_H

#include "tests/property/engine_random.h"

/* A later version, in the arena: steps come, go, change their places, agents and times. */
const struct workflow *other_version(struct dice *dice, struct arena *arena,
                                     const struct workflow *workflow);

#endif
