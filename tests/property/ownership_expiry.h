/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that expire. Here that is seconds after they have ended, so that the same id is submitted
 * again, and requests, reports and statuses of both orders meet. */
#ifndef TESTS_PROPERTY_OWNERSHIP_EXPIRY_H
#define TESTS_PROPERTY_OWNERSHIP_EXPIRY_H

#include "tests/property/ownership_world.h"

/* From now on orders expire: before the first owner is opened. */
void expiry_begin(struct world *world);
void expiry_configure(const struct world *world, struct owner_options *options);
/* An id is submitted again, an owner that was fenced writes an Expiry, or the next one kills. */
void expiry_act(struct world *world);
void expiry_end(struct world *world);
/* The process is to die there. */
bool expiry_dies(struct world *world, const char *failpoint);

#endif
