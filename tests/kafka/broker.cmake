# SPDX-License-Identifier: Apache-2.0
#
# The broker over librdkafka, on a real one. Each program has a broker of its own, so what kills it
# is a program apart.

reeve_test(broker-kafka
    SOURCES
        broker_static_test.c
        broker_topics_test.c
        ../lib/broker_suite.c
        ../lib/broker_suite_batched.c
        ../lib/broker_suite_group.c
    LIBS reeve-test-broker)
reeve_test(broker-crash SOURCES broker_crash_test.c LIBS reeve-test-broker)
