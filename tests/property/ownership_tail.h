/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that lose their tail, as after an unclean election, while everything else goes on. What was
 * decided there is decided again, perhaps differently. Its effects remain in the other topics, and
 * what had been folded is wrong until its reader notices. */
#ifndef TESTS_PROPERTY_OWNERSHIP_TAIL_H
#define TESTS_PROPERTY_OWNERSHIP_TAIL_H

#include "tests/property/ownership_world.h"

/* Now and then a log loses some records, but never its first Claim. */
void tail_act(struct world *world);
/* An owner that has nothing to append would not notice. */
void tail_end(struct world *world);
void tail_free(struct world *world);

/* Whose view it is: the number of an instance, or that of the supervisor. */
enum { TAIL_SUPERVISOR = INSTANCES };

/* The view may hold what is lost. Once it agrees with the log, it has to go on doing so. */
bool tail_excuses(struct world *world, uint32_t reader, int32_t partition, struct view *view);
/* At rest: every reader that runs has noticed. NULL, or which one has not. */
const char *tail_check(struct world *world);

/* A Decision that is lost had this effect. */
bool tail_explains_status(const struct world *world, int32_t partition,
                          const struct status_update *status);
bool tail_explains_alert(const struct world *world, int32_t partition,
                         const struct operator_alert *alert);
bool tail_explains_letter(const struct world *world, int32_t partition, int64_t command_offset);
bool tail_explains_request(const struct world *world, int32_t partition,
                           const struct step_request *request);

#endif
