# SPDX-License-Identifier: Apache-2.0
#
# bench-fold: how fast a scheduler or a supervisor folds. bench-expiry: what it costs them that
# orders expire. No tests: build with -O2 and run them by hand.

reeve_executable(bench-fold SOURCES fold_bench.c order_log.c LIBS reeve-replica reeve-test-engine
    OUTPUT tests/bench)
reeve_executable(bench-expiry SOURCES expiry_bench.c order_log.c
    LIBS reeve-replica reeve-test-engine OUTPUT tests/bench)
