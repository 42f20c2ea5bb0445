/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers from a seed, and random workflows that lint accepts. */
#ifndef TESTS_PROPERTY_ENGINE_RANDOM_H
#define TESTS_PROPERTY_ENGINE_RANDOM_H

#include "base/arena.h"
#include "engine/workflow.h"

struct dice {
    uint64_t state;
};

struct dice dice_of(uint64_t seed);
uint64_t dice_next(struct dice *dice);
/* from 0 to n - 1 */
uint32_t dice_roll(struct dice *dice, uint32_t n);
bool dice_percent(struct dice *dice, uint32_t percent);

/* The errors that the services of these tests report. */
enum { RANDOM_ERRORS = 3 };
struct text random_error(struct dice *dice);

/* In the arena. Every step precedes or follows the pivot; none after it has Compensate. A step may
 * stand before one that it waits for. */
const struct workflow *random_workflow(struct dice *dice, struct arena *arena);
/* Two steps change their places in the file. */
void random_swap(struct workflow *workflow, struct workflow_step *steps, uint32_t a, uint32_t b);
/* The steps that wait for this one (-1: none), directly or not. */
uint64_t steps_behind(const struct workflow *workflow, int index);

#endif
