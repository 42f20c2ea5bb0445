/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated agents of the tests on Kafka: as `reeve run agent`, but they keep a ledger. */
#include "tests/lib/ledger_agent.h"

static const struct agent_ops *ops_of(const struct config *config)
{
    (void)config;
    return &ledger_agent_ops;
}

int main(int argc, char **argv)
{
    return agent_service_main(ops_of, NULL, argc - 1, argv + 1);
}
