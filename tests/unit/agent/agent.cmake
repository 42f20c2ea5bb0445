# SPDX-License-Identifier: Apache-2.0
#
# services/agent: attempts, commits, sanitized texts, HTTP messages, programs, the simulated agent.

reeve_test(agent
    SOURCES
        agent_random_test.c
        agent_schemas_test.c
        agent_test.c
        answer_cache_test.c
        attempts_bench.c
        attempts_random_test.c
        attempts_recall_test.c
        attempts_test.c
        breaker_test.c
        callbacks_test.c
        circuit_test.c
        exec_agent_test.c
        http_agent_test.c
        http_tls_test.c
        offsets_test.c
        request_queue_test.c
        sanitize_test.c
        service_test.c
        settled_note_test.c
        sim_agent_test.c
        world.c
    LIBS reeve-test-seed reeve-test-certificate reeve-test-ledger reeve-agent reeve-test-site)
