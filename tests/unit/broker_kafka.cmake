# SPDX-License-Identifier: Apache-2.0
#
# The broker over librdkafka: what needs no broker.

reeve_test(broker-kafka-health SOURCES broker_kafka_health_test.c LIBS reeve-runtime)
