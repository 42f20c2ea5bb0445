/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/tick_order.h"

#include "base/utf8.h"
#include "engine/shape.h"

enum error_class tick_order(const struct schedule *schedule,
                            const struct workflow_registry *workflows, int64_t tick,
                            struct arena *arena, struct order_details *ret_details,
                            struct error *ret_error)
{
    const struct order_details *order = &schedule->order;
    const struct workflow_entry *entry =
        workflow_registry_entry(workflows, order->workflow, order->workflow_version);
    if (entry == NULL && order->workflow_version == 0)
        return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                         "workflow %.*s is not deployed: deploy it", TEXT_ARG(order->workflow));
    if (entry == NULL)
        return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                         "version %u of workflow %.*s is not deployed: deploy it",
                         order->workflow_version, TEXT_ARG(order->workflow));
    if (entry->retired)
        return error_set(ret_error, CODE_WORKFLOW_RETIRED,
                         "version %u of workflow %.*s takes no new orders: %.*s",
                         entry->definition.version, TEXT_ARG(order->workflow),
                         TEXT_ARG(utf8_cut(entry->latest.reason, 200)));
    if (schedule_order(schedule, tick, arena, ret_details, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    return entry->workflow->input_shape == NULL
               ? ERROR_OK
               : shape_check(entry->workflow->input_shape, ret_details->input, ret_error);
}
