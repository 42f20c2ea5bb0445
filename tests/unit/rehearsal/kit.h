/* SPDX-License-Identifier: Apache-2.0 */
/* Cases over workflows that stand in the test. */
#ifndef TESTS_UNIT_REHEARSAL_KIT_H
#define TESTS_UNIT_REHEARSAL_KIT_H

#include "rehearsal/rehearsal.h"

/* The problems of a file whose workflow has the steps A (agent a, Compensate), B (agent b), Count
 * (Set), All (ForEach of C, agent c, and Ask, an Await) and One (of D, agent d, Compensate):
 * "3:7: error: what\n" for each. */
const char *kit_problems(const char *file);
/* What differs in the only case of `steps`, the Steps of a workflow, with the fields `test` of a
 * case besides its Name: "State: expected Processed, actual Error\n" for each. */
const char *kit_differences(const char *steps, const char *test);

/* The fields `test` of a case whose step answers the list 0, 1 .. count - 1. */
const char *kit_list_of(const char *step, int count, const char *test);

/* Asserts that all is as expected. */
#define PASSES(steps, test) cr_assert_str_eq(kit_differences(steps, test), "")

#endif
