# SPDX-License-Identifier: Apache-2.0
#
# A simulated agent whose remote service keeps a ledger.

reeve_library(reeve-test-ledger SOURCES ledger_agent.c sim_ledger.c LIBS reeve-agent)
