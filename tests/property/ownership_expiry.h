/* SPDX-License-Identifier: Apache-2.0 */
/* An auditor who has orders expire that ended some time ago. Here that is seconds, so that the same
 * id is submitted again, and requests, reports and statuses of both orders meet. */
#ifndef TESTS_PROPERTY_OWNERSHIP_EXPIRY_H
#define TESTS_PROPERTY_OWNERSHIP_EXPIRY_H

#include "tests/property/ownership_world.h"

/* From now on orders expire: before the first owner is opened. */
void expiry_begin(struct world *world);
/* The auditor asks for some, one or the other too early. */
void expiry_audit(struct world *world);
/* The same, and an id is submitted again. */
void expiry_act(struct world *world);

#endif
