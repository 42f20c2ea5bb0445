/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of tests with random histories. Every case follows from one number, every run draws new
 * ones, and whatever ends a case (a failed assertion of the test, SIGABRT, SIGSEGV, 240 seconds
 * without an end) prints the command line that repeats it:
 *
 *     REEVE_SEED=N REEVE_PROPERTY_CASES=1
 *
 * A seed that has ever failed becomes a test of its own, by calling the case with it. */
#ifndef TESTS_LIB_SEED_H
#define TESTS_LIB_SEED_H

#include <stdint.h>

/* Drawn again in every process, or REEVE_SEED. */
uint64_t seed_first(void);
/* REEVE_PROPERTY_CASES, otherwise `cases`. */
uint64_t seed_cases(uint64_t cases);
/* A case begins: its seed is printed if the process ends before seed_end(). */
void seed_begin(uint64_t seed);
/* The case under way has passed. */
void seed_end(void);

struct seed_range {
    uint64_t first;
    uint64_t count;
};
/* What a test runs that is one of `slices`, since Criterion runs tests in parallel: its share of
 * seed_cases(cases). `slice` counts from 0. */
struct seed_range seed_slice(uint64_t cases, uint32_t slice, uint32_t slices);
/* Runs the cases of a range; a case that fails does not return. The process keeps memory that they
 * free: half of the time would go into the pages of new memory. */
void seed_run(struct seed_range range, void (*run_case)(uint64_t seed));

#endif
