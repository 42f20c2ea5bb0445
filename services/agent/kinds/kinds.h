/* SPDX-License-Identifier: Apache-2.0 */
/* The ready-made agents; agent.kind chooses one. docs/use/ describes what each expects of a remote
 * service. */
#ifndef SERVICES_AGENT_KINDS_KINDS_H
#define SERVICES_AGENT_KINDS_KINDS_H

#include "services/agent/core/agent_ops.h"

enum { AGENT_EXEC_ENV_VALUE_MAX = 4095 /* of a variable that the exec agent's programs inherit */ };

/* Each try is a POST of JSON to <agent.http.url>/<action> (docs/use/remote-services.md). */
extern const struct agent_ops http_agent_ops;
/* Each try is one run of a program (docs/use/agents.md). */
extern const struct agent_ops exec_agent_ops;
/* A simulated service: waits, fails and keeps silent as configured (agent.sim.*). */
extern const struct agent_ops sim_agent_ops;

#endif
