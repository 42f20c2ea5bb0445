/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated agent of the product (agent.sim.*) with a remote service that keeps books: each
 * operation is in the ledger of REEVE_TEST_LEDGER before its call is answered (sim_ledger.h). */
#ifndef TESTS_LIB_LEDGER_AGENT_H
#define TESTS_LIB_LEDGER_AGENT_H

#include "services/agent/core/agent_ops.h"

extern const struct agent_ops ledger_agent_ops;

#endif
