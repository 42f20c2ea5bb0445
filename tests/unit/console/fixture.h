/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the suites that have one for each test. Their .init makes it, and may open it. */
#ifndef TESTS_UNIT_CONSOLE_FIXTURE_H
#define TESTS_UNIT_CONSOLE_FIXTURE_H

#include "tests/unit/console/world.h"

extern struct world *world;

/* Their .fini. */
void close_world(void);

#endif
