# SPDX-License-Identifier: Apache-2.0
#
# What other tests rely on.

reeve_executable(seed-case SOURCES seed_case.c OUTPUT tests/unit LIBS reeve-test-seed)
reeve_test(seed SOURCES seed_test.c)
add_dependencies(test-seed seed-case)
