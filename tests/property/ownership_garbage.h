/* SPDX-License-Identifier: Apache-2.0 */
/* Records in the log that have our framing and cannot be: of schemas that do not exist yet, cut or
 * damaged, or Decisions that count and cannot follow the ones before them. Each stops its partition
 * for every reader, until an operator's Reset skips it. */
#ifndef TESTS_PROPERTY_OWNERSHIP_GARBAGE_H
#define TESTS_PROPERTY_OWNERSHIP_GARBAGE_H

#include "tests/property/ownership_world.h"

/* One more of them, or the Reset that skips the oldest one. */
void garbage_act(struct world *world);
/* An operator has the latest record skipped, which may count. False: it is not one for that. */
bool garbage_skip_latest(struct world *world, int32_t partition);
/* All are skipped. */
void garbage_end(struct world *world);
/* The record is one of them. */
bool garbage_is_at(const struct world *world, int32_t partition, int64_t offset);
/* It counted until an operator had it skipped. */
bool garbage_counted_at(const struct world *world, int32_t partition, int64_t offset);
/* The fold begins with what readers know of Resets to come. */
void garbage_skips(const struct world *world, int32_t partition, struct checkpoint *checkpoint);

#endif
