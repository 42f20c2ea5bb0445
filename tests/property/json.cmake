# SPDX-License-Identifier: Apache-2.0
#
# base/json.h and platform/json_tree.h with random values in random spellings.

reeve_test(json-property
    SOURCES json_property.c json_random.c engine_random.c
    LIBS reeve-test-seed reeve-engine reeve-platform)
