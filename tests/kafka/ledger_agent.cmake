# SPDX-License-Identifier: Apache-2.0
#
# The simulated agents of the tests on Kafka; lib/cluster.py runs them.

reeve_executable(ledger-agent SOURCES ledger_agent_main.c LIBS reeve-test-ledger)
