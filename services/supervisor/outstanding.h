/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor has asked for and not yet seen the outcome of: when may it ask again? Bounded;
 * forgetting an entry only means to ask once more, which the scheduler refuses if it is stale. */
#ifndef SERVICES_SUPERVISOR_OUTSTANDING_H
#define SERVICES_SUPERVISOR_OUTSTANDING_H

#include "engine/engine.h"

struct asked;

enum { ASKED_MAX = 50000, ASK_AGAIN_MS = 2000, ASK_AGAIN_MS_MAX = 60000 };

struct asked *asked_new(void);
void asked_free(struct asked *asked);
/* May this deadline be asked for at `now`? Then it counts as asked, and the next time is later: 2
 * s, 4 s ... 60 s. */
bool asked_take(struct asked *asked, struct text order_id, const struct deadline *deadline,
                int64_t now);
/* The scheduler said that it is not due yet: not before `at`. */
void asked_postpone(struct asked *asked, struct text order_id, const struct deadline *deadline,
                    int64_t at);
uint32_t asked_count(const struct asked *asked);

#endif
