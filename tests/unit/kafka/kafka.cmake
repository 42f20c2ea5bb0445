# SPDX-License-Identifier: Apache-2.0
#
# The client over librdkafka where it needs no broker, the names of topics, the broker in memory,
# the parts of the embedded broker.

reeve_test(kafka SOURCES append_flow_test.c client_health_test.c client_job_test.c
    client_stats_test.c clock_guard_test.c fences_test.c oauth_token_test.c rights_test.c
    settings_test.c topics_test.c LIBS reeve-kafka)
reeve_test(broker-memory SOURCES broker_memory_kit.c broker_memory_test.c
    broker_memory_faults_test.c broker_memory_history_test.c
    LIBS reeve-test-seed reeve-simulation)
reeve_test(kafka-embedded SOURCES embedded_catalogue_test.c embedded_groups_test.c
    embedded_log_test.c LIBS reeve-kafka)
