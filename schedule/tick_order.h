/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a tick, checked as the front door will check it, so that operators see what it would
 * refuse before it does, tick after tick. */
#ifndef SCHEDULE_TICK_ORDER_H
#define SCHEDULE_TICK_ORDER_H

#include "schedule/schedule_file.h"
#include "workflow/registry.h"

/* schedule_order(), whose workflow takes new orders. REJECT "UnknownWorkflow" or "WorkflowRetired";
 * "InvalidInput" where its InputShape asks for something else; or as schedule_order(). */
enum error_class tick_order(const struct schedule *schedule,
                            const struct workflow_registry *workflows, int64_t tick,
                            struct arena *arena, struct order_details *ret_details,
                            struct error *ret_error);

#endif
