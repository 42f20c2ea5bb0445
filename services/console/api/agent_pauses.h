/* SPDX-License-Identifier: Apache-2.0 */
/* Operators pause and resume agents:
 *
 *     POST /api/agents/{name}/{pause, resume}    {"by": "ann", "reason": "the bank is down"}
 *
 * Each request becomes an AgentPause record of <p>.agents; it is answered when this console has
 * read that record back. 409 when the agent is paused already (or not paused). Two consoles that
 * are asked at the same moment may both answer 200: the last record counts, and GET /api/agents
 * shows it. */
#ifndef SERVICES_CONSOLE_API_AGENT_PAUSES_H
#define SERVICES_CONSOLE_API_AGENT_PAUSES_H

#include "platform/http/server.h"
#include "replica/agents/agent_table.h"

struct agent_pauses;

enum { AGENT_PAUSES_WAIT_MS = 30000, AGENT_PAUSES_UNDER_WAY_MAX = 100 };

/* `cluster` is borrowed. Follows <p>.agents. */
struct agent_pauses *agent_pauses_new(struct cluster *cluster);
/* Answers the outstanding requests; accepts no more, and no longer follows. Before
 * cluster_close(). */
void agent_pauses_drain(struct agent_pauses *pauses);
/* After cluster_close(). NULL does nothing. */
void agent_pauses_free(struct agent_pauses *pauses);
/* Borrowed until agent_pauses_drain(). */
const struct agent_table *agent_pauses_table(const struct agent_pauses *pauses);
/* Answers the exchange, at once when it is refused. The path's {name} is the agent. */
void agent_pauses_serve(struct agent_pauses *pauses, bool pause, struct http_exchange *exchange);

#endif
