/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions that a consumer group assigns, by way of the membership that services use: revoked and
 * given back, lost, taken by another member while a paused one still believes that they are its.
 * A world that has none of it lets the dice take and release single partitions. */
#ifndef TESTS_PROPERTY_OWNERSHIP_GROUP_H
#define TESTS_PROPERTY_OWNERSHIP_GROUP_H

#include "tests/property/ownership_world.h"

bool group_assigns(const struct world *world);
/* The process joins. */
void group_boot(struct world *world, struct instance *instance);
/* The process ends; what it owns is closed. */
void group_shut(struct instance *instance);
/* All members that the coordinator hears of share the partitions again. */
void group_rebalance(struct world *world);
/* One member loses its partitions. */
void group_expire(struct instance *instance);
/* A kind of fault, see ownership_chaos.h. */
void group_act(struct world *world);

#endif
