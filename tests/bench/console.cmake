# SPDX-License-Identifier: Apache-2.0
#
# bench-search: how fast the console folds, and how long its searches take. bench-log: writes the
# log that pages.py needs. No tests: build with -O2 and run them by hand (pages.py: scripts/bench).

reeve_executable(bench-search SOURCES search_bench.c order_log.c LIBS reeve-console
    reeve-test-engine OUTPUT tests/bench)
reeve_executable(bench-log SOURCES log_bench.c order_log.c LIBS reeve-kafka reeve-schemas
    reeve-workflow reeve-test-engine OUTPUT tests/bench)
