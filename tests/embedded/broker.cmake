# SPDX-License-Identifier: Apache-2.0
#
# The broker over librdkafka, on the embedded cluster.

reeve_test(broker-embedded
    SOURCES
        broker_faults_test.c
        ../lib/broker_suite.c
        ../lib/broker_suite_batched.c
        ../lib/broker_suite_group.c
    LIBS reeve-test-broker)
