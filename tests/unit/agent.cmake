# SPDX-License-Identifier: Apache-2.0
#
# services/agent: attempts, commits, texts, HTTP mapping, the simulated agent.

reeve_test(agent
    SOURCES
        agent_attempts_kept_test.c
        agent_attempts_test.c
        agent_bench.c
        agent_attempts_random_test.c
        agent_breaker_test.c
        agent_circuit_test.c
        agent_callbacks_test.c
        agent_core_random_test.c
        agent_core_test.c
        agent_exec_test.c
        agent_history_test.c
        agent_http_test.c
        agent_memory_test.c
        agent_offsets_test.c
        agent_queue_test.c
        agent_sim_test.c
        agent_texts_test.c
        agent_world.c
    LIBS reeve-agent)
