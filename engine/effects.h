/* SPDX-License-Identifier: Apache-2.0 */
/* The part of effects_of() that is about other orders. Inside the engine only. */
#ifndef ENGINE_EFFECTS_H
#define ENGINE_EFFECTS_H

#include "engine/engine.h"

/* effects_suborders.c. `order` NULL: there is none, or another one of the same id. */
void effects_add_messages(const struct decision *decision, const struct order *order,
                          struct arena *arena, struct effects *effects);

#endif
