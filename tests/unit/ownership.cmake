# SPDX-License-Identifier: Apache-2.0
# Admission and the rest of ownership that needs no broker.
reeve_test(admission SOURCES ${CMAKE_CURRENT_LIST_DIR}/admission_test.c LIBS reeve-runtime)
