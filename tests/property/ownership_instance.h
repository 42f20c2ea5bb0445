/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler processes of a world: they boot, take and release partitions, take turns, and die
 * between any two steps. */
#ifndef TESTS_PROPERTY_OWNERSHIP_INSTANCE_H
#define TESTS_PROPERTY_OWNERSHIP_INSTANCE_H

#include "tests/property/ownership_world.h"

/* Does not run yet, and has no stores. */
void instance_init(struct world *world, struct instance *instance, uint32_t number);
void instance_boot(struct world *world, struct instance *instance);
/* The process ends as by SIGKILL: what it had in memory is gone, what was on the wire may arrive.
 * Does nothing if it does not run. */
void instance_shut(struct world *world, struct instance *instance);
/* Its disk is new. It does not run. */
void instance_lose_stores(struct world *world, struct instance *instance);

/* Does nothing if it owns it already; a standby becomes the owner. */
void instance_take(struct world *world, struct instance *instance, int32_t partition);
/* Folds it as a standby, unless it has it already. */
void instance_stand_by(struct world *world, struct instance *instance, int32_t partition);
void instance_release(struct instance *instance, int32_t partition);

/* Whatever its loop has to do now; it may crash doing it. Does nothing if it does not run. */
void instance_turn(struct world *world, struct instance *instance);
/* One thing happens in the cluster; false: there was none. It runs callbacks of whichever instance
 * it belongs to: a crash there takes all of them down. */
bool instances_deliver(struct world *world);

/* The hook for failpoint_on_pass(). */
bool instance_at_failpoint(const char *name, void *ctx);

#endif
