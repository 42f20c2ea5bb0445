# SPDX-License-Identifier: Apache-2.0
#
# The schemas and the codec: golden bytes, evolution, hostile bytes, values.

reeve_test(schemas
    SOURCES
        codec_test.c
        evolution_test.c
        hostile_test.c
        json_codec_test.c
        kit.c
        samples.c
        schema_test.c
        values_test.c
    LIBS reeve-schemas reeve-engine)

# What test_schemas.py runs to have our codec write and read records.
reeve_executable(schemas-tool SOURCES tool.c samples.c LIBS reeve-schemas OUTPUT tests/unit)
