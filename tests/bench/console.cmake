# SPDX-License-Identifier: Apache-2.0
#
# bench-search: how fast the console folds, and how long its pages take. No test: build with -O2
# and run it by hand.

reeve_executable(bench-search SOURCES search_bench.c LIBS reeve-console reeve-test-engine
    OUTPUT tests/bench)
