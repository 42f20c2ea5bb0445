# SPDX-License-Identifier: Apache-2.0
#
# bench-fold: how fast a scheduler or a supervisor folds. No test: build with -O2 and run it by
# hand.

reeve_executable(bench-fold SOURCES fold_bench.c order_log.c LIBS reeve-replica reeve-test-engine
    OUTPUT tests/bench)
