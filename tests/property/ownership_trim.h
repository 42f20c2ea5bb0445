/* SPDX-License-Identifier: Apache-2.0 */
/* Owners that restate orders and delete the beginning of their log, while everything else goes on:
 * processes die between two steps of that, zombies announce and delete, groups that archive the log
 * stay behind, brokers forget deletions, a newer version shows another format. What was deleted
 * stays visible to the test, so that stores which began inside the log are compared with a fold of
 * all of it. */
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
/* Where the log begins, or began before a broker forgot that. */
int64_t trim_start(const struct world *world, int32_t partition);
/* Something was deleted. */
bool trim_has_begun(const struct world *world, int32_t partition);
/* A log that ends there has what its readers begin with, if it was trimmed, and every announcement
 * of an owner, which may delete what it has announced although the log has lost that. */
bool trim_has_what_it_needs(struct world *world, int32_t partition, int64_t end);
/* The claim of an owner that was fenced; false: there was none in this partition. */
bool zombie_of(struct world *world, int32_t partition, struct uuid *ret_claim_id);
/* At rest: an owner of a trimmed log goes on with an empty store. */
void trim_begin_again(struct world *world);
/* A broker forgets a deletion, and the owner begins with an empty store. False: nothing is done. */
bool trim_forget_at_rest(struct world *world);
/* NULL, or what is gone that is needed. */
const char *trim_check(struct world *world);

#endif
