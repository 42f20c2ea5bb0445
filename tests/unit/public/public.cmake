# SPDX-License-Identifier: Apache-2.0
#
# The public face of agents, on the broker in memory; test_install.py tests what is installed.

reeve_test(agent-sdk
    SOURCES
        agent_sdk_test.c
        ../agent/world.c
        ../../../services/agent/sdk/call.c
        ../../../services/agent/sdk/run.c
    LIBS reeve-agent reeve-test-site)
