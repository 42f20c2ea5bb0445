# SPDX-License-Identifier: Apache-2.0
#
# The broker in memory: kafka/broker.h with faults on demand, under a clock that the test moves.

reeve_library(reeve-simulation LIBS reeve-replica)
