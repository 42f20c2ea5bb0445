# SPDX-License-Identifier: Apache-2.0
#
# What everything stands on: names, numbers, decimals, percent-encoding, suggestions.

reeve_test(base
    SOURCES
        base64_test.c
        bytes_test.c
        decimal_test.c
        enum_names_test.c
        error_test.c
        names_test.c
        numbers_test.c
        percent_test.c
        rfc3339_test.c
        suggest_test.c
    LIBS reeve-base)
