# SPDX-License-Identifier: Apache-2.0
#
# The schemas and the codec: golden bytes, evolution, hostile bytes, values, JSON, texts of events.

reeve_test(schemas
    SOURCES
        codec_test.c
        event_text_test.c
        evolution_test.c
        hostile_test.c
        json_codec_test.c
        kafka_json_test.c
        fixture.c
        json_kit.c
        kit.c
        learned_test.c
        order_json_test.c
        registered_test.c
        samples.c
        schema_test.c
        signal_json_test.c
        submission_json_test.c
        values_test.c
        workflow_json_test.c
    LIBS reeve-schemas reeve-engine reeve-platform)

# What test_schemas.py runs to have our codec write and read records.
reeve_executable(schemas-tool SOURCES tool.c samples.c LIBS reeve-schemas OUTPUT tests/unit)

# A newer version's codec, which has raised every limit that it may: test_newer.py has its records
# read by ours.
set(newer_texts ${CMAKE_CURRENT_BINARY_DIR}/newer_schema_texts.c)
file(GLOB newer_schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/schemas/*.avsc)
add_custom_command(
    OUTPUT ${newer_texts}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${newer_texts} -DFOLDER=${PROJECT_SOURCE_DIR}/schemas
            -DNEWER=ON -P ${PROJECT_SOURCE_DIR}/schemas/avro/embed.cmake
    DEPENDS ${newer_schemas} ${PROJECT_SOURCE_DIR}/schemas/avro/embed.cmake
    VERBATIM)
reeve_library(reeve-schemas-newer
    FOLDERS ../../../schemas ../../../schemas/avro SOURCES ${newer_texts}
    LIBS reeve-engine PkgConfig::AVRO PkgConfig::JANSSON PkgConfig::XXHASH)
target_compile_definitions(reeve-schemas-newer PUBLIC REEVE_DOUBLE_LIMITS)
reeve_executable(schemas-newer SOURCES newer.c LIBS reeve-schemas-newer OUTPUT tests/unit)
