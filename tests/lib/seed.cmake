# SPDX-License-Identifier: Apache-2.0
#
# The seeds of tests with random histories.

reeve_library(reeve-test-seed SOURCES seed.c)
