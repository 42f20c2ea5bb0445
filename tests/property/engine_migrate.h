/* SPDX-License-Identifier: Apache-2.0 */
/* What another version of an order's workflow means for the world around it. */
#ifndef TESTS_PROPERTY_ENGINE_MIGRATE_H
#define TESTS_PROPERTY_ENGINE_MIGRATE_H

#include "tests/property/engine_world.h"

/* The services' steps are those of `workflow` from now on. */
void services_migrate(struct services *services, const struct workflow *workflow);

#endif
