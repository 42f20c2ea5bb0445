/* SPDX-License-Identifier: Apache-2.0 */
/* Deployed schedules, and their ticks, as the console's API and `reeve schedule` show them. All
 * results are new. */
#ifndef REPLICA_SCHEDULES_SCHEDULE_JSON_H
#define REPLICA_SCHEDULES_SCHEDULE_JSON_H

#include "schedule/registry.h"
#include "workflow/registry.h"

#include <jansson.h>

enum { SCHEDULE_JSON_TICKS = 5 /* next ones, and last ones */ };

/* The schedule with its next ticks, and those since its newest record for which an order was
 * submitted. `problem` is null, or why it submits none: it does not compile, or its next tick would
 * make no order that the front door takes. `now`: seconds. */
json_t *schedule_entry_json(const struct schedule_entry *entry,
                            const struct workflow_registry *workflows, int64_t now);
/* Its next ticks: [{"tick", "local", "order_id"}]. */
json_t *schedule_next_json(const struct schedule *schedule, int64_t now);
/* {"tick": "2026-11-24T02:00:00Z", "local": "2026-11-24 03:00:00 +01:00", "order_id":
 * "nightly@2026-11-24T02:00Z"} */
json_t *schedule_tick_json(const struct schedule *schedule, int64_t tick);

#endif
