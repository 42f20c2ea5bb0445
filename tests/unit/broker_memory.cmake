# SPDX-License-Identifier: Apache-2.0
#
# The broker in memory and the names of topics.

reeve_test(broker-memory SOURCES broker_memory_test.c topics_test.c LIBS reeve-runtime)
