# SPDX-License-Identifier: Apache-2.0
#
# bench-json: nanoseconds a text. No test: build with -O2 and run it by hand.

reeve_executable(bench-json SOURCES json_bench.c LIBS reeve-base OUTPUT tests/bench)
