# SPDX-License-Identifier: Apache-2.0
#
# bench-codec: nanoseconds a record. No test: build with -O2 and run it by hand.

reeve_has_libs(bench-codec ok reeve-schemas reeve-engine)
if(ok)
    add_executable(bench-codec
        ${CMAKE_CURRENT_LIST_DIR}/codec_bench.c
        ${PROJECT_SOURCE_DIR}/tests/unit/schemas_samples.c)
    target_link_libraries(bench-codec PRIVATE reeve-options reeve-schemas reeve-engine)
    target_include_directories(bench-codec PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit)
    set_target_properties(bench-codec PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bench)
endif()
