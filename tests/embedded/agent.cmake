# SPDX-License-Identifier: Apache-2.0
#
# The HTTP and the simulated agent on the embedded broker.

reeve_test(agent-embedded SOURCES agent_embedded_test.c agent_topics.c
    LIBS reeve-test-ledger reeve-agent)
reeve_test(agent-circuit-embedded SOURCES agent_circuit_embedded_test.c agent_topics.c
    LIBS reeve-agent)
