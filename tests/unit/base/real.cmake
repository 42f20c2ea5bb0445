# SPDX-License-Identifier: Apache-2.0
#
# Doubles and their digits, compared with those of the C library.

reeve_test(base-real SOURCES real_test.c LIBS reeve-test-seed reeve-base m)
