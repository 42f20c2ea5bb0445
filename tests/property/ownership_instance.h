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

/* Takes the partition, or has the group assign all of them, where there is one. */
void instance_take(struct world *world, struct instance *instance, int32_t partition);
/* Folds it as a standby, unless it has it already. */
void instance_stand_by(struct world *world, struct instance *instance, int32_t partition);
/* Does nothing if it owns it already; a standby becomes the owner. Else its store is opened, which
 * may fail. */
enum error_class instance_open(struct world *world, struct instance *instance, int32_t partition,
                               struct error *ret_error);
/* Likewise, or the group takes all of them away. */
void instance_lose(struct world *world, struct instance *instance, int32_t partition);
void ownership_release(struct ownership *ownership);

/* Whatever its loop has to do now; it may crash doing it. Does nothing if it does not run. */
void instance_turn(struct world *world, struct instance *instance);
/* One thing happens in the cluster; false: there was none. It runs callbacks of whichever instance
 * it belongs to: a crash there takes all of them down. */
bool instances_deliver(struct world *world);

/* A new store at `path`, unless there is one. */
void instance_make_store(struct world *world, const char *path);
/* A failpoint jumped out of whatever was going on. */
void instance_crashed(struct world *world);
/* The hook for failpoint_on_pass(). */
bool instance_at_failpoint(const char *name, void *ctx);

#endif
