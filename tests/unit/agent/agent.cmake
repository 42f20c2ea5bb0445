# SPDX-License-Identifier: Apache-2.0
#
# services/agent: attempts, commits, texts, HTTP mapping, the simulated agent.

reeve_test(agent
    SOURCES
        attempts_kept_test.c
        attempts_test.c
        bench.c
        attempts_random_test.c
        breaker_test.c
        circuit_test.c
        callbacks_test.c
        core_random_test.c
        core_test.c
        exec_test.c
        http_test.c
        memory_test.c
        offsets_test.c
        queue_test.c
        sim_test.c
        texts_test.c
        world.c
    LIBS reeve-agent reeve-simulation)
