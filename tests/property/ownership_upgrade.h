/* SPDX-License-Identifier: Apache-2.0 */
/* A rolling upgrade: processes of two versions at the same topics. To the older one, pauses,
 * migrations, activations and steps that are ended by hand do not exist: neither these commands and
 * records, nor the events that they lead to, nor their names in other records. What the newer one
 * writes is of schemas of its own, which the older one learns from <p>.schemas, late, or never.
 *
 * An older process takes a command that it does not know for a dead letter, which an operator
 * replays after the upgrade. It stops at a record of the log that it cannot read, neither passes it
 * nor claims, and raises one alert. So do its supervisors. Activations it passes, and does not know
 * of them. A newer one carries on; and when all are of the newer version, everything ends. */
#ifndef TESTS_PROPERTY_OWNERSHIP_UPGRADE_H
#define TESTS_PROPERTY_OWNERSHIP_UPGRADE_H

#include "tests/property/ownership_world.h"

/* From now on every process is of the older version, until it is upgraded; perhaps but for one. */
void upgrade_begin(struct world *world);
/* One process is upgraded, schemas arrive, or a newer process writes. */
void upgrade_act(struct world *world);
/* All processes are upgraded; those that ran are down. Dead letters are replayed. */
void upgrade_end(struct world *world);
void upgrade_free(struct world *world);
/* Into the log: a record of a kind that only the newer version knows, and skips. */
void upgrade_put_later_record(struct world *world, int32_t partition);

/* A process runs, or no longer. */
void upgrade_booted(struct world *world, const struct process *process);
void upgrade_shut(const struct process *process);
/* A process of the older version may raise alerts about this partition. */
void upgrade_opened(struct world *world);

/* NULL, or what an older process has done that it must not do. */
const char *upgrade_check(struct world *world);
const char *upgrade_check_alerts(struct world *world);
/* The same at rest: an older process begins with empty stores in logs that newer ones have trimmed.
 */
const char *upgrade_begin_older(struct world *world);
/* A Decision that counts is one that its version can make. */
const char *upgrade_check_decision(struct world *world, int32_t partition,
                                   const struct decision *decision);

#endif
