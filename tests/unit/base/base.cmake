# SPDX-License-Identifier: Apache-2.0
#
# What everything stands on: names, numbers, decimals, JSON, percent-encoding, suggestions.

reeve_test(base
    SOURCES
        base64_test.c
        bytes_test.c
        decimal_test.c
        enum_names_test.c
        error_test.c
        json_canonical_test.c
        json_number_test.c
        json_value_test.c
        json_write_test.c
        names_test.c
        numbers_test.c
        percent_test.c
        rfc3339_test.c
        suggest_test.c
    LIBS reeve-base)

# What test_json.py compares with Python's json and decimal.
reeve_executable(json-tool SOURCES json_tool.c LIBS reeve-base OUTPUT tests/unit)
