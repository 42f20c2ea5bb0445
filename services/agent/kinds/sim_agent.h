/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated agent, for tests and benchmarks: no remote service, but latency, refusals, silence
 * and unknown ends as configured, the same in every run of a seed (sim_plan.h); with a ledger it is
 * also a service that keeps its promises about idempotency keys (sim_ledger.h). */
#ifndef SERVICES_AGENT_KINDS_SIM_AGENT_H
#define SERVICES_AGENT_KINDS_SIM_AGENT_H

#include "services/agent/core/agent_ops.h"

extern const struct agent_ops sim_agent_ops;

#endif
