/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a supervisor without an outcome in the log yet, and when each may be repeated.
 * Bounded: a forgotten entry only means one more request, which the scheduler refuses if it is
 * stale. */
#ifndef SERVICES_SUPERVISOR_OUTSTANDING_H
#define SERVICES_SUPERVISOR_OUTSTANDING_H

#include "engine/engine.h"

struct outstanding;

enum { OUTSTANDING_ENTRIES_MAX = 50000, REPEAT_MS = 2000, REPEAT_MS_MAX = 60000 };

struct outstanding *outstanding_new(void);
void outstanding_free(struct outstanding *outstanding);
/* Whether this deadline may be requested at `now`. If so, it counts as requested, and the next
 * request must wait: 2 s, 4 s ... 60 s. */
bool outstanding_take(struct outstanding *outstanding, struct text order_id,
                      const struct deadline *deadline, int64_t now);
/* The scheduler rejected the request as not yet due: no other one before `at`. */
void outstanding_postpone(struct outstanding *outstanding, struct text order_id,
                          const struct deadline *deadline, int64_t at);

#endif
