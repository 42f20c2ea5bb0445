/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of orders whose workflows are files: see tests/lib/engine_story.h. */
#ifndef TESTS_UNIT_DECISION_KIT_H
#define TESTS_UNIT_DECISION_KIT_H

#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_story.h"

/* Asserts that all came as told. `second`: version 2, or NULL. Each begins with its Version. */
void kit_tell(const char *first, const char *second, const char *lines);
/* Asserts that nothing is wrong with it. */
struct workflow *kit_compile(struct test_arena *memory, const char *source);
/* The text of a file in tests/unit/decision/flows. */
const char *kit_flow(const char *name);
/* The same of examples/cookbook and of examples/workflows. */
const char *kit_cookbook(const char *name);
const char *kit_example(const char *name);

/* An order that has begun. */
struct kit_order {
    const struct workflow *workflow;
    struct order order;
};

struct kit_order kit_begin(struct test_arena *memory, const char *source);
/* Decides what a signal does to it, and has it done. */
void kit_signal(struct kit_order *at, const char *step, struct text payload, struct arena *arena,
                struct decision *ret_decision);

/* The beginning of most workflows. */
#define HEAD "Name: test\nVersion: 1\nSteps:\n"
#define HEAD_2 "Name: test\nVersion: 2\nSteps:\n"

#endif
