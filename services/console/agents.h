/* SPDX-License-Identifier: Apache-2.0 */
/* The agents that live, and how they are doing: GET /api/agents. */
#ifndef SERVICES_CONSOLE_AGENTS_H
#define SERVICES_CONSOLE_AGENTS_H

#include "replica/agent_table.h"

#include <jansson.h>

/* New: of one agent, or of all if `agent` is empty; by agent and instance. */
json_t *agents_render(const struct agent_table *table, struct text agent);

#endif
