/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the agents of a workflow have their requests topics: the console creates none. */
#ifndef SERVICES_CONSOLE_API_WORKFLOW_TOPICS_H
#define SERVICES_CONSOLE_API_WORKFLOW_TOPICS_H

#include "platform/http/server.h"
#include "replica/cluster/cluster.h"
#include "workflow/registry.h"

/* False after it answered: 409 with the command that creates what is missing, or 503. */
bool workflow_topics_check(struct cluster *cluster, const struct workflow *workflow,
                           struct http_exchange *exchange);

#endif
