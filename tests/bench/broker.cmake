# SPDX-License-Identifier: Apache-2.0
#
# bench-broker: appends, reads and latency through kafka/broker.h. No test: build with -O2, set
# REEVE_BOOTSTRAP (else it measures the embedded cluster) and run it by hand.

reeve_executable(bench-broker SOURCES broker_bench.c LIBS reeve-test-broker OUTPUT tests/bench)
