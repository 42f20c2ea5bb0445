/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends signals in a random history: people and services, mostly to steps that await one. */
#ifndef TESTS_PROPERTY_ENGINE_SIGNALS_H
#define TESTS_PROPERTY_ENGINE_SIGNALS_H

#include "tests/property/engine_history.h"

/* How often one is asked or called: the workflow has such steps, or one waits now. */
bool signals_expected(bool now);
/* Any signal: early, late, repeated, of another group, with another choice, too large. */
void signals_send(void);
/* The `turn`-th answer of a member of the group to a step that waits for one. */
void signals_answer(uint32_t index, uint32_t turn);

#endif
