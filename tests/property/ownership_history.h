/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_OWNERSHIP_HISTORY_H
#define TESTS_PROPERTY_OWNERSHIP_HISTORY_H

#include "tests/property/ownership_world.h"

/* One history from `seed`, with `steps` random acts, then peace until all orders have ended. NULL,
 * or what went wrong in one line (static). */
const char *ownership_history(struct ownership_run *run, uint64_t seed, uint32_t steps);

/* ownership_poison.c. A process with several partitions, and commands that crash the process
 * that decides them: they are quarantined, and no others are. */
const char *ownership_poison(struct ownership_run *run, uint64_t seed);

#endif
