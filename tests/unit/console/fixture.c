/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/console/fixture.h"

struct world *world;

void close_world(void)
{
    world_free(world);
}
