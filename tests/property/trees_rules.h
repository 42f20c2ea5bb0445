/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of trees of orders, written from docs/design/decisions/0018-suborders.md and
 * not from the engine: what is wrong goes to world_say(). */
#ifndef TESTS_PROPERTY_TREES_RULES_H
#define TESTS_PROPERTY_TREES_RULES_H

#include "tests/property/trees_world.h"

/* After each Decision: `before` is the row before it (version 0: none). */
void trees_follow(struct member *member, const struct order *before, const struct logged *logged);
/* What a Decision sends, by the row as it is (NULL: none). */
void trees_check_messages(const struct logged *logged, const struct member *member,
                          const struct effects *effects);
/* Once nothing is left to do: every order has ended, parents and sub-orders agree, and what remains
 * at the agents is what the roots say. */
void trees_check_end(void);

#endif
