# SPDX-License-Identifier: Apache-2.0
#
# bench-expression: nanoseconds an evaluation. No test: build with -O2 and run it by hand.

reeve_executable(bench-expression SOURCES expression_bench.c LIBS reeve-workflow OUTPUT tests/bench)
