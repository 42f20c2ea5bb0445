/* SPDX-License-Identifier: Apache-2.0 */
/* A run of cases, each of which follows from one seed. */
#ifndef TESTS_PROPERTY_OWNERSHIP_RUN_H
#define TESTS_PROPERTY_OWNERSHIP_RUN_H

#include "tests/property/ownership_world.h"

/* Runs them until one fails, and says how many there were; NULL, or what went wrong in it. Where a
 * case is under way when the process ends, its seed is printed (tests/lib/seed.h). */
const char *ownership_run_cases(uint64_t seed, uint64_t cases,
                                const char *(*one)(struct ownership_run *run, uint64_t seed),
                                struct ownership_sometimes *ret_sometimes);

#endif
