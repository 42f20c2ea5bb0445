# SPDX-License-Identifier: Apache-2.0
#
# Empty stores for tests that need many.

reeve_library(reeve-test-store SOURCES store_copy.c LIBS reeve-platform)
