/* SPDX-License-Identifier: Apache-2.0 */
/* Operators who end steps by hand, pause orders, and give them new deadlines. */
#ifndef TESTS_PROPERTY_OWNERSHIP_OPERATORS_H
#define TESTS_PROPERTY_OWNERSHIP_OPERATORS_H

#include "tests/property/ownership_world.h"

/* One command of an operator. Where a ledger compares what services did with what the log says, no
 * step is claimed to be done. */
void operators_act(struct world *world);
/* Resumes every order. */
void operators_end(struct world *world);

#endif
