/* SPDX-License-Identifier: Apache-2.0 */
/* Owners that restate orders and delete the beginning of their log, while everything else goes on:
 * processes die between two steps of that, zombies announce and delete, groups that archive the log
 * stay behind, a newer version shows another format. What was deleted stays visible to the test, so
 * that stores which began inside the log are compared with a fold of all of it.
 *
 * Not in one world with a log that loses its tail, or records that an operator skips: unclean
 * elections stay off where logs are trimmed, and the tool refuses skips that would be wrong then
 * (docs/design/decisions/0009-trimming-the-log.md). */
#ifndef TESTS_PROPERTY_OWNERSHIP_TRIM_H
#define TESTS_PROPERTY_OWNERSHIP_TRIM_H

#include "tests/property/ownership_world.h"

void trim_begin(struct world *world);
void trim_act(struct world *world);
void trim_end(struct world *world);
/* The process is to die there. */
bool trim_dies(struct world *world, const char *failpoint);
void trim_free(struct world *world);
/* Into the options of an owner. */
void trim_configure(const struct world *world, struct owner_options *options);
/* At rest: an owner of a trimmed log goes on with an empty store. */
void trim_begin_anew(struct world *world);
/* NULL, or what is gone that is needed. */
const char *trim_check(struct world *world);

#endif
