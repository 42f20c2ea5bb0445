/* SPDX-License-Identifier: Apache-2.0 */
/* Commands drawn from everything that bytes can be: each is decided, as a dead letter where it is
 * not a command, and its neighbours are decided after it. */
#ifndef TESTS_PROPERTY_OWNERSHIP_BYTES_H
#define TESTS_PROPERTY_OWNERSHIP_BYTES_H

#include "tests/property/ownership_world.h"

/* Something strange into <p>.commands. */
void bytes_act(struct world *world);

#endif
