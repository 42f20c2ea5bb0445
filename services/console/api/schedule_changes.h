/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules, and what operators do to them:
 *
 *     GET  /api/schedules
 *     POST /api/schedules                   {"by": "ann", "source": "Schedule: nightly ..."}
 *     POST /api/schedules/{name}/pause      {"by": "ann", "reason": "the bank is down"}
 *     POST /api/schedules/{name}/resume
 *     POST /api/schedules/{name}/trigger    {"by": "ann"}
 *
 * A change becomes a record of <p>.schedules; it is answered with the schedule as this console has
 * read it back. schedule/lifecycle.h decides what is appended and what is refused: 404 for a name
 * that is not deployed, 409 with the reason for the rest, 400 with a list of problems for a text
 * that does not compile. A trigger becomes a record of <p>.submissions, and is answered with 202
 * once it is acknowledged. */
#ifndef SERVICES_CONSOLE_API_SCHEDULE_CHANGES_H
#define SERVICES_CONSOLE_API_SCHEDULE_CHANGES_H

#include "services/console/api/api.h"

struct schedule_changes;

enum { SCHEDULE_CHANGES_WAIT_MS = 30000, SCHEDULE_CHANGES_UNDER_WAY_MAX = 16 };

/* Borrows the read model until schedule_changes_drain(). Its cluster follows workflows. */
struct schedule_changes *schedule_changes_new(struct api *api);
/* Answers the outstanding requests and accepts no more. Before cluster_close(). NULL does nothing.
 */
void schedule_changes_drain(struct schedule_changes *changes);
/* After cluster_close(). NULL does nothing. */
void schedule_changes_free(struct schedule_changes *changes);

/* Answer the exchange, at once when it is refused. But for the first two, {name} is in the path. */
void schedule_changes_serve_list(struct schedule_changes *changes, struct http_exchange *exchange);
void schedule_changes_serve_deployment(struct schedule_changes *changes,
                                       struct http_exchange *exchange);
void schedule_changes_serve_pause(struct schedule_changes *changes, bool pause,
                                  struct http_exchange *exchange);
void schedule_changes_serve_trigger(struct schedule_changes *changes,
                                    struct http_exchange *exchange);

#endif
