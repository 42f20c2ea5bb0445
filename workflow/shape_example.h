/* SPDX-License-Identifier: Apache-2.0 */
/* An input that an InputShape accepts, for those who submit their first order. */
#ifndef WORKFLOW_SHAPE_EXAMPLE_H
#define WORKFLOW_SHAPE_EXAMPLE_H

#include "base/arena.h"
#include "engine/shape.h"

/* Canonical JSON with every member that must be there, and one element in each list; the values say
 * nothing but their types. New in `arena`. */
struct text shape_example(const struct shape *shape, struct arena *arena);

#endif
