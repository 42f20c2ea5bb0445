# SPDX-License-Identifier: Apache-2.0
#
# bench-codec: nanoseconds a record. No test: build with -O2 and run it by hand.

reeve_executable(bench-codec SOURCES codec_bench.c ../unit/schemas/samples.c LIBS reeve-schemas
    OUTPUT tests/bench)
