# SPDX-License-Identifier: Apache-2.0
#
# bench-broker: appends, reads and latency through runtime/broker.h. No test: build with -O2, set
# REEVE_BOOTSTRAP (else it measures the embedded cluster) and run it by hand.

reeve_has_libs(bench-broker ok reeve-test-broker reeve-runtime)
if(ok)
    add_executable(bench-broker ${CMAKE_CURRENT_LIST_DIR}/broker_bench.c)
    target_link_libraries(bench-broker PRIVATE reeve-options reeve-test-broker reeve-runtime)
    set_target_properties(bench-broker PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bench)
endif()
