/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions as a log could hold them that no owner of ours wrote. */
#ifndef TESTS_PROPERTY_ENGINE_DISTORT_H
#define TESTS_PROPERTY_ENGINE_DISTORT_H

#include "engine/engine.h"
#include "tests/property/engine_random.h"

/* Distorts one of the log's `count` Decisions (at least 1) and applies it to a copy of `order`,
 * unless order_apply_problem() refuses it; then some commands are decided. True: it was applied.
 * Whatever passes that check must not abort. */
bool distort_and_apply(struct dice *dice, const struct workflow *workflow,
                       const struct order *order, const struct decision *log, uint32_t count);

#endif
