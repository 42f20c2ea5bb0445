/* SPDX-License-Identifier: Apache-2.0 */
/* The console: a read model over all partitions of <p>.events, its JSON API, operators' commands.
 *
 * It has a store for every partition and joins no consumer group: any number of consoles may run,
 * each with all orders. Its stores can be deleted while it is down; it reads the log again. */
#ifndef SERVICES_CONSOLE_CONSOLE_H
#define SERVICES_CONSOLE_CONSOLE_H

#include "services/console/api/agent_pauses.h"
#include "services/console/api/api.h"
#include "services/console/api/awaited_commands.h"
#include "services/console/api/operator_commands.h"
#include "services/console/api/schedule_changes.h"
#include "services/console/api/service_list.h"
#include "services/console/api/tree_commands.h"
#include "services/console/api/workflow_changes.h"
#include "services/console/dead_letters/dead_letters.h"
#include "services/console/live/changes.h"
#include "services/console/live/events.h"
#include "services/console/live/order_waits.h"
#include "services/console/metrics.h"

struct console {
    struct service_context *service;
    struct store_env *stores;
    struct api api; /* the read model */
    struct changes *changes;
    struct events *events;
    struct order_waits *order_waits;
    struct awaited_commands *awaited;
    struct operator_commands *commands;
    struct tree_commands *trees;
    struct dead_letter_api *dead_letters;
    struct agent_pauses *pauses;
    struct workflow_changes *workflow_changes;
    struct schedule_changes *schedule_changes;
    struct service_list *services;
    struct view_report *report;
    struct console_metrics *metrics;
};

/* For tests and the service: new, with its routes. `broker` (stolen, also on failure) or NULL: it
 * connects to the one of the configuration. Errors as of cluster_open(). */
enum error_class console_new(struct service_context *service, struct broker *broker,
                             struct console **ret_console, struct error *ret_error);
/* For tests and the service: answers the outstanding requests. */
void console_free(struct console *console);
/* For tests and the service: whether every partition has been folded to its end; else the reason,
 * in one line. */
bool console_is_ready(struct console *console, char *ret_reason, size_t reason_size);

#endif
