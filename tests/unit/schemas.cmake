# SPDX-License-Identifier: Apache-2.0
#
# The schemas and the codec: golden bytes, evolution, hostile bytes, values.

reeve_test(schemas
    SOURCES
        schemas_codec_test.c
        schemas_evolution_test.c
        schemas_hostile_test.c
        schemas_kit.c
        schemas_samples.c
        schemas_schema_test.c
        schemas_values_test.c
    LIBS reeve-schemas reeve-engine)

# What test_schemas.py runs to have our codec write and read records.
reeve_has_libs(schemas-tool ok reeve-schemas reeve-engine)
if(ok)
    add_executable(schemas-tool
        ${CMAKE_CURRENT_LIST_DIR}/schemas_tool.c ${CMAKE_CURRENT_LIST_DIR}/schemas_samples.c)
    target_link_libraries(schemas-tool PRIVATE reeve-options reeve-schemas reeve-engine)
    set_target_properties(schemas-tool PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/unit)
endif()
